package io.multihead.internal.attention.mask;

import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.internal.call.TensorChecks;
import io.multihead.internal.layout.Positions;
import io.multihead.tensor.Tensor;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** A block-sparse mask resolved against the sizes of one call; read-only while the call runs. */
public final class BlockSparseMask {
    private final long[] sizes = new long[4];
    private final long[] strides = new long[4];
    private @Nullable Tensor kept;
    private int size;

    BlockSparseMask() {}

    void bind(Tensor tensor, int blockSize, long[] scores) {
        if (kept != null) {
            throw Checks.fail("mask", "two block-sparse masks", "expected one mask that combines both");
        }
        size = blockSize;
        for (int axis = 0; axis < 4; axis++) {
            boolean blocked = axis > 1 && scores[axis] >= 0;
            sizes[axis] = blocked ? Math.ceilDiv(scores[axis], blockSize) : scores[axis];
        }
        Broadcast.strides(tensor, sizes, "(batch, heads, query blocks, key blocks)", strides, 0);
        kept = tensor;
    }

    /** Returns whether there are blocks at all. */
    public boolean hides() {
        return kept != null;
    }

    /** Returns whether any of {@code keys} keys from {@code firstKey} on is kept for the query. */
    public boolean keepsAny(long batch, long head, long query, long firstKey, int keys) {
        for (long key = firstKey; key < firstKey + keys; key += size) {
            if (keeps(batch, head, query, key)) {
                return true;
            }
        }
        return false;
    }

    /**
     * Sets the scores of keys that are not kept to minus infinity. The key of the index must be a multiple of {@code keys} rounded up to a
     * power of two. Then the key is the first key of a block, or all keys of the call are in one block.
     */
    public void apply(float[] scores, int at, ScoreIndex index, int keys) {
        for (int first = 0; first < keys; first += size) {
            if (!keeps(index.batch, index.head, index.query, index.key + first)) {
                Arrays.fill(scores, at + first, at + Math.min(keys, first + size), Float.NEGATIVE_INFINITY);
            }
        }
    }

    private boolean keeps(long batch, long head, long query, long key) {
        Tensor tensor = kept;
        if (tensor == null) {
            return true;
        }
        long at = Positions.broadcast(tensor, strides, 0, batch, head, query / size, key / size);
        return tensor.memory().get(ValueLayout.JAVA_BYTE, at) != 0;
    }

    void requireAccess(Compute cpu) {
        if (kept != null) {
            TensorChecks.requireAccess(cpu, kept, "mask");
        }
    }

    void requireApart(Tensor written, String argument) {
        TensorChecks.requireApart(written, argument, kept, "mask");
    }

    void clear() {
        kept = null;
    }
}
