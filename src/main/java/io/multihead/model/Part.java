package io.multihead.model;

import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.internal.call.TensorChecks;
import io.multihead.tensor.Tensor;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A function of the tokens' states in a {@link Block}, which adds its result to the states: {@link SelfAttention}, {@link FeedForward}, or a
 * user's implementation. A part is immutable and thread-safe; the intermediate rows of a call are in its {@link Buffers}.
 *
 * <p>A model has the same bits in any batch, on any threads and in any division into calls, if its parts have this property: the result of a
 * token must not depend on the number of rows of a call.
 */
public interface Part {
    /** {@return the number of elements of a state} */
    int dim();

    /** {@return the number of floats of {@link Buffers#scratch} that the part needs for each
     * token} */
    default int scratch() {
        return 0;
    }

    /**
     * {@return the states that a cache keeps of each sequence for this part: keys and values for each attention in it, and recurrent states
     * for each {@link Buffers#takeStates}, in the order of computation; empty, unless the part reads earlier tokens}
     */
    default List<StateSizes> states() {
        return List.of();
    }

    /**
     * {@return whether the part reads the states of an earlier part from the cache; true only if the part has attention that shares
     * another layer's keys and values}
     */
    default boolean sharesStates() {
        return false;
    }

    /** {@return the largest number of positions of a sequence; {@link Long#MAX_VALUE} without a limit} */
    default long positions() {
        return Long.MAX_VALUE;
    }

    /**
     * Computes the part for the tokens of a batch, or for some of its rows if a part calls another part. A part that calls other parts must not
     * use their scratch.
     *
     * @param cpu threads and scratch
     * @param x {@code [rows, dim]}, the input; not changed
     * @param y {@code [rows, dim]}, which does not overlap x; in a block, both are f32 on the heap
     * @param adds whether the result is added to y; otherwise the contents of y are undefined and
     *     are overwritten
     * @param buffers the buffers of the running call, with its batch and scratch
     */
    void compute(Compute cpu, Tensor x, Tensor y, boolean adds, Buffers buffers);

    /**
     * Returns scratch for calls of this part only.
     *
     * @param capacity largest number of rows of a call
     * @return buffers for {@link #forward}
     */
    default Buffers buffers(int capacity) {
        return new Buffers(capacity, new BufferSizes(dim(), scratch(), false));
    }

    /**
     * Computes only this part, for tokens of sequences. If the batch has a cache, the states of the part are added to it.
     *
     * @param cpu threads and scratch
     * @param batch tokens of sequences, at least one each; their ids and types have no effect
     * @param x {@code [tokens, dim]}, any strides and floating-point type
     * @param y {@code [tokens, dim]}, any strides, written
     * @param buffers buffers from {@link #buffers}, or of a model that has this part
     * @throws IllegalArgumentException if a shape does not fit, x and y overlap, the cache has other sizes, or a sequence would have too many
     *     positions; nothing is written
     * @throws IllegalStateException if another call uses the buffers or the batch
     */
    default void forward(Compute cpu, TokenBatch batch, Tensor x, Tensor y, Buffers buffers) {
        forwardAlone(cpu, Checks.notNull(batch, "batch"), x, y, buffers);
    }

    /**
     * Computes only this part, for independent rows. This method is for parts that do not read the batch.
     *
     * @param cpu threads and scratch
     * @param x {@code [rows, dim]}, any strides and floating-point type
     * @param y {@code [rows, dim]}, any strides, written
     * @param buffers buffers from {@link #buffers}, or of a model that has this part
     * @throws IllegalArgumentException if a shape does not fit, or x and y overlap; nothing is written
     * @throws IllegalStateException if the part reads the batch, as attention does, or another call uses the buffers
     */
    default void forward(Compute cpu, Tensor x, Tensor y, Buffers buffers) {
        forwardAlone(cpu, null, x, y, buffers);
    }

    private void forwardAlone(Compute cpu, @Nullable TokenBatch batch, Tensor x, Tensor y, Buffers buffers) {
        Checks.notNull(cpu, "cpu");
        Checks.notNull(x, "x");
        Checks.notNull(y, "y");
        Checks.notNull(buffers, "buffers").enter(batch);
        try {
            long rows = batch != null ? batch.tokens() : x.rank() == 2 ? x.dim(0) : 0;
            RowChecks.requireShape(x, rows, dim(), "x");
            RowChecks.requireShape(y, rows, dim(), "y");
            TensorChecks.requireFloating(x, "x");
            TensorChecks.requireAccess(cpu, x, "x");
            TensorChecks.requireWritable(cpu, y, "y");
            TensorChecks.requireApart(y, "y", x, "x");
            List<StateSizes> layers = states();
            if (batch == null && !layers.isEmpty()) {
                buffers.batch(); // throws the exception for a call without a batch
            }
            if (batch != null) {
                batch.requireTokens();
                LayerCaches.require(batch.cache(), layers);
                batch.locate(0);
                batch.requireRoom();
                batch.requirePositions(positions());
            }
            buffers.beginAlone(Checks.fitsInt(rows, "x"), dim(), scratch());
            buffers.bindStates(layers);
            compute(cpu, x, y, false, buffers);
        } finally {
            buffers.leave();
        }
    }
}
