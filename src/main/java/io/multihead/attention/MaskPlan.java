package io.multihead.attention;

import io.multihead.compute.Compute;
import io.multihead.internal.Checks;
import io.multihead.internal.kernel.Lanes;
import io.multihead.internal.kernel.Packer;
import io.multihead.internal.kernel.RowOps;
import io.multihead.tensor.Tensor;
import java.util.Arrays;
import java.util.List;

/**
 * A mask resolved against the sizes of one call: a limit of visible keys for every query, and tensors with their broadcast
 * strides. Reused from call to call; read-only while the call runs.
 */
final class MaskPlan {
    private static final int AXES = 4;

    private final long[] sizes = new long[AXES];
    private Mask.Part[] tensors = new Mask.Part[2];
    private long[] strides = new long[2 * AXES];
    private int tensorCount;
    private long[][] lengths = new long[1][];
    private int lengthsCount;
    private boolean bias;
    private boolean bottomRight;
    private boolean topLeft;

    /**
     * Resolves a mask.
     *
     * @throws IllegalArgumentException if a tensor does not broadcast or the lengths do not fit
     */
    void bind(Mask mask, long batch, long heads, long queries, long keys) {
        sizes[0] = batch;
        sizes[1] = heads;
        sizes[2] = queries;
        sizes[3] = keys;
        tensorCount = 0;
        lengthsCount = 0;
        bias = false;
        bottomRight = false;
        topLeft = false;
        List<Mask.Part> parts = mask.parts();
        for (int i = 0; i < parts.size(); i++) {
            Mask.Part part = parts.get(i);
            switch (part.kind()) {
                case CAUSAL_BOTTOM_RIGHT -> bottomRight = true;
                case CAUSAL_TOP_LEFT -> topLeft = true;
                case KEY_LENGTHS -> addLengths(Checks.notNull(part.lengths(), "keyLengths"));
                case KEEP, DROP, BIAS -> addTensor(part, Checks.notNull(part.tensor(), "mask"));
            }
        }
    }

    /** How many keys, counted from key 0, the limits let a query see; tensors may hide some of them. */
    long visibleKeys(long batch, long query) {
        long keys = sizes[3];
        long visible = keys;
        if (bottomRight) {
            visible = Math.min(visible, query + keys - sizes[2] + 1);
        }
        if (topLeft) {
            visible = Math.min(visible, query + 1);
        }
        for (int i = 0; i < lengthsCount; i++) {
            visible = Math.min(visible, lengths[i][lengths[i].length == 1 ? 0 : (int) batch]);
        }
        return Math.max(0, visible);
    }

    /** Whether tensors must be applied to every score. */
    boolean hasTensors() {
        return tensorCount > 0;
    }

    /** Whether something is added to scores, which must then be scaled before. */
    boolean hasBias() {
        return bias;
    }

    /** Fails if the threads cannot read a tensor of the mask, or an output overlaps one. */
    void requireUsable(Compute cpu, Tensor written, String argument) {
        for (int i = 0; i < tensorCount; i++) {
            cpu.requireAccess(tensor(i), "mask");
            AttentionChecks.requireApart(written, argument, tensor(i), "mask");
        }
    }

    private Tensor tensor(int index) {
        return Checks.notNull(tensors[index].tensor(), "mask");
    }

    /** Which score comes first in a row: one per thread, set before each row. */
    static final class Place {
        private long batch;
        private long head;
        private long query;
        private long key;

        void set(long newBatch, long newHead, long newQuery, long newKey) {
            batch = newBatch;
            head = newHead;
            query = newQuery;
            key = newKey;
        }
    }

    /**
     * Applies the tensors to a row of scores.
     *
     * @param at where the row starts in {@code scores}
     * @param staging room for the same number of floats, rounded up to whole panels
     * @param place the first score
     * @param keys how many scores
     */
    void apply(Packer packer, float[] scores, int at, float[] staging, Place place, int keys) {
        int padded = Lanes.roundUp(keys, Lanes.PANEL);
        for (int i = 0; i < tensorCount; i++) {
            Tensor tensor = tensor(i);
            int s = i * AXES;
            long from = tensor.offset()
                    + place.batch * strides[s]
                    + place.head * strides[s + 1]
                    + place.query * strides[s + 2]
                    + place.key * strides[s + 3];
            packer.read(tensor, from, 0, strides[s + 3], 1, keys, staging, 0, padded);
            switch (tensors[i].kind()) {
                case BIAS -> RowOps.addBias(scores, at, padded, staging, 0);
                default -> RowOps.mask(scores, at, padded, staging, 0, tensors[i].kind() == Mask.Kind.DROP);
            }
        }
    }

    /** Forgets the caller's tensors. */
    void clear() {
        Arrays.fill(tensors, null);
        Arrays.fill(lengths, null);
    }

    private void addLengths(long[] perBatch) {
        if (perBatch.length != 1 && perBatch.length != sizes[0]) {
            throw Checks.fail("keyLengths", perBatch.length + " lengths", "expected 1 or one per batch of " + sizes[0]);
        }
        for (long length : perBatch) {
            if (length > sizes[3]) {
                throw Checks.fail("keyLengths", String.valueOf(length), "expected at most the " + sizes[3] + " keys");
            }
        }
        lengths = lengthsCount == lengths.length ? Arrays.copyOf(lengths, 2 * lengthsCount) : lengths;
        lengths[lengthsCount++] = perBatch;
    }

    private void addTensor(Mask.Part part, Tensor tensor) {
        if (tensorCount == tensors.length) {
            tensors = Arrays.copyOf(tensors, 2 * tensorCount);
            strides = Arrays.copyOf(strides, 2 * AXES * tensorCount);
        }
        tensors[tensorCount] = part;
        bias |= part.kind() == Mask.Kind.BIAS;
        int missing = AXES - tensor.rank();
        for (int axis = 0; axis < AXES; axis++) {
            long size = axis < missing ? 1 : tensor.dim(axis - missing);
            if (size != 1 && size != sizes[axis]) {
                throw Checks.fail(
                        "mask",
                        "shape " + tensor.shape(),
                        "expected one that broadcasts to (batch, heads, queries, keys) = " + Arrays.toString(sizes));
            }
            strides[tensorCount * AXES + axis] = size == 1 ? 0 : tensor.stride(axis - missing);
        }
        tensorCount++;
    }
}
