package io.multihead.model;

import io.multihead.tensor.Tensor;
import java.util.List;

/**
 * The logits of experts, then a row for each expert that a token uses, then rows of inner elements, and finally a row of normalized states
 * if there are any.
 */
record ExpertsLayout(int experts, int used, int dim, FeedForwardLayout inner, boolean normed)
        implements PartLayout<ExpertsLayout.Views> {
    /** Rows are the experts' inputs, and later their results, at {@code results}. */
    record Views(
            Tensor logits,
            Tensor rows,
            List<Tensor> whole,
            List<Tensor> parts,
            Tensor hidden,
            List<Tensor> results,
            Tensor normed) {}

    @Override
    public int floats() {
        return logitStride() + used * (rowStride() + inner.floats()) + (normed ? rowStride() : 0);
    }

    int logitStride() {
        return PartLayout.stride(experts);
    }

    int rowStride() {
        return PartLayout.stride(dim);
    }

    int rowsAt(int tokens) {
        return tokens * logitStride();
    }

    /** Returns the index of the inner elements. */
    int innerAt(int tokens) {
        return rowsAt(tokens) + tokens * used * rowStride();
    }

    @Override
    public Views views(float[] buffer, int tokens) {
        int rows = tokens * used;
        FeedForwardLayout.Views views = inner.views(buffer, innerAt(tokens), rows);
        Tensor gathered = PartLayout.rows(buffer, rowsAt(tokens), rows, dim, rowStride());
        return new Views(
                PartLayout.rows(buffer, 0, tokens, experts, logitStride()),
                gathered,
                List.of(views.all()),
                views.parts(),
                views.hidden(),
                List.of(gathered),
                normed
                        ? PartLayout.rows(buffer, innerAt(tokens) + rows * inner.floats(), tokens, dim, rowStride())
                        : gathered);
    }
}
