package io.multihead.model;

import io.multihead.tensor.Tensor;

/** One row of {@code dim} elements for each token. */
record StateLayout(int dim) implements PartLayout<Tensor> {
    @Override
    public int floats() {
        return PartLayout.stride(dim);
    }

    @Override
    public Tensor views(float[] buffer, int tokens) {
        return PartLayout.rows(buffer, 0, tokens, dim, floats());
    }
}
