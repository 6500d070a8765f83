package io.multihead.jmh.data;

import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.util.Arrays;
import java.util.SplittableRandom;

/** Inputs from seeds in native memory, and the comparison that prevents measurements of wrong calls. */
public final class Data {
    private Data() {}

    public static FloatBuffer zeros(int length) {
        return ByteBuffer.allocateDirect(length * Float.BYTES)
                .order(ByteOrder.nativeOrder())
                .asFloatBuffer();
    }

    public static FloatBuffer gaussian(int length, long seed) {
        return gaussian(length, seed, 1, 0);
    }

    /** Returns normally distributed numbers times a factor, plus a mean. */
    public static FloatBuffer gaussian(int length, long seed, float factor, float mean) {
        SplittableRandom random = new SplittableRandom(seed);
        FloatBuffer buffer = zeros(length);
        for (int i = 0; i < length; i++) {
            buffer.put(i, factor * (float) random.nextGaussian() + mean);
        }
        return buffer;
    }

    public static Tensor tensor(FloatBuffer buffer, long... dims) {
        return Tensor.view(MemorySegment.ofBuffer(buffer), DType.F32, Shape.of(dims));
    }

    /** Returns a tensor of {@link #gaussian} numbers. */
    public static Tensor tensor(long seed, long... dims) {
        return tensor(gaussian((int) Shape.of(dims).elements(), seed), dims);
    }

    /** Returns a tensor of normally distributed numbers on the heap. */
    public static Tensor normal(long seed, double deviation, long... dims) {
        SplittableRandom random = new SplittableRandom(seed);
        float[] values = new float[(int) Shape.of(dims).elements()];
        for (int i = 0; i < values.length; i++) {
            values[i] = (float) random.nextGaussian(0, deviation);
        }
        return Tensor.of(values, dims);
    }

    /** Returns the sizes of a shape such as {@code 1x8x512x64}. */
    public static int[] sizes(String shape) {
        return Arrays.stream(shape.split("x")).mapToInt(Integer::parseInt).toArray();
    }

    public static float[] array(FloatBuffer buffer) {
        float[] array = new float[buffer.capacity()];
        buffer.get(0, array);
        return array;
    }

    /** Returns a matrix with the columns of a row-major matrix as rows. */
    public static FloatBuffer transposed(FloatBuffer matrix, int rows, int columns) {
        FloatBuffer transposed = zeros(rows * columns);
        for (int i = 0; i < rows; i++) {
            for (int j = 0; j < columns; j++) {
                transposed.put(j * rows + i, matrix.get(i * columns + j));
            }
        }
        return transposed;
    }

    /**
     * Fails if a difference is more than {@code tolerance} times the largest value. Differences result from two orders
     * of the same f32 sum.
     */
    public static void requireClose(String impl, FloatBuffer expected, FloatBuffer actual, double tolerance) {
        double largest = 0;
        double worst = 0;
        for (int i = 0; i < expected.capacity(); i++) {
            largest = Math.max(largest, Math.abs(expected.get(i)));
            worst = Math.max(worst, Math.abs((double) expected.get(i) - actual.get(i)));
        }
        if (!(worst <= tolerance * largest)) {
            throw new IllegalStateException(impl + ": differs by " + worst + " of " + largest + "; not timed");
        }
    }
}
