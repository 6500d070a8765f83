package io.multihead.support;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.function.DoubleSupplier;

/**
 * Compares gradients with fourth-order differences of a specification in double, which have an error of about 1e-10.
 */
public final class Differences {
    private static final double STEP = 1e-3;
    private static final int MOST = 40;

    private Differences() {}

    /**
     * Asserts that some elements of a gradient are slopes.
     *
     * @param at the numbers that the loss reads. Each is changed and restored.
     * @param bound of the rounding of the gradient
     */
    public static void assertSlopes(double[] gradient, double[] at, DoubleSupplier loss, double bound, String of) {
        assertTrue(Arrays.stream(gradient).anyMatch(g -> Math.abs(g) > 4 * bound), of + " has no gradient");
        for (int i = 0; i < at.length; i += 1 + at.length / MOST) {
            double kept = at[i];
            double[] f = new double[5];
            for (int step = -2; step <= 2; step++) {
                at[i] = kept + step * STEP;
                f[step + 2] = loss.getAsDouble();
            }
            at[i] = kept;
            double slope = (8 * (f[3] - f[1]) - (f[4] - f[0])) / (12 * STEP);
            assertEquals(slope, gradient[i], bound, of + " " + i);
        }
    }
}
