package io.multihead.it.llamacpp;

import io.multihead.compute.Compute;
import io.multihead.gemm.Gemm;
import io.multihead.gemm.GemmOptions;
import io.multihead.gemm.PackedWeights;
import io.multihead.gemm.WeightFormat;
import io.multihead.tensor.BlockTensor;
import io.multihead.tensor.BlockType;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.FloatBuffer;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.SplittableRandom;

/**
 * Compares single products with {@code ggml_mul_mat} and with sums in double. Elements of A are 8-bit integers, and the
 * largest element of each block is 127. Therefore, llama.cpp does not round them, and both sides compute with the same
 * numbers.
 */
final class ProductChecks {
    private static final int INPUTS = 1024;
    private static final int OUTPUTS = 96;
    private static final int MOST_ROWS = 65;
    private static final int BLOCK = 32;

    /**
     * The error of an f32 sum in any order, in units of the sum of magnitudes. The scales of a k-quant are products of
     * two numbers.
     */
    private static final double BOUND = (INPUTS + 64) * 0x1p-24;

    private final Path libraries;
    private final SplittableRandom random = new SplittableRandom(3);

    ProductChecks(Path libraries) {
        this.libraries = libraries;
    }

    void run() {
        for (WeightFormat format : WeightFormat.values()) {
            if (format != WeightFormat.F32) {
                for (int rows : new int[] {1, 4, MOST_ROWS}) {
                    compare(format, rows);
                }
            }
        }
    }

    private void compare(WeightFormat format, int rows) {
        float[] x = integers(rows);
        float[] values = new float[OUTPUTS * INPUTS];
        for (int i = 0; i < values.length; i++) {
            // most numbers have the same sign, so that sums are not smaller than their terms
            values[i] = (float) (0.02 * (1 + random.nextGaussian() / 2));
        }
        try (Arena arena = Arena.ofShared();
                Compute cpu = Compute.threads(2)) {
            Tensor matrix = Tensor.of(values, OUTPUTS, INPUTS);
            float[] weights = new float[values.length];
            GgmlProduct.Matrix theirs = rounded(format, matrix, Tensor.of(weights, OUTPUTS, INPUTS), arena);
            float[] expected = new float[rows * OUTPUTS];
            String layout;
            try (GgmlBackend backend = new GgmlBackend(libraries, 2);
                    GgmlProduct product = new GgmlProduct(backend, theirs, FloatBuffer.wrap(x))) {
                FloatBuffer y = FloatBuffer.wrap(expected);
                product.multiply(y);
                layout = product.layout();
            }
            float[] actual = new float[expected.length];
            PackedWeights packed = PackedWeights.ofOutputRows(arena, matrix, format);
            Gemm.multiply(
                    cpu, Tensor.of(x, rows, INPUTS), packed, Tensor.of(actual, rows, OUTPUTS), GemmOptions.DEFAULT);
            double largest = 0;
            for (int row = 0; row < rows; row++) {
                for (int column = 0; column < OUTPUTS; column++) {
                    double[] sum = sum(x, row, weights, column);
                    int at = row * OUTPUTS + column;
                    String name = format + ", " + rows + " rows, [" + row + "][" + column + "]";
                    requireClose(name, actual[at], sum);
                    requireClose(name + " of ggml", expected[at], sum);
                    largest = Math.max(largest, Math.abs(actual[at] - expected[at]) / sum[1]);
                }
            }
            System.out.printf(
                    "%s, %d rows: products differ from ggml's (%s) by %.1e of their terms at most%n",
                    format, rows, layout, largest);
        }
    }

    private float[] integers(int rows) {
        float[] x = new float[rows * INPUTS];
        for (int i = 0; i < x.length; i++) {
            x[i] = i % BLOCK == 0 ? 127 : random.nextInt(-40, 127);
        }
        return x;
    }

    /** Rounds a matrix to a format like ggml, and also stores the rounded values. */
    private static GgmlProduct.Matrix rounded(WeightFormat format, Tensor matrix, Tensor values, Arena arena) {
        String name = format.name();
        MemorySegment bytes;
        if (Arrays.stream(BlockType.values()).anyMatch(type -> type.name().equals(name))) {
            BlockTensor blocks = BlockTensor.quantize(arena, matrix, BlockType.valueOf(name));
            blocks.dequantize(values);
            bytes = blocks.memory().asSlice(blocks.offset(), blocks.bytes());
        } else {
            Tensor narrow = Tensor.allocate(arena, DType.valueOf(name), Shape.of(OUTPUTS, INPUTS));
            matrix.copyTo(narrow);
            narrow.copyTo(values);
            bytes = narrow.memory().asSlice(0, Short.BYTES * (long) OUTPUTS * INPUTS);
        }
        MemorySegment copy = arena.allocate(bytes.byteSize(), 64);
        copy.copyFrom(bytes);
        return new GgmlProduct.Matrix(name, copy, INPUTS, OUTPUTS);
    }

    /** Returns a product in double, and the sum of the magnitudes of its terms. */
    private static double[] sum(float[] x, int row, float[] weights, int column) {
        double sum = 0;
        double magnitudes = 0;
        for (int k = 0; k < INPUTS; k++) {
            double term = x[row * INPUTS + k] * (double) weights[column * INPUTS + k];
            sum += term;
            magnitudes += Math.abs(term);
        }
        return new double[] {sum, magnitudes};
    }

    private static void requireClose(String name, float actual, double[] expected) {
        if (!(Math.abs(actual - expected[0]) <= BOUND * expected[1])) {
            throw new AssertionError(name + ": " + actual + "; expected " + expected[0] + " +- " + BOUND * expected[1]);
        }
    }
}
