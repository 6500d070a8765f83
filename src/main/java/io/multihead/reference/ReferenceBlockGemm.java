package io.multihead.reference;

import io.multihead.internal.base.Checks;
import io.multihead.tensor.BlockTensor;
import io.multihead.tensor.BlockType;
import io.multihead.tensor.Tensor;

/** The product with quantized weights as plain loops in {@code double} over dequantized values. */
public final class ReferenceBlockGemm {
    /** The number of elements that are rounded with one scale. */
    private static final int ROUNDED = 32;

    private ReferenceBlockGemm() {}

    /**
     * Multiplies a matrix by the transpose of quantized rows.
     *
     * @param a {@code [M, K]}
     * @param weights {@code [N, K]}
     * @return the product {@code [M, N]} and the bound of {@link Tolerance#blocks} for each element, as new arrays
     * @throws IllegalArgumentException if the shapes do not fit
     */
    public static ReferenceGemm.Result multiply(Tensor a, BlockTensor weights) {
        Values.requireShape(a, "a", -1, Checks.notNull(weights, "weights").columns());
        double[] left = Values.of(a, "a");
        double[] right = ReferenceBlocks.dequantize(weights);
        int rows = (int) a.dim(0);
        int columns = (int) weights.shape().dim(0);
        ReferenceGemm.Result result = new ReferenceGemm.Result(new double[rows * columns], new double[rows * columns]);
        for (int n = 0; n < columns; n++) {
            Column column = Column.of(weights, right, n);
            for (int m = 0; m < rows; m++) {
                column.multiply(left, m, result, m * columns + n);
            }
        }
        return result;
    }

    /**
     * Multiplies a matrix by quantized rows, as for gradients with respect to a layer's inputs. The bound is {@link Tolerance#gemm} with elements
     * that are first rounded to f32, with one rounding of the sum of a product and a minimum.
     *
     * @param a {@code [M, N]}
     * @param weights {@code [N, K]}
     * @return the product {@code [M, K]} and the bound of each element, as new arrays
     * @throws IllegalArgumentException if the shapes do not fit
     */
    public static ReferenceGemm.Result multiplyTransposed(Tensor a, BlockTensor weights) {
        Values.requireShape(
                a, "a", -1, Checks.notNull(weights, "weights").shape().dim(0));
        double[] left = Values.of(a, "a");
        double[] right = ReferenceBlocks.dequantize(weights);
        int rows = (int) a.dim(0);
        int depth = (int) a.dim(1);
        int columns = (int) weights.columns();
        ReferenceGemm.Result result = new ReferenceGemm.Result(new double[rows * columns], new double[rows * columns]);
        for (int m = 0; m < rows; m++) {
            for (int column = 0; column < columns; column++) {
                double sum = 0;
                double product = 0;
                double size = 0;
                for (int n = 0; n < depth; n++) {
                    double x = left[m * depth + n];
                    double term = x * right[n * columns + column];
                    sum += term;
                    product += Math.abs(term);
                    size += Math.abs(x);
                }
                result.values()[m * columns + column] = sum;
                result.errorScale()[m * columns + column] =
                        Tolerance.gemm(depth, product, 0) + 0x1p-24 * product + 0x1p-149 * size;
            }
        }
        return result;
    }

    /**
     * Multiplies a matrix, rounded to 8 bits, by the transpose of quantized rows: the product of {@link #rounded} with dequantized values.
     *
     * @param a {@code [M, K]}
     * @param weights {@code [N, K]}
     * @return the product {@code [M, N]} and the bound of {@link Tolerance#roundedBlocks} for each element, as new arrays
     * @throws IllegalArgumentException if the shapes do not fit
     */
    public static ReferenceGemm.Result multiplyRounded(Tensor a, BlockTensor weights) {
        Values.requireShape(a, "a", -1, Checks.notNull(weights, "weights").columns());
        double[] left = rounded(Values.of(a, "a"));
        double[] right = ReferenceBlocks.dequantize(weights);
        int depth = (int) weights.columns();
        int rows = (int) a.dim(0);
        int columns = (int) weights.shape().dim(0);
        ReferenceGemm.Result result = new ReferenceGemm.Result(new double[rows * columns], new double[rows * columns]);
        for (int m = 0; m < rows; m++) {
            for (int n = 0; n < columns; n++) {
                double sum = 0;
                double product = 0;
                for (int k = 0; k < depth; k++) {
                    double value = right[n * depth + k];
                    double minimum = Math.abs(ReferenceBlocks.minimum(weights, n * depth + k));
                    sum += left[m * depth + k] * value;
                    product += (Math.abs(value) + 2 * minimum) * Math.abs(left[m * depth + k]);
                }
                result.values()[m * columns + n] = sum;
                result.errorScale()[m * columns + n] = Tolerance.roundedBlocks(depth, product);
            }
        }
        return result;
    }

    /**
     * Rounds each 32 elements to multiples of their scale, which is the largest magnitude divided by 127. The multiple of an element is the
     * integer nearest to the element times 127 divided by the largest magnitude, ties to even, with each operation rounded to f32. If the inverse
     * of the scale is not finite, all integers are 0.
     */
    private static double[] rounded(double[] a) {
        double[] result = new double[a.length];
        for (int block = 0; block < a.length; block += ROUNDED) {
            float largest = 0f;
            for (int k = block; k < block + ROUNDED; k++) {
                largest = Math.max(largest, Math.abs((float) a[k]));
            }
            float inverse = 127f / largest;
            for (int k = block; k < block + ROUNDED && Float.isFinite(inverse); k++) {
                result[k] = (double) (largest / 127f) * Math.rint((float) a[k] * inverse);
            }
        }
        return result;
    }

    /** One row of weights. */
    @SuppressWarnings("ArrayRecordComponent")
    private record Column(BlockType type, double[] values, double[] scales, double[] minima) {
        static Column of(BlockTensor weights, double[] values, int n) {
            int depth = (int) weights.columns();
            double[] scales = new double[depth];
            double[] minima = new double[depth];
            double[] own = new double[depth];
            for (int k = 0; k < depth; k++) {
                own[k] = values[n * depth + k];
                scales[k] = Math.abs(ReferenceBlocks.scale(weights, n * depth + k));
                minima[k] = Math.abs(ReferenceBlocks.minimum(weights, n * depth + k));
            }
            return new Column(weights.type(), own, scales, minima);
        }

        void multiply(double[] a, int row, ReferenceGemm.Result result, int to) {
            double sum = 0;
            double spread = 0;
            double product = 0;
            double minimum = 0;
            double largest = 0;
            for (int k = 0; k < values.length; k++) {
                double x = a[row * values.length + k];
                sum += x * values[k];
                spread += scales[k] * Math.abs(x) * mostOf(type);
                product += (Math.abs(values[k]) + 2 * minima[k]) * Math.abs(x);
                minimum += minima[k] * Math.abs(x);
                largest = Math.max(largest, Math.max(scales[k], minima[k]));
            }
            result.values()[to] = sum;
            result.errorScale()[to] = Tolerance.blocks(values.length, chain(), spread, product, minimum, largest);
        }

        /** Returns the number of elements that share a scale. */
        private int chain() {
            return switch (type) {
                case Q6_K, Q3_K, Q2_K -> 16;
                case Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q4_K, Q5_K, MXFP4, IQ4_NL, IQ4_XS -> 32;
            };
        }

        /** Returns the larger of the largest offset and the largest element. */
        private static int mostOf(BlockType type) {
            return switch (type) {
                case Q8_0, IQ4_NL, IQ4_XS -> 128;
                case Q4_0 -> 8;
                case Q5_0, MXFP4 -> 16;
                case Q4_1, Q4_K -> 15;
                case Q5_1, Q5_K -> 31;
                case Q6_K, Q3_K -> 32;
                case Q2_K -> 3;
            };
        }
    }
}
