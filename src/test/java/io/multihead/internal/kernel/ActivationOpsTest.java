package io.multihead.internal.kernel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.reference.ReferenceActivation;
import io.multihead.support.Promises;
import java.util.Arrays;
import java.util.function.Consumer;
import java.util.function.DoubleUnaryOperator;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** GELU and its derivative for all magnitudes of f32, and for special values. */
@Tag("lanes")
@Tag("bits")
class ActivationOpsTest {
    private static final int CHUNK = 1 << 12;
    /** Every 997th float is tested, from 0 to beyond the largest magnitude whose GELU is neither 0 nor x. */
    private static final int STEP = 997;

    private static final int CHUNKS = Float.floatToRawIntBits(16f) / (CHUNK * STEP) + 1;
    /**
     * Smaller results may become 0. In the derivative with tanh, they are up to 230 times an exponential that is
     * subnormal in f32.
     */
    private static final double LOST = 0x1p-118;

    /**
     * The exponential and its correction have an error of 1.5 ulp, numerator and denominator about the same. Product,
     * quotient and last sum round. The total is 7.5 ulp if all errors have the same sign.
     */
    private static final double ULPS = 7.5;

    /** The float with the largest error of all floats, 7.133 ulp. {@link #STEP} skips it. */
    private static final float WORST = -0x1.66d822p3f;

    private interface Bound {
        double of(double x, double exact);
    }

    @Test
    void geluIsWithinAFewUlps() {
        double erf = worst(
                x -> ActivationOps.gelu(x, 0, CHUNK, buffer(CHUNK)),
                ReferenceActivation::gelu,
                ActivationOpsTest::ulpOf);
        double tanh = worst(
                x -> ActivationOps.geluTanh(x, 0, CHUNK, buffer(CHUNK)),
                ReferenceActivation::geluTanh,
                ActivationOpsTest::ulpOf);
        float[] worstOfAll = new float[CHUNK];
        Arrays.fill(worstOfAll, WORST);
        ActivationOps.gelu(worstOfAll, 0, CHUNK, buffer(CHUNK));
        double exact = ReferenceActivation.gelu(WORST);
        double known = Math.abs(worstOfAll[0] - exact) / ulpOf(WORST, exact);
        assertTrue(known > Math.max(erf, tanh) && known <= ULPS, "known: " + known);
        Promises.GELU.record(known);
        assertTrue(erf <= ULPS, "erf: " + erf);
        assertTrue(tanh <= ULPS, "tanh: " + tanh);
    }

    /** The derivative crosses 0, so its error is measured in ulps of its larger part. */
    @Test
    void theDerivativeIsWithinAFewUlpsOfItsParts() {
        double erf = worst(x -> slope(ActivationOps::geluGradient, x), ReferenceActivation::geluSlope, (x, exact) -> {
            double t = Math.abs(x);
            return ulp(x, Math.max(ReferenceActivation.tail(t), t * ReferenceActivation.density(t)));
        });
        double tanh = worst(
                x -> slope(ActivationOps::geluTanhGradient, x), ReferenceActivation::geluTanhSlope, (x, exact) -> {
                    double t = Math.abs(x);
                    double s = ReferenceActivation.geluTanh(-t) / -Math.max(t, 1e-30);
                    return ulp(x, Math.max(s, Math.abs(s - ReferenceActivation.geluTanhSlope(-t))));
                });
        assertTrue(erf <= ULPS, "erf: " + erf);
        assertTrue(tanh <= ULPS, "tanh: " + tanh);
    }

    private static double ulpOf(double x, double exact) {
        return Math.ulp((float) Math.max(Math.abs(exact), LOST));
    }

    /**
     * Returns an ulp of a part of an output. For positive x, where 1 is added to the derivative, it is at least an ulp
     * of 0.5.
     */
    private static double ulp(double x, double size) {
        return Math.ulp((float) Math.max(x > 0 ? 0.5 : LOST, size));
    }

    private interface Gradient {
        void multiply(float[] x, float[] dy, int length, float[] buffer);
    }

    private static float[] buffer(int length) {
        return new float[ActivationOps.bufferLength(length)];
    }

    private static void slope(Gradient gradient, float[] x) {
        float[] dy = new float[x.length];
        Arrays.fill(dy, 1f);
        gradient.multiply(x, dy, x.length, buffer(x.length));
        System.arraycopy(dy, 0, x, 0, x.length);
    }

    /** Returns the largest error in units of the bound. Results below {@link #LOST} may be 0. */
    private static double worst(Consumer<float[]> kernel, DoubleUnaryOperator exact, Bound bound) {
        return IntStream.range(0, 2 * CHUNKS)
                .parallel()
                .mapToDouble(chunk -> {
                    float[] x = new float[CHUNK];
                    for (int i = 0; i < CHUNK; i++) {
                        float size = Float.intBitsToFloat((chunk / 2 * CHUNK + i) * STEP);
                        x[i] = chunk % 2 == 0 ? size : -size;
                    }
                    float[] y = x.clone();
                    kernel.accept(y);
                    double worst = 0;
                    for (int i = 0; i < CHUNK; i++) {
                        double wanted = exact.applyAsDouble(x[i]);
                        double error = Math.abs(y[i] - wanted);
                        if (!(error <= LOST && y[i] == 0)) {
                            worst = Math.max(worst, error / bound.of(x[i], wanted));
                        }
                    }
                    return worst;
                })
                .reduce(0, Math::max);
    }

    @Test
    void specialValues() {
        float inf = Float.POSITIVE_INFINITY;
        float[] x = {0f, -0f, inf, -inf, Float.NaN, 1e30f, -1e30f, Float.MIN_VALUE};
        float[] limits = {0f, -0f, inf, 0f, Float.NaN, 1e30f, 0f};
        float[] slopes = {0.5f, 0.5f, 1f, 0f, Float.NaN, 1f, 0f};
        for (boolean tanh : new boolean[] {false, true}) {
            float[] y = Arrays.copyOf(x, Lanes.PANEL);
            float[] dy = Arrays.copyOf(x, Lanes.PANEL);
            if (tanh) {
                ActivationOps.geluTanh(y, 0, y.length, buffer(y.length));
                slope(ActivationOps::geluTanhGradient, dy);
            } else {
                ActivationOps.gelu(y, 0, y.length, buffer(y.length));
                slope(ActivationOps::geluGradient, dy);
            }
            for (int i = 0; i < limits.length; i++) {
                assertEquals(limits[i] + 0f, y[i] + 0f, "f(" + x[i] + ")");
                assertEquals(slopes[i] + 0f, dy[i] + 0f, "f'(" + x[i] + ")");
            }
        }
    }

    @Test
    void relu() {
        float[] x = Arrays.copyOf(new float[] {-2f, 0f, -0f, 3f, Float.NaN, Float.NEGATIVE_INFINITY}, Lanes.PANEL);
        float[] y = x.clone();
        ActivationOps.relu(y, 0, y.length);
        assertEquals("[0.0, 0.0, -0.0, 3.0, NaN, 0.0]", Arrays.toString(Arrays.copyOf(y, 6)));
        slope((at, dy, length, buffer) -> ActivationOps.reluGradient(at, dy, length), x);
        assertEquals("[0.0, 0.0, 0.0, 1.0, 1.0, 0.0]", Arrays.toString(Arrays.copyOf(x, 6)));
    }
}
