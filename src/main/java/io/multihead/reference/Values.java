package io.multihead.reference;

import io.multihead.internal.base.Checks;
import io.multihead.tensor.Tensor;
import java.util.Arrays;

/** Elements of a tensor, row-major, widened exactly. */
final class Values {
    private Values() {}

    static double[] of(Tensor tensor, String argument) {
        long elements = Checks.notNull(tensor, argument).shape().elements();
        double[] values = new double[Checks.fitsInt(elements, argument + " elements")];
        if (values.length > 0) {
            fill(tensor, new long[tensor.rank()], 0, values, 0);
        }
        return values;
    }

    /** Returns a copy of {@code [batch, heads, rows, dim]} in f64 with a row of zeros after the others. */
    static Tensor oneRowMore(Tensor tensor) {
        double[] values = of(tensor, "tensor");
        int rows = (int) tensor.dim(2);
        int dim = (int) tensor.dim(3);
        int matrices = (int) (tensor.dim(0) * tensor.dim(1));
        double[] longer = new double[Checks.fitsInt((long) matrices * (rows + 1) * dim, "elements")];
        for (int m = 0; m < matrices; m++) {
            System.arraycopy(values, m * rows * dim, longer, m * (rows + 1) * dim, rows * dim);
        }
        return Tensor.of(longer, tensor.dim(0), tensor.dim(1), rows + 1L, dim);
    }

    /** Fails unless a tensor has a shape; -1 stands for any size. */
    static void requireShape(Tensor tensor, String argument, long... dims) {
        boolean fits = Checks.notNull(tensor, argument).rank() == dims.length;
        for (int axis = 0; fits && axis < dims.length; axis++) {
            fits = dims[axis] < 0 || tensor.dim(axis) == dims[axis];
        }
        if (!fits) {
            String expected = Arrays.toString(dims).replace("-1", "any");
            throw Checks.fail(argument, "shape " + tensor.shape(), "expected " + expected);
        }
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
