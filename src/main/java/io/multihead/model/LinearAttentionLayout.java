package io.multihead.model;

import io.multihead.tensor.Tensor;
import java.util.List;

/**
 * Queries, keys and values, the gates z, the rates and the decays of a token side by side in one row, followed by the rows that the output
 * projection reads.
 */
record LinearAttentionLayout(LinearHeads of) implements PartLayout<LinearAttentionLayout.Views>, StateRows {
    record Views(Tensor projections, List<Tensor> parts, Tensor context) {}

    /** Returns the index of the gates of a token. */
    int gatesAt() {
        return of.channels();
    }

    @Override
    public int ratesAt() {
        return gatesAt() + of.valueWidth();
    }

    @Override
    public int decaysAt() {
        return ratesAt() + of.valueHeads();
    }

    private int width() {
        return decaysAt() + of.valueHeads();
    }

    @Override
    public int heads() {
        return of.valueHeads();
    }

    @Override
    public int depth() {
        return of.keyDim();
    }

    @Override
    public int columns() {
        return of.valueDim();
    }

    @Override
    public int valuesAt() {
        return 2 * of.keyWidth();
    }

    @Override
    public int readAt(int head) {
        return of.keyHead(head) * of.keyDim();
    }

    @Override
    public int writeAt(int head) {
        return of.keyWidth() + readAt(head);
    }

    @Override
    public int stride() {
        return PartLayout.stride(width());
    }

    @Override
    public int contextStride() {
        return PartLayout.stride(of.valueWidth());
    }

    @Override
    public int floats() {
        return stride() + contextStride();
    }

    @Override
    public Views views(float[] buffer, int tokens) {
        int stride = stride();
        return new Views(
                PartLayout.rows(buffer, 0, tokens, width(), stride),
                List.of(
                        PartLayout.rows(buffer, 0, tokens, of.channels(), stride),
                        PartLayout.rows(buffer, gatesAt(), tokens, of.valueWidth(), stride),
                        PartLayout.rows(buffer, ratesAt(), tokens, of.valueHeads(), stride),
                        PartLayout.rows(buffer, decaysAt(), tokens, of.valueHeads(), stride)),
                PartLayout.rows(buffer, tokens * stride, tokens, of.valueWidth(), contextStride()));
    }
}
