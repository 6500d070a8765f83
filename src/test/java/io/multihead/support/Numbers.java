package io.multihead.support;

import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.function.DoubleSupplier;
import java.util.random.RandomGenerator;

/** Fills, copies and reads tensors element by element, for tests. */
public final class Numbers {
    private Numbers() {}

    /** Sets all elements in row-major order. */
    public static Tensor fill(Tensor tensor, DoubleSupplier source) {
        if (tensor.shape().elements() > 0) {
            fill(tensor, new long[tensor.rank()], 0, source);
        }
        return tensor;
    }

    /** Sets all elements to normally distributed numbers. */
    public static Tensor gaussian(Tensor tensor, RandomGenerator random, double mean, double sigma) {
        return fill(tensor, () -> mean + sigma * random.nextGaussian());
    }

    /** Returns a copy with the same numbers in another layout. */
    public static Tensor copy(Tensor from, Arena arena, Layout layout, DType dtype) {
        Tensor to = layout.allocate(arena, dtype, from.shape().toArray());
        from.copyTo(to);
        return to;
    }

    /** Returns the widened elements in row-major order. */
    public static double[] of(Tensor tensor) {
        double[] values = new double[(int) tensor.shape().elements()];
        if (values.length > 0) {
            read(tensor, new long[tensor.rank()], 0, values, 0);
        }
        return values;
    }

    /** Returns some positions of an axis, in the given order, as dense f32. */
    public static Tensor select(Tensor of, int axis, int... indices) {
        long[] dims = of.shape().toArray();
        dims[axis] = indices.length;
        Tensor some = Tensor.of(new float[(int) Shape.of(dims).elements()], dims);
        for (int i = 0; i < indices.length; i++) {
            of.select(axis, indices[i]).copyTo(some.select(axis, i));
        }
        return some;
    }

    /** Returns the sums of the elements at the same index. */
    public static double[] sum(double[] a, double[] b) {
        double[] result = a.clone();
        for (int i = 0; i < a.length; i++) {
            result[i] += b[i];
        }
        return result;
    }

    private static void fill(Tensor tensor, long[] index, int axis, DoubleSupplier source) {
        if (axis == index.length) {
            tensor.set(source.getAsDouble(), index);
            return;
        }
        for (index[axis] = 0; index[axis] < tensor.dim(axis); index[axis]++) {
            fill(tensor, index, axis + 1, source);
        }
    }

    private static int read(Tensor tensor, long[] index, int axis, double[] values, int at) {
        if (axis == index.length) {
            values[at] = tensor.get(index);
            return at + 1;
        }
        int next = at;
        for (index[axis] = 0; index[axis] < tensor.dim(axis); index[axis]++) {
            next = read(tensor, index, axis + 1, values, next);
        }
        return next;
    }
}
