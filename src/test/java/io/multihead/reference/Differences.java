package io.multihead.reference;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.function.Function;

/** Central differences, with which every gradient of the specification is compared. */
public final class Differences {
    private static final double TOLERANCE = 1e-7;
    /**
     * A step near {@code u^(1/5)} for the fourth-order formula. Its truncation error is {@code h^4 f^(5) / 30} and its
     * rounding error {@code u f / h}, both near 1e-11 for functions of size 1.
     */
    private static final double STEP = 1e-3;

    private Differences() {}

    /**
     * Fails unless a gradient is the gradient of {@code sum dy f(x)}, to 1e-7 of its largest element.
     *
     * @param gradient with respect to x
     * @param at x, changed while this runs
     * @param dy weights of the outputs
     * @param function from x to the outputs
     */
    public static void check(double[] gradient, double[] at, double[] dy, Function<double[], double[]> function) {
        double scale = 1;
        for (double element : gradient) {
            scale = Math.max(scale, Math.abs(element));
        }
        for (int i = 0; i < at.length; i++) {
            double kept = at[i];
            double[] f = new double[5];
            for (int step = -2; step <= 2; step++) {
                at[i] = kept + step * STEP;
                double[] y = function.apply(at);
                for (int j = 0; j < y.length; j++) {
                    f[step + 2] += dy[j] * y[j];
                }
            }
            at[i] = kept;
            double slope = (8 * (f[3] - f[1]) - (f[4] - f[0])) / (12 * STEP);
            double error = Math.abs(slope - gradient[i]);
            assertTrue(error <= TOLERANCE * scale, "element " + i + ": " + gradient[i] + ", but difference " + slope);
        }
    }
}
