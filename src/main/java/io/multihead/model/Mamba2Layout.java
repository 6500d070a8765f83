package io.multihead.model;

import io.multihead.tensor.Tensor;
import java.util.List;

/**
 * One row for each token. It has the outputs of the projection side by side (the gates z, x, b and c of all groups, and the rates), followed by
 * the decays. The rows that the output projection reads follow all of these rows.
 */
record Mamba2Layout(Mamba2Heads of) implements PartLayout<Mamba2Layout.Views>, StateRows {
    record Views(Tensor projections, List<Tensor> parts, Tensor context) {}

    @Override
    public int heads() {
        return of.heads();
    }

    @Override
    public int depth() {
        return of.stateDim();
    }

    @Override
    public int columns() {
        return of.headDim();
    }

    /** Returns the index of x, after the gates: the first channel of the convolution. */
    @Override
    public int valuesAt() {
        return of.width();
    }

    @Override
    public int writeAt(int head) {
        return 2 * of.width() + head / (of.heads() / of.groups()) * of.stateDim();
    }

    @Override
    public int readAt(int head) {
        return writeAt(head) + of.groups() * of.stateDim();
    }

    @Override
    public int ratesAt() {
        return of.width() + of.channels();
    }

    @Override
    public int decaysAt() {
        return ratesAt() + of.heads();
    }

    @Override
    public int stride() {
        return PartLayout.stride(decaysAt() + of.heads());
    }

    @Override
    public int contextStride() {
        return PartLayout.stride(of.width());
    }

    @Override
    public int floats() {
        return stride() + contextStride();
    }

    @Override
    public Views views(float[] buffer, int tokens) {
        int stride = stride();
        return new Views(
                PartLayout.rows(buffer, 0, tokens, decaysAt(), stride),
                List.of(
                        PartLayout.rows(buffer, 0, tokens, of.width(), stride),
                        PartLayout.rows(buffer, valuesAt(), tokens, of.channels(), stride),
                        PartLayout.rows(buffer, ratesAt(), tokens, of.heads(), stride)),
                PartLayout.rows(buffer, tokens * stride, tokens, of.width(), contextStride()));
    }
}
