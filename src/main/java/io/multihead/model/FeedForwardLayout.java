package io.multihead.model;

import io.multihead.tensor.Tensor;
import java.util.List;

/**
 * One row for each token with the inner elements: the outputs of one layer, or gate and up side by side. The product of gate and up replaces
 * the gate.
 */
record FeedForwardLayout(int inner, boolean gated) implements PartLayout<FeedForwardLayout.Views> {
    record Views(Tensor all, List<Tensor> parts, Tensor hidden) {}

    @Override
    public int floats() {
        return PartLayout.stride(gated ? 2 * inner : inner);
    }

    @Override
    public Views views(float[] buffer, int tokens) {
        return views(buffer, 0, tokens);
    }

    /** Returns the tensors of rows that begin at an index of the buffer. */
    Views views(float[] buffer, int at, int rows) {
        Tensor hidden = PartLayout.rows(buffer, at, rows, inner, floats());
        if (!gated) {
            return new Views(hidden, List.of(hidden), hidden);
        }
        Tensor up = PartLayout.rows(buffer, at + inner, rows, inner, floats());
        return new Views(PartLayout.rows(buffer, at, rows, 2 * inner, floats()), List.of(hidden, up), hidden);
    }
}
