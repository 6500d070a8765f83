package io.multihead.internal.attention.mask;

import io.multihead.compute.Compute;
import io.multihead.internal.attention.mask.MaskPart.ScorePart;
import io.multihead.internal.base.Checks;
import io.multihead.internal.call.TensorChecks;
import io.multihead.internal.kernel.Lanes;
import io.multihead.internal.kernel.RowOps;
import io.multihead.internal.layout.Packer;
import io.multihead.internal.layout.Positions;
import io.multihead.tensor.Tensor;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A mask resolved against the sizes of one call: the range of visible keys of every query, and tensors with their broadcast
 * strides. Reused from call to call; read-only while the call runs.
 */
public final class BoundMask {
    /** From this size on, a side of a window hides nothing; sums of a few numbers up to it do not overflow. */
    private static final long UNBOUNDED = MaskPart.MAX_OFFSET;

    private final long[] sizes = new long[Broadcast.AXES];
    private ScorePart[] tensors = new ScorePart[2];
    private long[] strides = new long[2 * Broadcast.AXES];
    private int tensorCount;
    private long[][] lengths = new long[1][];
    private int lengthsCount;
    /** The positions of the sequences' first queries; null if queries are aligned bottom-right. */
    private long @Nullable [] offsets;

    private boolean bias;
    private boolean topLeft;
    private final BlockSparseMask blocks = new BlockSparseMask();
    /** The number of keys before and after its own that a query may attend to. */
    private long left;

    private long right;

    /** Creates a mask that is bound before each use. */
    public BoundMask() {}

    /**
     * Resolves a mask.
     *
     * @param parts the parts of the mask
     * @param queries number of queries, or -1 if sequences differ
     * @param keys number of keys, the largest number that a sequence may have
     * @throws IllegalArgumentException if a tensor does not broadcast or the lengths do not fit
     */
    public void bind(List<MaskPart> parts, long batch, long heads, long queries, long keys) {
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
        for (int i = 0; i < parts.size(); i++) {
            switch (parts.get(i)) {
                case MaskPart.Causal _ -> right = 0;
                case MaskPart.CausalTopLeft _ -> topLeft = true;
                case MaskPart.KeyLengths(long[] perBatch) -> addLengths(perBatch);
                case MaskPart.QueryOffset(long[] perBatch) -> setOffsets(perBatch);
                case MaskPart.Window(long before, long after) -> {
                    left = Math.min(left, before);
                    right = Math.min(right, after);
                }
                case MaskPart.Blocks(Tensor kept, int size) -> blocks.bind(kept, size, sizes);
                case ScorePart part -> addTensor(part);
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

    /** Fails if parts of the mask set two different positions of queries. */
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

    /** Returns the number of existing keys of a sequence, which key lengths may limit. */
    public long end(long batch, long keys) {
        long end = keys;
        for (int i = 0; i < lengthsCount; i++) {
            end = Math.min(end, lengths[i][lengths[i].length == 1 ? 0 : (int) batch]);
        }
        return end;
    }

    /** Returns the position of a sequence's query 0. */
    public long offset(long batch, long queries, long end) {
        return offsets == null ? end - queries : offsets[offsets.length == 1 ? 0 : (int) batch];
    }

    /**
     * Returns the end of the keys that a query may attend to, except for keys that tensors hide.
     *
     * @param offset from {@link #offset}
     * @param end from {@link #end}
     */
    public long visibleKeys(long query, long offset, long end) {
        long visible = end;
        if (right < UNBOUNDED) {
            visible = Math.min(visible, query + offset + 1 + right);
        }
        if (topLeft) {
            visible = Math.min(visible, query + 1);
        }
        return Math.max(0, visible);
    }

    /** Returns the first key that the window lets a query attend to. */
    public long firstKey(long query, long offset) {
        return left < UNBOUNDED ? Math.max(0, query + offset - left) : 0;
    }

    public BlockSparseMask blocks() {
        return blocks;
    }

    /** Returns whether tensors must be applied to every score. */
    public boolean hasTensors() {
        return tensorCount > 0;
    }

    /** Returns whether tensors or blocks apply to single scores, and may therefore hide keys within the range that a query sees. */
    public boolean hidesSingleKeys() {
        return hasTensors() || blocks.hides();
    }

    /** Returns whether something is added to scores, which must then be scaled first. */
    public boolean hasBias() {
        return bias;
    }

    /** Fails unless all threads can read the tensors of the mask. */
    public void requireAccess(Compute cpu) {
        blocks.requireAccess(cpu);
        for (int i = 0; i < tensorCount; i++) {
            TensorChecks.requireAccess(cpu, tensor(i), "mask");
        }
    }

    /** Fails if an output overlaps a tensor of the mask. */
    public void requireApart(Tensor written, String argument) {
        blocks.requireApart(written, argument);
        for (int i = 0; i < tensorCount; i++) {
            TensorChecks.requireApart(written, argument, tensor(i), "mask");
        }
    }

    private Tensor tensor(int index) {
        return tensors[index].tensor();
    }

    /**
     * Applies the tensors to a row of scores.
     *
     * @param at index of the first score of the row in {@code scores}
     * @param staging a buffer for the same number of floats, rounded up to whole panels
     * @param index the index of the first score
     * @param keys the number of scores
     */
    public void apply(Packer packer, float[] scores, int at, float[] staging, ScoreIndex index, int keys) {
        int padded = Lanes.roundUp(keys, Lanes.PANEL);
        for (int i = 0; i < tensorCount; i++) {
            Tensor tensor = tensor(i);
            int s = i * Broadcast.AXES;
            long from = Positions.broadcast(tensor, strides, s, index.batch, index.head, index.query, index.key);
            packer.read(tensor, from, 0, strides[s + 3], 1, keys, staging, 0, padded);
            if (tensors[i] instanceof MaskPart.Bias) {
                RowOps.addBias(scores, at, padded, staging, 0);
            } else {
                RowOps.mask(scores, at, padded, staging, 0, tensors[i] instanceof MaskPart.Drop);
            }
        }
    }

    /** Drops every reference to the caller's memory. */
    public void clear() {
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

    private void addTensor(ScorePart part) {
        if (tensorCount == tensors.length) {
            tensors = Arrays.copyOf(tensors, 2 * tensorCount);
            strides = Arrays.copyOf(strides, 2 * Broadcast.AXES * tensorCount);
        }
        tensors[tensorCount] = part;
        bias |= part instanceof MaskPart.Bias;
        Broadcast.strides(part.tensor(), sizes, "(batch, heads, queries, keys)", strides, tensorCount * Broadcast.AXES);
        tensorCount++;
    }

    /** Fails if a sequence has fewer keys than its length states; {@link #bind} has only the number of keys of the longest sequence. */
    public void requireLengths(int sequence, long keys) {
        for (int i = 0; i < lengthsCount; i++) {
            long length = lengths[i][lengths[i].length == 1 ? 0 : sequence];
            if (length > keys) {
                throw Checks.fail(
                        "keyLengths",
                        String.valueOf(length),
                        "expected at most the " + keys + " keys of sequence " + sequence);
            }
        }
    }
}
