package io.multihead.nn;

import io.multihead.internal.nn.Views;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;

/**
 * The slices of an input for which an inference of several layers is computed one after another. Without slices, a stack of six blocks
 * of 384 features would need 840 MB of arrays for 32 x 256 tokens.
 *
 * @param x the input, with all independent axes merged into the first one if a view allows it
 * @param y the output, in the same form
 * @param length slices of the first axis that are computed together
 */
record InputSlices(Tensor x, Tensor y, long length) {
    /** Elements of the largest result of a layer: 4 MiB. */
    private static final long ELEMENTS = 1 << 20;
    /** The smallest number of rows: products of fewer rows would read their weights from memory too often. */
    private static final long ROWS = 384;

    /**
     * Returns the slices of a call.
     *
     * @param widest elements of the largest result of a layer for the whole input
     * @param layers the layers; for large inputs, they are queried for the number of leading axes that they treat independently
     */
    static InputSlices of(Tensor x, Tensor y, long widest, Layer layers) {
        boolean small = widest <= ELEMENTS || x.shape().elements() == 0;
        int axes = small ? 0 : Math.min(layers.independentAxes(x.shape()), x.rank() - 1);
        if (axes < 1) {
            return new InputSlices(x, y, Long.MAX_VALUE);
        }
        boolean merges = axes > 1 && Views.collapses(x, 0, axes) && Views.collapses(y, 0, axes);
        Tensor input = merges ? merged(x, axes) : x;
        Tensor output = merges ? merged(y, axes) : y;
        long count = input.dim(0);
        // ids have no features: their rows are the rows of the output
        long rows = Math.max(rows(input), rows(output));
        long most = Math.max(ELEMENTS / Math.ceilDiv(widest, count), Math.ceilDiv(ROWS * count, rows));
        // slices have about equal lengths, so that each slice reuses the arrays of the previous one
        long parts = Math.ceilDiv(count, Math.max(1, most));
        return new InputSlices(input, output, Math.ceilDiv(count, parts));
    }

    private static long rows(Tensor tensor) {
        return tensor.shape().elements() / Math.max(1, tensor.dim(-1));
    }

    private static Tensor merged(Tensor tensor, int axes) {
        Shape shape = tensor.shape();
        long[] dims = new long[shape.rank() - axes + 1];
        dims[0] = 1;
        for (int axis = 0; axis < shape.rank(); axis++) {
            int to = Math.max(0, axis - axes + 1);
            dims[to] = axis < axes ? dims[0] * shape.dim(axis) : shape.dim(axis);
        }
        return tensor.reshape(dims);
    }

    /** Returns the number of slices. */
    long count() {
        return length == Long.MAX_VALUE ? 1 : Math.ceilDiv(x.dim(0), length);
    }

    Tensor input(long slice) {
        return part(x, slice);
    }

    Tensor output(long slice) {
        return part(y, slice);
    }

    private Tensor part(Tensor whole, long slice) {
        return length == Long.MAX_VALUE
                ? whole
                : whole.slice(0, slice * length, Math.min(whole.dim(0), (slice + 1) * length));
    }
}
