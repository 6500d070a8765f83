package io.multihead.internal.attention.mask;

import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;

/** One part of a mask: its tensor, which belongs to the caller and is shared, or its numbers, which never change after construction. */
public sealed interface MaskPart {
    /** The largest offset of queries in either direction; sums of a few such numbers do not overflow. */
    long MAX_OFFSET = 1L << 60;

    /** A part with a tensor. */
    sealed interface TensorPart extends MaskPart {
        Tensor tensor();
    }

    /** A part that is applied to every score: its tensor broadcasts over (batch, heads, queries, keys). */
    sealed interface ScorePart extends TensorPart {}

    /** Keeps scores where the tensor is not zero. */
    record Keep(Tensor tensor) implements ScorePart {}

    /** Drops scores where the tensor is not zero. */
    record Drop(Tensor tensor) implements ScorePart {}

    /** Adds the tensor to the scaled scores. */
    record Bias(Tensor tensor) implements ScorePart {}

    /** Keeps blocks of {@code size} queries and keys where the tensor is not zero. */
    record Blocks(Tensor tensor, int size) implements TensorPart {}

    /** Hides the keys after the query's position. */
    record Causal() implements MaskPart {}

    /** Hides the keys after the query's index. */
    record CausalTopLeft() implements MaskPart {}

    /** Hides the keys more than {@code left} before, or {@code right} after, the query's position. */
    record Window(long left, long right) implements MaskPart {}

    /** Sets the number of existing keys: one number per batch, or one for all. */
    @SuppressWarnings("ArrayRecordComponent") // not part of the API and never compared by content
    record KeyLengths(long[] perBatch) implements MaskPart {}

    /** Sets the position of the first query: one per batch, or one for all. */
    @SuppressWarnings("ArrayRecordComponent") // as above
    record QueryOffset(long[] perBatch) implements MaskPart {}

    /** Returns whether there is a tensor that differs between heads. */
    default boolean hasHeads() {
        return heads() != 1;
    }

    /** Returns the size of the tensor's axis of heads, the third from the right; 1 without one. */
    default long heads() {
        return this instanceof TensorPart part && part.tensor().rank() >= 3
                ? part.tensor().dim(-3)
                : 1;
    }

    /** Returns this part with a copy of the tensor that contains some of the heads. */
    default MaskPart selectHeads(Arena arena, int... heads) {
        return switch (this) {
            case Keep(Tensor tensor) -> new Keep(selectHeads(tensor, arena, heads));
            case Drop(Tensor tensor) -> new Drop(selectHeads(tensor, arena, heads));
            case Bias(Tensor tensor) -> new Bias(selectHeads(tensor, arena, heads));
            case Blocks(Tensor tensor, int size) -> new Blocks(selectHeads(tensor, arena, heads), size);
            case Causal _, CausalTopLeft _, Window _, KeyLengths _, QueryOffset _ -> this;
        };
    }

    private static Tensor selectHeads(Tensor tensor, Arena arena, int... heads) {
        int axis = tensor.rank() - 3;
        long[] dims = tensor.shape().toArray();
        dims[axis] = heads.length;
        Tensor some = Tensor.allocate(arena, tensor.dtype(), Shape.of(dims));
        for (int i = 0; i < heads.length; i++) {
            tensor.slice(axis, heads[i], heads[i] + 1L).copyTo(some.slice(axis, i, i + 1L));
        }
        return some;
    }

    default MaskPart ofSequence(int index) {
        return isSharedByBatch()
                ? this
                : switch (this) {
                    case Keep(Tensor tensor) -> new Keep(tensor.slice(0, index, index + 1L));
                    case Drop(Tensor tensor) -> new Drop(tensor.slice(0, index, index + 1L));
                    case Bias(Tensor tensor) -> new Bias(tensor.slice(0, index, index + 1L));
                    case Blocks(Tensor tensor, int size) -> new Blocks(tensor.slice(0, index, index + 1L), size);
                    case KeyLengths(long[] lengths) -> new KeyLengths(new long[] {lengths[index]});
                    case QueryOffset(long[] offsets) -> new QueryOffset(new long[] {offsets[index]});
                    case Causal _, CausalTopLeft _, Window _ -> this;
                };
    }

    /** Returns the number of sequences for which there are numbers or slices of a tensor: 1 if all have the same. */
    default long sequences() {
        return isSharedByBatch()
                ? 1
                : switch (this) {
                    case TensorPart part -> part.tensor().dim(0);
                    case KeyLengths(long[] lengths) -> lengths.length;
                    case QueryOffset(long[] offsets) -> offsets.length;
                    case Causal _, CausalTopLeft _, Window _ -> 1;
                };
    }

    /** Returns whether this part is the same for all sequences of a batch. */
    default boolean isSharedByBatch() {
        return switch (this) {
            case TensorPart part -> part.tensor().rank() < 4 || part.tensor().dim(0) == 1;
            case KeyLengths lengths -> lengths.perBatch().length == 1;
            case QueryOffset offset -> offset.perBatch().length == 1;
            case Causal _, CausalTopLeft _, Window _ -> true;
        };
    }
}
