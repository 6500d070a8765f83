package io.multihead.reference;

import io.multihead.internal.base.Checks;
import org.jspecify.annotations.Nullable;

/** {@code y = x W^T + b} and its gradients as plain loops in {@code double}. Arrays are row-major. */
public final class ReferenceLinear {
    private ReferenceLinear() {}

    /**
     * The gradients of {@code sum dy y}.
     *
     * @param x {@code [rows, inputs]}
     * @param weight {@code [outputs, inputs]}
     * @param bias {@code [outputs]}
     */
    @SuppressWarnings("ArrayRecordComponent")
    public record Gradients(double[] x, double[] weight, double[] bias) {
        /** Checks that no component is null. */
        public Gradients {
            Checks.notNull(x, "x");
            Checks.notNull(weight, "weight");
            Checks.notNull(bias, "bias");
        }
    }

    /**
     * Returns the output.
     *
     * @param x {@code [rows, inputs]}
     * @param weight {@code [outputs, inputs]}
     * @param bias {@code [outputs]}, or null for none
     * @param outputs size of an output row
     * @param inputs size of an input row
     * @return {@code [rows, outputs]}, new
     * @throws IllegalArgumentException if the lengths do not fit the sizes
     */
    public static double[] forward(double[] x, double[] weight, double @Nullable [] bias, int outputs, int inputs) {
        int rows = rows(x, weight, outputs, inputs);
        if (bias != null) {
            Checks.length(bias.length, outputs, "bias", "one per output");
        }
        double[] y = new double[rows * outputs];
        for (int row = 0; row < rows; row++) {
            for (int output = 0; output < outputs; output++) {
                double sum = bias == null ? 0 : bias[output];
                for (int input = 0; input < inputs; input++) {
                    sum += x[row * inputs + input] * weight[output * inputs + input];
                }
                y[row * outputs + output] = sum;
            }
        }
        return y;
    }

    /**
     * Returns the gradients.
     *
     * @param x {@code [rows, inputs]}
     * @param weight {@code [outputs, inputs]}
     * @param dy {@code [rows, outputs]}, the gradient with respect to the output
     * @param outputs size of an output row
     * @param inputs size of an input row
     * @return new arrays
     * @throws IllegalArgumentException if the lengths do not fit the sizes
     */
    public static Gradients backward(double[] x, double[] weight, double[] dy, int outputs, int inputs) {
        int rows = rows(x, weight, outputs, inputs);
        Checks.length(Checks.notNull(dy, "dy").length, (long) rows * outputs, "dy", "rows x outputs");
        Gradients gradients =
                new Gradients(new double[rows * inputs], new double[outputs * inputs], new double[outputs]);
        for (int row = 0; row < rows; row++) {
            for (int output = 0; output < outputs; output++) {
                double d = dy[row * outputs + output];
                gradients.bias[output] += d;
                for (int input = 0; input < inputs; input++) {
                    gradients.x[row * inputs + input] += d * weight[output * inputs + input];
                    gradients.weight[output * inputs + input] += d * x[row * inputs + input];
                }
            }
        }
        return gradients;
    }

    /** Returns the number of rows after checking that everything fits. */
    private static int rows(double[] x, double[] weight, int outputs, int inputs) {
        Checks.notNull(x, "x");
        long expected = Checks.product("outputs x inputs", outputs, inputs);
        Checks.length(Checks.notNull(weight, "weight").length, expected, "weight", "outputs x inputs");
        if (inputs == 0 ? x.length > 0 : x.length % inputs != 0) {
            throw Checks.fail("x", x.length + " elements", "expected rows of " + inputs);
        }
        int rows = inputs == 0 ? 0 : x.length / inputs;
        Checks.product("rows x outputs", rows, outputs);
        return rows;
    }
}
