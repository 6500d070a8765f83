package io.multihead.encoder;

import io.multihead.attention.AttentionOutputs;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * The intermediate results of one batch, reused from batch to batch: for each token a state, what a block adds to it, and the larger
 * of projections with attention's output and the feed-forward layer's inner elements, which never exist at the same time. Rows are
 * padded to a multiple of 32.
 */
final class Activations {
    /** The batch's tensors: views of the arrays for one number of tokens. */
    record Views(
            Tensor states,
            Tensor update,
            Tensor projections,
            Tensor queries,
            Tensor keys,
            Tensor values,
            Tensor context,
            AttentionOutputs attended,
            Tensor inner) {}

    final int capacity;
    /** Floats from one row to the next. */
    final int stride;

    final float[] states;
    final RowPasses passes;
    private final int innerStride;
    private final float[] update;
    private final float[] wide;
    private final BertConfig config;
    private final @Nullable Views[] views;

    Activations(BertConfig config, int capacity) {
        this.config = config;
        this.capacity = capacity;
        stride = BertConfig.padded(config.dim());
        innerStride = BertConfig.padded(config.inner());
        states = new float[capacity * stride];
        update = new float[capacity * stride];
        wide = new float[capacity * Math.max(projectionStride() + stride, innerStride)];
        passes = new RowPasses(config, states, update);
        views = new Views[capacity + 1];
    }

    private int projectionStride() {
        return BertConfig.padded(3 * config.dim());
    }

    /** Returns the tensors for a number of tokens, created once for each number. */
    Views views(int tokens) {
        Views found = views[tokens];
        if (found == null) {
            found = make(tokens);
            views[tokens] = found;
        }
        return found;
    }

    private Views make(int tokens) {
        int dim = config.dim();
        int context = tokens * projectionStride();
        Tensor attended = heads(context, tokens, stride);
        return new Views(
                rows(states, 0, tokens, dim, stride),
                rows(update, 0, tokens, dim, stride),
                rows(wide, 0, tokens, 3 * dim, projectionStride()),
                heads(0, tokens, projectionStride()),
                heads(dim, tokens, projectionStride()),
                heads(2 * dim, tokens, projectionStride()),
                rows(wide, context, tokens, dim, stride),
                AttentionOutputs.of(attended),
                rows(wide, 0, tokens, config.inner(), innerStride));
    }

    private static Tensor rows(float[] values, int at, int tokens, int columns, int stride) {
        return Tensor.view(MemorySegment.ofArray(values), DType.F32, Shape.of(tokens, columns), at, stride, 1);
    }

    /** Part of the wide rows as {@code [1, heads, tokens, headDim]}. */
    private Tensor heads(int at, int tokens, int rowStride) {
        int headDim = config.dim() / config.heads();
        return Tensor.view(
                MemorySegment.ofArray(wide),
                DType.F32,
                Shape.of(1, config.heads(), tokens, headDim),
                at,
                0,
                headDim,
                rowStride,
                1);
    }
}
