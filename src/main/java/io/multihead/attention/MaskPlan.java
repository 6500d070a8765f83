package io.multihead.attention;

import io.multihead.compute.Compute;
import io.multihead.internal.Checks;
import io.multihead.internal.call.Operation;
import io.multihead.internal.kernel.Lanes;
import io.multihead.internal.kernel.Packer;
import io.multihead.internal.kernel.RowOps;
import io.multihead.tensor.Tensor;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A mask resolved against the sizes of one call: a limit of visible keys for every query, and tensors with their broadcast
 * strides. Reused from call to call; read-only while the call runs.
 */
final class MaskPlan {
    private static final int AXES = 4;

    /** A side of a window from here on hides nothing; sums of a few numbers up to it do not overflow. */
    private static final long UNBOUNDED = Mask.MOST_OFFSET;

    private final long[] sizes = new long[AXES];
    private Mask.Part[] tensors = new Mask.Part[2];
    private long[] strides = new long[2 * AXES];
    private int tensorCount;
    private long[][] lengths = new long[1][];
    private int lengthsCount;
    /** Positions of the sequences' first queries; null when queries are aligned bottom-right. */
    private long @Nullable [] offsets;

    private boolean bias;
    private boolean topLeft;
    private final BlockPlan blocks = new BlockPlan();
    /** Keys before and after its own that a query sees. */
    private long left;

    private long right;

    /**
     * Resolves a mask.
     *
     * @param queries number of queries, or -1 when sequences differ
     * @param keys number of keys, the most that a sequence may have
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
        topLeft = false;
        left = Long.MAX_VALUE;
        right = Long.MAX_VALUE;
        offsets = null;
        blocks.clear();
        List<Mask.Part> parts = mask.parts();
        for (int i = 0; i < parts.size(); i++) {
            Mask.Part part = parts.get(i);
            switch (part.kind()) {
                case CAUSAL_BOTTOM_RIGHT -> right = 0;
                case CAUSAL_TOP_LEFT -> topLeft = true;
                case KEY_LENGTHS -> addLengths(Checks.notNull(part.numbers(), "keyLengths"));
                case QUERY_OFFSET -> setOffsets(numbers(part));
                case WINDOW -> {
                    left = Math.min(left, numbers(part)[0]);
                    right = Math.min(right, numbers(part)[1]);
                }
                case BLOCKS -> blocks.bind(Checks.notNull(part.tensor(), "mask"), numbers(part)[0], sizes);
                case KEEP, DROP, BIAS -> addTensor(part, Checks.notNull(part.tensor(), "mask"));
            }
        }
        requireAlignment();
    }

    private void setOffsets(long[] perBatch) {
        if (perBatch.length != 1 && perBatch.length != sizes[0]) {
            throw Checks.fail(
                    "queryOffset", perBatch.length + " offsets", "expected 1 or one per batch of " + sizes[0]);
        }
        if (offsets != null && !Arrays.equals(offsets, perBatch)) {
            throw Checks.fail(
                    "queryOffset",
                    Arrays.toString(offsets) + " and " + Arrays.toString(perBatch),
                    "expected one of them");
        }
        offsets = perBatch;
    }

    /** Fails if queries would be at two positions. */
    private void requireAlignment() {
        for (int i = 0; topLeft && offsets != null && i < offsets.length; i++) {
            if (offsets[i] != 0) {
                throw Checks.fail(
                        "mask",
                        "CAUSAL_TOP_LEFT with queryOffset " + Arrays.toString(offsets),
                        "expected CAUSAL, which follows the offset");
            }
        }
    }

    private static long[] numbers(Mask.Part part) {
        return Checks.notNull(part.numbers(), "mask");
    }

    /** Returns how many of a sequence's keys exist: where key lengths are given, the sequence ends there. */
    long end(long batch, long keys) {
        long end = keys;
        for (int i = 0; i < lengthsCount; i++) {
            end = Math.min(end, lengths[i][lengths[i].length == 1 ? 0 : (int) batch]);
        }
        return end;
    }

    /** Returns the position of a sequence's query 0. */
    long offset(long batch, long queries, long end) {
        return offsets == null ? end - queries : offsets[offsets.length == 1 ? 0 : (int) batch];
    }

    /**
     * Returns how many keys, counted from key 0, the limits let a query see; tensors may hide some of them.
     *
     * @param offset from {@link #offset}
     * @param end from {@link #end}
     */
    long visibleKeys(long query, long offset, long end) {
        long visible = end;
        if (right < UNBOUNDED) {
            visible = Math.min(visible, query + offset + 1 + right);
        }
        if (topLeft) {
            visible = Math.min(visible, query + 1);
        }
        return Math.max(0, visible);
    }

    /** Returns the first key that the window lets a query see. */
    long firstKey(long query, long offset) {
        return left < UNBOUNDED ? Math.max(0, query + offset - left) : 0;
    }

    BlockPlan blocks() {
        return blocks;
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
        blocks.requireUsable(cpu, written, argument);
        for (int i = 0; i < tensorCount; i++) {
            Operation.execution(cpu).requireAccess(tensor(i), "mask");
            AttentionChecks.requireApart(written, argument, tensor(i), "mask");
        }
    }

    private Tensor tensor(int index) {
        return Checks.notNull(tensors[index].tensor(), "mask");
    }

    /** Which score comes first in a row: one per thread, set before each row. */
    static final class Place {
        long batch;
        long head;
        long query;
        long key;

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
        blocks.clear();
        Arrays.fill(tensors, null);
        Arrays.fill(lengths, null);
        offsets = null;
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
        broadcast(tensor, sizes, "(batch, heads, queries, keys)", strides, tensorCount * AXES);
        tensorCount++;
    }

    /** Fails if a sequence has fewer keys than its length says; {@link #bind} knows only the most. */
    void requireLengths(KeyValueView view) {
        for (int i = 0; i < lengthsCount; i++) {
            for (int sequence = 0; sequence < view.sequences(); sequence++) {
                long length = lengths[i][lengths[i].length == 1 ? 0 : sequence];
                if (length > view.keys(sequence)) {
                    throw Checks.fail(
                            "keyLengths",
                            String.valueOf(length),
                            "expected at most the " + view.keys(sequence) + " keys of sequence " + sequence);
                }
            }
        }
    }

    /** The strides with which a tensor broadcasts to four axes; a size of -1 takes only tensors of size 1 there. */
    static void broadcast(Tensor tensor, long[] sizes, String axes, long[] strides, int at) {
        int missing = AXES - tensor.rank();
        for (int axis = 0; axis < AXES; axis++) {
            long size = axis < missing ? 1 : tensor.dim(axis - missing);
            if (size != 1 && size != sizes[axis]) {
                throw Checks.fail(
                        "mask",
                        "shape " + tensor.shape(),
                        "expected one that broadcasts to " + axes + " = " + Arrays.toString(sizes)
                                + (sizes[axis] < 0 ? ", -1 where sequences differ" : "")
                                + perBatchHint(tensor, sizes));
            }
            strides[at + axis] = size == 1 ? 0 : tensor.stride(axis - missing);
        }
    }

    /** Returns how to reshape a mask that has one part per batch but no axis for heads; empty for other shapes. */
    private static String perBatchHint(Tensor tensor, long[] sizes) {
        int rank = tensor.rank();
        boolean perBatch = (rank == 2 || rank == 3) && tensor.dim(0) == sizes[0] && fits(tensor.dim(-1), sizes[3]);
        if (!perBatch || (rank == 3 && !fits(tensor.dim(1), sizes[2]))) {
            return "";
        }
        long rows = rank == 3 ? tensor.dim(1) : 1;
        return "; if the first axis is the batch, use reshape(" + tensor.dim(0) + ", 1, " + rows + ", " + tensor.dim(-1)
                + ")";
    }

    private static boolean fits(long size, long wanted) {
        return size == 1 || size == wanted;
    }
}
