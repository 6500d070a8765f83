package io.multihead.internal.kernel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.reference.ReferenceActivation;
import java.util.Arrays;
import java.util.SplittableRandom;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.FloatRange;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** SiLU and its derivative are compared with their specification in double. */
@Tag("lanes")
@net.jqwik.api.Tag("lanes")
class SiluTest {
    private static final double U = 0x1p-24;
    /**
     * The exponential has an error of 1 ulp, at most 2 u. {@code 1 + e}, the quotient and the last sum round once each.
     */
    private static final double SUM = 5 * U;
    /** An {@code e^-t} that is subnormal in f32 becomes 0. The error is t times this number, with t up to 110. */
    private static final double LOST = 110 * 0x1p-126;

    @Property(tries = 500)
    void isWithinTheBoundOfItsParts(@ForAll @FloatRange(min = -100, max = 100) float x) {
        assertSilu(x);
    }

    @Test
    void isWithinTheBoundOverAllMagnitudes() {
        for (int bits = 0; bits < Float.floatToRawIntBits(128f); bits += 99_991) {
            assertSilu(Float.intBitsToFloat(bits));
            assertSilu(-Float.intBitsToFloat(bits));
        }
    }

    /** {@code |t s(-t)|} has the errors of {@link #SUM}. The sum for positive x has one more rounding. */
    private static void assertSilu(float x) {
        double exact = ReferenceActivation.silu(x);
        double part = Math.abs(x) / (1 + Math.exp(Math.abs((double) x)));
        double most = SUM * part + U * Math.abs(exact) + LOST;
        assertEquals(exact, silu(x), most, "silu(" + x + ")");
    }

    /**
     * {@code s(t)} has an error of 4 u as above, {@code e s(t)} of 7 u, and {@code t s(t)} of 5 u. The sum of both
     * parts, {@code 1 - c} and the product with dy round once each.
     */
    @Property(tries = 500)
    void theDerivativeIsWithinTheBoundOfItsParts(@ForAll @FloatRange(min = -100, max = 100) float x) {
        float[] dy = filled(1f);
        Silu.gradient(filled(x), dy, dy.length, new float[ActivationOps.bufferLength(dy.length)]);
        double t = Math.abs((double) x);
        double left = 1 / (1 + Math.exp(t));
        double parts = 7 * left + (7 + 5) * t * (1 - left) * left;
        double exact = ReferenceActivation.siluSlope(x);
        assertEquals(exact, dy[0], U * (parts + 3 * Math.max(left, Math.abs(exact))) + LOST, "silu'(" + x + ")");
    }

    /**
     * {@code e^-t} has an error of 2 u. {@code 1 + e} and the quotient round once each: 4 u in total, and 5 u where e
     * is the numerator. Numbers that underflow become 0.
     */
    @Property(tries = 500)
    void theSigmoidIsWithinTheBoundOfItsParts(@ForAll @FloatRange(min = -100, max = 100) float x) {
        float[] row = filled(x);
        Silu.sigmoidVectors(row, 0, row.length, new float[ActivationOps.bufferLength(row.length)]);
        double exact = ReferenceActivation.sigmoid(x);
        assertEquals(exact, row[0], 5 * U * exact + 2 * 0x1p-126, "s(" + x + ")");
    }

    @Test
    void sigmoidsOfSpecialValues() {
        float inf = Float.POSITIVE_INFINITY;
        float[] x = {0f, -0f, inf, -inf, Float.NaN, 1e30f, -1e30f};
        float[] expected = {0.5f, 0.5f, 1f, 0f, Float.NaN, 1f, 0f};
        for (int i = 0; i < x.length; i++) {
            float[] row = filled(x[i]);
            Silu.sigmoidVectors(row, 0, row.length, new float[ActivationOps.bufferLength(row.length)]);
            assertEquals(expected[i], row[0], 0x1p-126f, "s(" + x[i] + ")");
        }
    }

    @Test
    void specialValues() {
        float inf = Float.POSITIVE_INFINITY;
        float[] x = {0f, -0f, inf, -inf, Float.NaN, 1e30f, -1e30f, Float.MIN_VALUE};
        float[] limits = {0f, 0f, inf, 0f, Float.NaN, 1e30f, 0f, 0f};
        float[] slopes = {0.5f, 0.5f, 1f, 0f, Float.NaN, 1f, 0f, 0.5f};
        for (int i = 0; i < x.length; i++) {
            float[] dy = filled(1f);
            Silu.gradient(filled(x[i]), dy, dy.length, new float[ActivationOps.bufferLength(dy.length)]);
            assertEquals(limits[i], silu(x[i]) + 0f, Float.MIN_VALUE, "silu(" + x[i] + ")");
            assertEquals(slopes[i], dy[0], 1e-7f, "silu'(" + x[i] + ")");
        }
    }

    @Property(tries = 200)
    void vectorsAndScalarsHaveTheSameBits(@ForAll @IntRange(max = 12) int panels, @ForAll long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        float[] row = new float[32 + panels * Lanes.PANEL];
        for (int i = 0; i < row.length; i++) {
            row[i] = (float) random.nextGaussian(0, random.nextInt(4) == 0 ? 60 : 3);
        }
        float[] other = row.clone();
        Silu.vectors(row, 32, row.length - 32, new float[ActivationOps.bufferLength(row.length - 32)]);
        Silu.scalars(other, 32, row.length - 32);
        assertTrue(Arrays.equals(row, other));
        Silu.sigmoidVectors(row, 32, row.length - 32, new float[ActivationOps.bufferLength(row.length - 32)]);
        Silu.sigmoidScalars(other, 32, row.length - 32);
        assertTrue(Arrays.equals(row, other));
    }

    private static float silu(float x) {
        float[] row = filled(x);
        Silu.vectors(row, 0, row.length, new float[ActivationOps.bufferLength(row.length)]);
        for (float each : row) {
            assertEquals(row[0], each);
        }
        return row[0];
    }

    private static float[] filled(float x) {
        float[] row = new float[Lanes.PANEL];
        Arrays.fill(row, x);
        return row;
    }
}
