package io.multihead.reference;

import io.multihead.internal.base.Checks;
import io.multihead.tensor.Tensor;
import org.jspecify.annotations.Nullable;

/** {@code C = alpha * A * B + beta * C + bias} as plain loops in {@code double}. */
public final class ReferenceGemm {
    private ReferenceGemm() {}

    /**
     * The product, and the bounds of the error of an f32 computation.
     *
     * @param values {@code [M, N]}, row-major
     * @param errorScale per element, the bound of {@link Tolerance#gemm}
     */
    @SuppressWarnings("ArrayRecordComponent")
    public record Result(double[] values, double[] errorScale) {
        /** Checks that no component is null. */
        public Result {
            Checks.notNull(values, "values");
            Checks.notNull(errorScale, "errorScale");
        }
    }

    /**
     * Multiplies two matrices.
     *
     * @param a {@code [M, K]}
     * @param b {@code [K, N]}
     * @param c {@code [M, N]}, the operand of beta; not changed, and not read if beta is 0
     * @param alpha factor of the product
     * @param beta factor of {@code c}
     * @param bias {@code [N]}, or null
     * @return the results as new arrays
     * @throws IllegalArgumentException if the shapes do not fit
     */
    public static Result multiply(Tensor a, Tensor b, Tensor c, double alpha, double beta, @Nullable Tensor bias) {
        Values.requireShape(a, "a", -1, -1);
        Values.requireShape(b, "b", a.dim(1), -1);
        Values.requireShape(c, "c", a.dim(0), b.dim(1));
        if (bias != null) {
            Values.requireShape(bias, "bias", b.dim(1));
        }
        Checks.product("c", a.dim(0), b.dim(1));
        double[] left = Values.of(a, "a");
        double[] right = Values.of(b, "b");
        int rows = (int) a.dim(0);
        int depth = (int) a.dim(1);
        int columns = (int) b.dim(1);
        Result result = new Result(new double[rows * columns], new double[rows * columns]);
        for (int m = 0; m < rows; m++) {
            for (int n = 0; n < columns; n++) {
                double sum = 0;
                double absolute = 0;
                for (int k = 0; k < depth; k++) {
                    double product = left[m * depth + k] * right[k * columns + n];
                    sum += product;
                    absolute += Math.abs(product);
                }
                double old = beta == 0 ? 0 : beta * c.get(m, n);
                double added = bias == null ? 0 : bias.get(n);
                result.values[m * columns + n] = alpha * sum + old + added;
                double rest = Math.abs(old) + Math.abs(added);
                result.errorScale[m * columns + n] = Tolerance.gemm(depth, Math.abs(alpha) * absolute, rest);
            }
        }
        return result;
    }
}
