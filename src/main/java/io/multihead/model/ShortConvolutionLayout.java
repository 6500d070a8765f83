package io.multihead.model;

import io.multihead.tensor.Tensor;
import java.util.List;

/** One row for each token with the gates before the convolution, the gates after it, and the input. The result replaces the input. */
record ShortConvolutionLayout(int dim) implements PartLayout<ShortConvolutionLayout.Views> {
    record Views(Tensor all, List<Tensor> parts, Tensor result) {}

    @Override
    public int floats() {
        return PartLayout.stride(3 * dim);
    }

    @Override
    public Views views(float[] buffer, int tokens) {
        Tensor all = PartLayout.rows(buffer, 0, tokens, 3 * dim, floats());
        Tensor result = PartLayout.rows(buffer, 2 * dim, tokens, dim, floats());
        return new Views(all, List.of(all), result);
    }
}
