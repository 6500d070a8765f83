package io.multihead.reference;

import io.multihead.tensor.Tensor;

/** Elements of a tensor, row-major, widened exactly. */
final class Values {
    private Values() {}

    static double[] of(Tensor tensor) {
        double[] values = new double[(int) tensor.shape().elements()];
        if (values.length > 0) {
            fill(tensor, new long[tensor.rank()], 0, values, 0);
        }
        return values;
    }

    private static int fill(Tensor tensor, long[] index, int axis, double[] values, int at) {
        if (axis == index.length) {
            values[at] = tensor.get(index);
            return at + 1;
        }
        int next = at;
        for (index[axis] = 0; index[axis] < tensor.dim(axis); index[axis]++) {
            next = fill(tensor, index, axis + 1, values, next);
        }
        return next;
    }
}
