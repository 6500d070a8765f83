package io.multihead.internal.kernel;

import static io.multihead.internal.kernel.Lanes.COUNT;
import static io.multihead.internal.kernel.Lanes.FLOATS;
import static io.multihead.internal.kernel.Lanes.PANEL;

import io.multihead.internal.base.WarmUp;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorOperators;

/**
 * The exponential of the softmax.
 *
 * <p>It uses {@code e^x = 2^n * e^r} with {@code n = round(x / ln 2)} and {@code |r| <= ln 2 / 2} (Cody and Waite's reduction in two parts)
 * and {@code e^r = 1 + (r + r^2 p(r))}, a polynomial of degree 6. The error is at most 1 ulp on {@code [-87.33, 0]}, and {@code e^0 = 1}.
 * For smaller x, for which the result would be subnormal, it is 0. NaN stays NaN.
 *
 * <p>The coefficients result from a random search for the smallest error in f32 arithmetic, 0.996 ulp over every float of the range; the
 * rounded coefficients of a minimax polynomial give 1.01.
 */
public final class Exp {
    /** For smaller x, {@code e^x} is not a normal f32 and becomes 0. */
    public static final float LOWEST = -87.33654f;

    static final float LOG2_E = 1.4426950408889634f;
    /** The number {@code 1.5 * 2^23 + 127}: adding this number rounds to an integer and leaves the biased exponent in the low bits. */
    static final float ROUND_AND_BIAS = 12582912f + 127f;

    static final float LN2_HIGH = 0.693359375f;
    static final float LN2_LOW = -2.12194440e-4f;
    static final float C6 = 0.0013663982f;
    static final float C5 = 0.008367216f;
    static final float C4 = 0.04166983f;
    static final float C3 = 0.16666546f;
    static final float C2 = 0.5f;

    private static final WarmUp WARM_UP = new WarmUp(new WarmUp.Trial() {
        private static final int LENGTH = 8 * PANEL;
        private final float[] row = new float[LENGTH];
        private final float[] partial = new float[PANEL];

        @Override
        public int operations() {
            return LENGTH / COUNT * 20;
        }

        @Override
        public void run(int lengthFactor, int calls) {
            for (int call = 0; call < calls; call++) {
                vectors(row, 0, lengthFactor * LENGTH, 1f, 1f, partial, 0, 0f);
            }
        }
    });

    private Exp() {}

    /**
     * Sets {@code row[i] = e^(scale * (row[i] - shift))}, and sums the results by position modulo 32.
     *
     * <p>The exponential is part of the loop and not a separate method: in a large compilation C2 stops inlining methods that it is not
     * forced to inline, and boxes vectors that are passed to such a method or returned by it.
     *
     * <p>The 32 partial sums make the order of additions the same for every lane width. They are replaced by {@code partial * keep + sum}.
     *
     * @param length a multiple of the number of lanes
     * @param scale more than 0
     * @param shift a number that is at least every element that is not NaN
     * @param keep factor of the partial sums' earlier contents
     */
    public static void shifted(
            float[] row, int at, int length, float scale, float shift, float[] partial, int p0, float keep) {
        shifted(isCompiled(), row, at, length, scale, shift, partial, p0, keep);
    }

    /** Returns whether vectors are fast, for callers that query it once for many rows. */
    public static boolean isCompiled() {
        return WARM_UP.isOver();
    }

    /**
     * Computes as {@link #shifted(float[], int, int, float, float, float[], int, float)} does, with the result of {@link #isCompiled} as an
     * argument.
     */
    public static void shifted(
            boolean isCompiled,
            float[] row,
            int at,
            int length,
            float scale,
            float shift,
            float[] partial,
            int p0,
            float keep) {
        // vectors() does not scale the partial sums of a row without elements
        if (length > 0 && isCompiled) {
            vectors(row, at, length, scale, shift, partial, p0, keep);
        } else {
            scalars(row, at, length, scale, shift, partial, p0, keep);
        }
    }

    static void scalars(
            float[] row, int at, int length, float scale, float shift, float[] partial, int p0, float keep) {
        for (int slot = 0; slot < PANEL; slot++) {
            float sum = 0f;
            for (int i = at + slot; i < at + length; i += PANEL) {
                row[i] = scalar((row[i] - shift) * scale);
                sum = row[i] + sum;
            }
            partial[p0 + slot] = Math.fma(partial[p0 + slot], keep, sum);
        }
    }

    /** Returns e^x. */
    static float scalar(float x) {
        float biased = Math.fma(x, LOG2_E, ROUND_AND_BIAS);
        float n = biased - ROUND_AND_BIAS;
        float r = Math.fma(n, -LN2_LOW, Math.fma(n, -LN2_HIGH, x));
        float p = Math.fma(C6, r, C5);
        p = Math.fma(p, r, C4);
        p = Math.fma(p, r, C3);
        p = Math.fma(p, r, C2);
        float power = Float.intBitsToFloat(Float.floatToRawIntBits(biased) << 23);
        return x < LOWEST ? 0f : Math.fma(Math.fma(r * r, p, r), power, power);
    }

    static void vectors(
            float[] row, int at, int length, float scale, float shift, float[] partial, int p0, float keep) {
        if (length <= 0) { // see WarmUp.Trial
            for (int i = length; i < 0; i += COUNT) {}
            return;
        }
        for (int slot = 0; slot < PANEL; slot += COUNT) {
            FloatVector sum = FloatVector.zero(FLOATS);
            for (int i = slot; i < length; i += PANEL) {
                // the shift is subtracted first, so that the largest element becomes exactly 0 and its exponential
                // exactly 1
                FloatVector x =
                        FloatVector.fromArray(FLOATS, row, at + i).sub(shift).mul(scale);
                FloatVector biased =
                        x.fma(FloatVector.broadcast(FLOATS, LOG2_E), FloatVector.broadcast(FLOATS, ROUND_AND_BIAS));
                FloatVector n = biased.sub(ROUND_AND_BIAS);
                FloatVector r = n.fma(FloatVector.broadcast(FLOATS, -LN2_HIGH), x);
                r = n.fma(FloatVector.broadcast(FLOATS, -LN2_LOW), r);
                FloatVector p = FloatVector.broadcast(FLOATS, C6).fma(r, FloatVector.broadcast(FLOATS, C5));
                p = p.fma(r, FloatVector.broadcast(FLOATS, C4));
                p = p.fma(r, FloatVector.broadcast(FLOATS, C3));
                p = p.fma(r, FloatVector.broadcast(FLOATS, C2));
                FloatVector fraction = r.mul(r).fma(p, r);
                FloatVector power = biased.viewAsIntegralLanes()
                        .lanewise(VectorOperators.LSHL, 23)
                        .viewAsFloatingLanes()
                        .reinterpretAsFloats();
                FloatVector y = fraction.fma(power, power).blend(0f, x.compare(VectorOperators.LT, LOWEST));
                y.intoArray(row, at + i);
                sum = y.add(sum);
            }
            FloatVector before = FloatVector.fromArray(FLOATS, partial, p0 + slot);
            before.fma(FloatVector.broadcast(FLOATS, keep), sum).intoArray(partial, p0 + slot);
        }
    }
}
