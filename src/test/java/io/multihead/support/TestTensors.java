package io.multihead.support;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.Random;
import java.util.function.DoubleSupplier;

/** Random and guarded tensors, and comparisons of them. */
public final class TestTensors {
    private static final double GUARD = 77;

    private TestTensors() {}

    /** Returns normally distributed numbers. A strided tensor is a view of a wider tensor full of NaN. */
    public static Tensor random(Random random, DType dtype, boolean strided, long... dims) {
        return fill(room(dtype, strided, Double.NaN, dims), random::nextGaussian);
    }

    /** Returns a dense tensor of normally distributed f32 numbers. */
    public static Tensor random(Random random, long... dims) {
        return random(random, DType.F32, false, dims);
    }

    /** Returns a tensor for results. A strided tensor is between guards. */
    public static Tensor guarded(DType dtype, boolean strided, long... dims) {
        return fill(room(dtype, strided, GUARD, dims), () -> Double.NaN);
    }

    /** Returns an I8 tensor in which one in three elements is not zero. */
    public static Tensor flags(Random random, long... dims) {
        return fill(room(DType.I8, false, 0, dims), () -> random.nextInt(3) == 0 ? 1 - 2 * random.nextInt(2) : 0);
    }

    /** Returns an F32 tensor in which one in four elements is minus infinity. */
    public static Tensor bias(Random random, long... dims) {
        return fill(
                room(DType.F32, false, 0, dims),
                () -> random.nextInt(4) == 0 ? Double.NEGATIVE_INFINITY : random.nextGaussian());
    }

    public static Tensor zeros(DType dtype, long... dims) {
        return Tensor.allocate(Arena.ofAuto(), dtype, Shape.of(dims));
    }

    private static Tensor room(DType dtype, boolean strided, double around, long... dims) {
        if (!strided) {
            return zeros(dtype, dims);
        }
        long[] wider = dims.clone();
        for (int axis = 0; axis < wider.length; axis++) {
            wider[axis] += 2;
        }
        Tensor view = fill(zeros(dtype, wider), () -> around);
        for (int axis = 0; axis < dims.length; axis++) {
            view = view.slice(axis, 1, 1 + dims[axis]);
        }
        return view;
    }

    /** Sets every element. */
    public static Tensor fill(Tensor tensor, DoubleSupplier numbers) {
        if (tensor.rank() == 0) {
            tensor.set(numbers.getAsDouble());
        }
        for (long i = 0; tensor.rank() > 0 && i < tensor.dim(0); i++) {
            fill(tensor.select(0, i), numbers);
        }
        return tensor;
    }

    /** Fails if the memory around a strided {@link #guarded} tensor was written. */
    public static void assertGuardsIntact(Tensor strided) {
        long inside = strided.shape().elements();
        long all = strided.memory().byteSize() / strided.dtype().bytes();
        Tensor flat = Tensor.view(strided.memory(), strided.dtype(), Shape.of(all));
        long guards = 0;
        for (long i = 0; i < all; i++) {
            guards += flat.get(i) == GUARD ? 1 : 0;
        }
        assertTrue(guards >= all - inside, "guards written: " + (all - inside - guards));
    }

    public static double[][][] cube(Tensor tensor) {
        double[][][] all = new double[(int) tensor.dim(0)][(int) tensor.dim(1)][(int) tensor.dim(2)];
        for (int b = 0; b < all.length; b++) {
            for (int t = 0; t < all[b].length; t++) {
                for (int d = 0; d < all[b][t].length; d++) {
                    all[b][t][d] = tensor.get(b, t, d);
                }
            }
        }
        return all;
    }

    /** Fails unless the error of every element is at most {@code tolerance} times the largest expected element. */
    public static void assertClose(double[][][] expected, double[][][] actual, double tolerance) {
        double scale = 0;
        for (double[][] matrix : expected) {
            for (double[] row : matrix) {
                for (double value : row) {
                    scale = Math.max(scale, Math.abs(value));
                }
            }
        }
        assertEquals(expected.length, actual.length);
        for (int b = 0; b < expected.length; b++) {
            double allowed = tolerance * scale;
            assertClose(expected[b], actual[b], (i, j) -> allowed);
        }
    }

    /**
     * Fails unless the error of every element is at most four times its bound, plus the rounding of its element type.
     */
    public static void assertClose(NaiveLayer.Numbers expected, Tensor actual) {
        double[][] value = expected.value();
        double[][] found = cube(actual.broadcast(1, actual.dim(0), actual.dim(1)))[0];
        double relative =
                switch (actual.dtype()) {
                    case BF16 -> 0x1p-8;
                    case F16 -> 0x1p-11;
                    default -> 0;
                };
        double smallest = actual.dtype() == DType.F16 ? 0x1p-25 : 0;
        assertClose(
                value,
                found,
                (i, j) -> 4 * 0x1p-24 * expected.error()[i][j] + relative * Math.abs(value[i][j]) + smallest);
    }

    private interface Allowed {
        double at(int row, int column);
    }

    private static void assertClose(double[][] expected, double[][] actual, Allowed allowed) {
        assertEquals(expected.length, actual.length);
        for (int i = 0; i < expected.length; i++) {
            for (int j = 0; j < expected[i].length; j++) {
                String found = "[" + i + ", " + j + "] " + actual[i][j] + " for " + expected[i][j];
                assertTrue(
                        Math.abs(actual[i][j] - expected[i][j]) <= allowed.at(i, j),
                        found + ", allowed " + allowed.at(i, j));
            }
        }
    }

    /** Fails unless both tensors have the same numbers. NaN equals NaN. */
    public static void assertSame(Tensor expected, Tensor actual) {
        assertEquals(expected.shape(), actual.shape());
        if (expected.shape().elements() > 0) {
            assertArrayEquals(expected.toArray(), actual.toArray());
        }
    }
}
