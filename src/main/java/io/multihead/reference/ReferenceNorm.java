package io.multihead.reference;

import io.multihead.internal.base.Checks;

/** Layer normalization and normalization by the root mean square, with their gradients, as plain loops in
 * {@code double}. */
public final class ReferenceNorm {
    private ReferenceNorm() {}

    /**
     * Returns one row of output.
     *
     * @param x a row
     * @param weight the factors, as long as x
     * @param bias the addends, as long as x
     * @param epsilon added to the variance or mean square
     * @param centered whether the mean is subtracted
     * @return {@code (x - mean) / deviation * weight + bias}, new
     */
    public static double[] forward(double[] x, double[] weight, double[] bias, double epsilon, boolean centered) {
        requireRow(x, weight, "weight");
        requireRow(x, bias, "bias");
        double[] y = normalized(x, epsilon, centered);
        for (int i = 0; i < x.length; i++) {
            y[i] = y[i] * weight[i] + bias[i];
        }
        return y;
    }

    /**
     * {@return a row's gradient with respect to x}
     *
     * @param x a row
     * @param weight the factors, as long as x
     * @param dy the gradient with respect to the output
     * @param epsilon added to the variance or mean square
     * @param centered whether the mean is subtracted
     */
    public static double[] backward(double[] x, double[] weight, double[] dy, double epsilon, boolean centered) {
        requireRow(x, weight, "weight");
        requireRow(x, dy, "dy");
        double[] z = normalized(x, epsilon, centered);
        double mean = 0;
        double slope = 0;
        for (int i = 0; i < x.length; i++) {
            mean += centered ? dy[i] * weight[i] / x.length : 0;
            slope += dy[i] * weight[i] * z[i] / x.length;
        }
        double deviation = deviation(x, epsilon, centered);
        double[] dx = new double[x.length];
        for (int i = 0; i < x.length; i++) {
            dx[i] = (dy[i] * weight[i] - mean - z[i] * slope) / deviation;
        }
        return dx;
    }

    /**
     * Returns the normalized row, which the weights multiply: the gradient of the weights is {@code dy} times this row, and the gradient of
     * the bias is {@code dy}.
     *
     * @param x a row
     * @param epsilon added to the variance or mean square
     * @param centered whether the mean is subtracted
     * @return {@code (x - mean) / deviation}, new
     */
    public static double[] normalized(double[] x, double epsilon, boolean centered) {
        double deviation = deviation(x, epsilon, centered);
        double mean = centered ? mean(x) : 0;
        double[] z = new double[x.length];
        for (int i = 0; i < x.length; i++) {
            z[i] = (x[i] - mean) / deviation;
        }
        return z;
    }

    /**
     * Returns the deviation by which a row is divided.
     *
     * @param x a row
     * @param epsilon added to the variance or mean square
     * @param centered whether the mean is subtracted
     * @return {@code sqrt(mean((x - mean)^2) + epsilon)}
     */
    public static double deviation(double[] x, double epsilon, boolean centered) {
        Checks.notNull(x, "x");
        Checks.finiteAtLeast(epsilon, 0, "epsilon");
        double mean = centered ? mean(x) : 0;
        double squares = 0;
        for (double element : x) {
            squares += (element - mean) * (element - mean);
        }
        return Math.sqrt(squares / x.length + epsilon);
    }

    private static void requireRow(double[] x, double[] row, String argument) {
        Checks.notNull(x, "x");
        Checks.length(Checks.notNull(row, argument).length, x.length, argument, "as long as x");
    }

    private static double mean(double[] x) {
        double sum = 0;
        for (double element : x) {
            sum += element;
        }
        return sum / x.length;
    }
}
