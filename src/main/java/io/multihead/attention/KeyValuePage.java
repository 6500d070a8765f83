package io.multihead.attention;

import io.multihead.internal.Checks;
import io.multihead.internal.kernel.Product;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * Where some keys and values of one head lie, told by {@link KeyValueView#locate}: as rows of tensors, which attention packs,
 * or as panels, which it reads in place. One per thread and reused.
 *
 * <p>Panels, for a page of n keys, n a multiple of {@link #LEAST_KEYS} that divides 256, all elements of one array:
 *
 * <ul>
 *   <li>keys {@code [headDim / 256][n / 32][256][32]}: element d of key j at {@code (d / 256)(256 n) + (j / 32)(32 c) + 32 (d %
 *       256) + j % 32}, where c is 256, or what is left of headDim in the last chunk
 *   <li>values {@code [n / 64][ceil(valueDim / 32)][64][32]}, zeros beyond valueDim
 *   <li>for BF16 and F16, two elements in a word: where a row of 32 elements begins at element e, the word {@code e / 2 + l} holds
 *       element l of the row in its high half and element {@code l + 16} in its low half
 *   <li>for I8, four rows of a panel beside each other: row k of a panel's column l is byte {@code 128 (k / 4) + 4 l + k % 4} of
 *       the panel, whose rows c are rounded up to a multiple of four; and an f32 scale per key and one per value, which their
 *       elements are to be multiplied with, finite also for keys that do not exist yet
 * </ul>
 */
public final class KeyValuePage {
    /** Fewest keys of a page of panels. */
    public static final int LEAST_KEYS = Product.CHAIN;

    private static final float[] NO_SCALES = {};

    private @Nullable Tensor key;
    private @Nullable Tensor value;
    private final long[] keyPlace = new long[3];
    private final long[] valuePlace = new long[3];
    private long keys;
    private @Nullable Object storage;
    private DType dtype = DType.F32;
    private int keyAt;
    private int valueAt;
    private float[] scales = NO_SCALES;
    private int keyScaleAt;
    private int valueScaleAt;
    private boolean finite;

    KeyValuePage() {}

    /**
     * How many keys follow without a gap, the located one included.
     *
     * @param count at least 1
     * @return this page
     */
    public KeyValuePage keys(long count) {
        keys = count;
        return this;
    }

    /**
     * The keys are rows of a tensor.
     *
     * @param tensor any element type
     * @param at position of the located key's first element, in elements
     * @param rowStride elements from key to key
     * @param columnStride elements from one element to the next
     * @return this page
     */
    public KeyValuePage keyRows(Tensor tensor, long at, long rowStride, long columnStride) {
        storage = null;
        key = Checks.notNull(tensor, "tensor");
        place(keyPlace, at, rowStride, columnStride);
        return this;
    }

    /**
     * The values are rows of a tensor.
     *
     * @param tensor any element type
     * @param at position of the located value's first element, in elements
     * @param rowStride elements from value to value
     * @param columnStride elements from one element to the next
     * @return this page
     */
    public KeyValuePage valueRows(Tensor tensor, long at, long rowStride, long columnStride) {
        storage = null;
        value = Checks.notNull(tensor, "tensor");
        place(valuePlace, at, rowStride, columnStride);
        return this;
    }

    /**
     * Keys and values are panels.
     *
     * @param array {@code float[]}, {@code int[]} for BF16 and F16, {@code byte[]} for I8
     * @param type element type
     * @param newKeyAt index of the page's first key element, counted in elements, of which a word of BF16 or F16 holds two
     * @param newValueAt index of the page's first value element, likewise
     * @param allFinite whether no value is infinite or NaN, and no key of F16
     * @return this page
     */
    public KeyValuePage panels(Object array, DType type, int newKeyAt, int newValueAt, boolean allFinite) {
        storage = Checks.notNull(array, "array");
        dtype = type;
        keyAt = newKeyAt;
        valueAt = newValueAt;
        finite = allFinite;
        return this;
    }

    /**
     * Scales of I8 panels.
     *
     * @param array one scale per key of the page and one per value
     * @param newKeyScaleAt index of the first key's scale
     * @param newValueScaleAt index of the first value's scale
     * @return this page
     */
    public KeyValuePage scales(float[] array, int newKeyScaleAt, int newValueScaleAt) {
        scales = array;
        keyScaleAt = newKeyScaleAt;
        valueScaleAt = newValueScaleAt;
        return this;
    }

    private static void place(long[] place, long at, long rowStride, long columnStride) {
        place[0] = at;
        place[1] = rowStride;
        place[2] = columnStride;
    }

    boolean isPanels() {
        return storage != null;
    }

    long keys() {
        return keys;
    }

    Tensor tensor(boolean ofKeys) {
        return Checks.notNull(ofKeys ? key : value, "tensor");
    }

    /** Position, row stride and column stride. */
    long[] place(boolean ofKeys) {
        return ofKeys ? keyPlace : valuePlace;
    }

    Object storage() {
        return Checks.notNull(storage, "storage");
    }

    DType dtype() {
        return dtype;
    }

    int at(boolean ofKeys) {
        return ofKeys ? keyAt : valueAt;
    }

    float[] scales() {
        return scales;
    }

    int scaleAt(boolean ofKeys) {
        return ofKeys ? keyScaleAt : valueScaleAt;
    }

    boolean finite() {
        return finite;
    }

    /** Forgets the caller's memory. */
    void clear() {
        key = null;
        value = null;
        storage = null;
        scales = NO_SCALES;
    }
}
