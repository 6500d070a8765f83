package io.multihead.internal.attention.keyvalue;

import io.multihead.internal.attention.AttentionBlocking;
import io.multihead.internal.base.Checks;
import io.multihead.internal.layout.PanelMemory;
import io.multihead.tensor.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * The location of some consecutive keys and values of one head: rows of tensors, which attention packs, or panels, which it reads in place.
 * {@link KeyValueSource#locate} fills it; there is one object per thread, which is reused.
 *
 * <p>The panels of a span have the following layout, with all elements in one native memory. The number of keys n is a multiple of {@link
 * #MIN_PANEL_KEYS} that divides 256:
 *
 * <ul>
 *   <li>keys {@code [headDim / 256][n / 32][256][32]}: element d of key j at {@code (d / 256)(256 n) + (j / 32)(32 c) + 32 (d %
 *       256) + j % 32}, where c is 256, or the rest of headDim in the last chunk
 *   <li>values {@code [n / 64][ceil(valueDim / 32)][64][32]}, zeros beyond valueDim
 *   <li>for BF16 and F16, two elements in a word: if a row of 32 elements begins at element e, the word {@code e / 2 + l} holds element l
 *       of the row in its high half and element {@code l + 16} in its low half
 *   <li>for I8, four interleaved rows of a panel: row k of a panel's column l is byte {@code 128 (k / 4) + 4 l + k % 4} of the panel, whose
 *       rows c are rounded up to a multiple of four. There is an f32 scale per key, or per 32 elements of a key, and one per value. Scales
 *       multiply their elements, and are finite also for keys that do not exist yet
 * </ul>
 */
public final class KeyValueSpan {
    /** The smallest number of keys of a span of panels: one chain of P V. */
    public static final int MIN_PANEL_KEYS = AttentionBlocking.VALUE_CHAIN;

    private final Side key = new Side();
    private final Side value = new Side();
    private long keys;
    private @Nullable PanelMemory panels;
    /** Index of the first scale. */
    private int scales;
    /** Scales of a key. */
    private int keyScales;

    private boolean finite;

    /** The keys of a span, or its values. */
    static final class Side {
        private @Nullable Tensor tensor;
        /** Position of the first element in the tensor's memory. */
        long position;
        /** Elements from row to row of the tensor. */
        long rowStride;
        /** Elements from column to column of the tensor. */
        long columnStride;
        /** Index of the first element of the panels. */
        int panel;

        /** The number of heads, including the located one, whose rows follow each other in memory. */
        int heads;

        private void setRows(Tensor newTensor, long newPosition, long newRowStride, long newColumnStride) {
            tensor = Checks.notNull(newTensor, "tensor");
            position = newPosition;
            rowStride = newRowStride;
            columnStride = newColumnStride;
            heads = 1;
        }

        Tensor tensor() {
            return Checks.notNull(tensor, "tensor");
        }
    }

    KeyValueSpan() {}

    /** Sets the number of keys up to the next gap, including the located key; at least 1. */
    public KeyValueSpan keys(long count) {
        keys = count;
        return this;
    }

    /** Sets the keys to rows of a tensor: position of the located key's first element, and strides, in elements. */
    public KeyValueSpan keyRows(Tensor tensor, long position, long rowStride, long columnStride) {
        panels = null;
        key.setRows(tensor, position, rowStride, columnStride);
        return this;
    }

    /** Sets the values to rows of a tensor: position of the located value's first element, and strides, in elements. */
    public KeyValueSpan valueRows(Tensor tensor, long position, long rowStride, long columnStride) {
        panels = null;
        value.setRows(tensor, position, rowStride, columnStride);
        return this;
    }

    /** Sets the number of heads that follow each other in memory, after the rows; the located head is the first of them. */
    KeyValueSpan adjacentHeads(int ofKeys, int ofValues) {
        key.heads = ofKeys;
        value.heads = ofValues;
        return this;
    }

    /**
     * Sets keys and values to panels.
     *
     * @param memory the panels, in any format
     * @param keyAt index of the span's first key element, in elements; a word of BF16 or F16 holds two elements
     * @param valueAt index of the span's first value element, also in elements
     * @param allFinite whether no value is infinite or NaN, and no key of F16
     */
    public KeyValueSpan panels(PanelMemory memory, int keyAt, int valueAt, boolean allFinite) {
        panels = Checks.notNull(memory, "memory");
        key.panel = keyAt;
        value.panel = valueAt;
        finite = allFinite;
        return this;
    }

    /**
     * Sets the location of the scales of I8 panels in the same memory: one per key of the span, or one per key for each block of its
     * elements, block after block, followed by one per value.
     *
     * @param at index of the first scale, in floats
     * @param ofKey 1, or the number of blocks of 32 elements of a key
     */
    public KeyValueSpan scales(int at, int ofKey) {
        scales = at;
        keyScales = ofKey;
        return this;
    }

    Side key() {
        return key;
    }

    Side value() {
        return value;
    }

    long keys() {
        return keys;
    }

    boolean isPanels() {
        return panels != null;
    }

    PanelMemory panels() {
        return Checks.notNull(panels, "panels");
    }

    int scales() {
        return scales;
    }

    int keyScales() {
        return keyScales;
    }

    boolean isFinite() {
        return finite;
    }

    /** Drops every reference to the caller's memory. */
    void clear() {
        key.tensor = null;
        value.tensor = null;
        panels = null;
    }
}
