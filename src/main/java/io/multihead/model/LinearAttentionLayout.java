package io.multihead.model;

import io.multihead.tensor.Tensor;
import java.util.List;

/**
 * Queries, keys and values, the gates z, the rates and the decays of a token side by side in one row, and behind all of them the rows that the output
 * projection reads.
 */
record LinearAttentionLayout(LinearHeads heads) implements PartLayout<LinearAttentionLayout.Views> {
    record Views(Tensor projections, List<Tensor> parts, Tensor context) {}

    /** Returns where the gates of a token begin. */
    int gatesAt() {
        return heads.channels();
    }

    int ratesAt() {
        return gatesAt() + heads.valueWidth();
    }

    int decaysAt() {
        return ratesAt() + heads.valueHeads();
    }

    private int width() {
        return decaysAt() + heads.valueHeads();
    }

    /** Returns the floats from one token's projections to the next. */
    int stride() {
        return PartLayout.stride(width());
    }

    int contextStride() {
        return PartLayout.stride(heads.valueWidth());
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
                        PartLayout.rows(buffer, 0, tokens, heads.channels(), stride),
                        PartLayout.rows(buffer, gatesAt(), tokens, heads.valueWidth(), stride),
                        PartLayout.rows(buffer, ratesAt(), tokens, heads.valueHeads(), stride),
                        PartLayout.rows(buffer, decaysAt(), tokens, heads.valueHeads(), stride)),
                PartLayout.rows(buffer, tokens * stride, tokens, heads.valueWidth(), contextStride()));
    }
}
