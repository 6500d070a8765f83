package io.multihead.internal.attention.mask;

import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import org.jspecify.annotations.Nullable;

/**
 * One part of a mask: a kind with its tensor and its numbers, where it has them: lengths, two sides of a window, offsets, or a
 * block size.
 *
 * @param kind what the part does
 * @param tensor of the caller's, shared
 * @param numbers never changed after construction
 */
@SuppressWarnings("ArrayRecordComponent") // not part of the API and never compared by content
public record MaskPart(Kind kind, @Nullable Tensor tensor, long @Nullable [] numbers) {
    /** The kind of one part of a mask. */
    public enum Kind {
        KEEP,
        DROP,
        BIAS,
        KEY_LENGTHS,
        WINDOW,
        QUERY_OFFSET,
        BLOCKS,
        CAUSAL_BOTTOM_RIGHT,
        CAUSAL_TOP_LEFT
    }

    /** The largest offset of queries in either direction; sums of a few such numbers do not overflow. */
    public static final long MAX_OFFSET = 1L << 60;

    /** Returns whether there is a tensor that differs between heads. */
    public boolean hasHeads() {
        return heads() != 1;
    }

    /** Returns the size of the tensor's axis of heads, the third from the right; 1 without one. */
    public long heads() {
        return tensor == null || tensor.rank() < 3 ? 1 : tensor.dim(tensor.rank() - 3);
    }

    /** Returns this part with a copy of the tensor that holds some of the heads. */
    public MaskPart selectHeads(Arena arena, int... heads) {
        if (tensor == null) {
            return this;
        }
        int axis = tensor.rank() - 3;
        long[] dims = tensor.shape().toArray();
        dims[axis] = heads.length;
        Tensor some = Tensor.allocate(arena, tensor.dtype(), Shape.of(dims));
        for (int i = 0; i < heads.length; i++) {
            tensor.slice(axis, heads[i], heads[i] + 1L).copyTo(some.slice(axis, i, i + 1L));
        }
        return new MaskPart(kind, some, numbers);
    }

    /** Returns whether all sequences of a batch have this part. */
    public boolean isSharedByBatch() {
        boolean numbersEach = kind == Kind.KEY_LENGTHS || kind == Kind.QUERY_OFFSET;
        return (tensor == null || tensor.rank() < 4 || tensor.dim(0) == 1)
                && (!numbersEach || numbers == null || numbers.length == 1);
    }
}
