package io.multihead.internal.kernel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.internal.base.VectorApiCheck;
import io.multihead.support.Promises;
import io.multihead.support.Tries;
import java.util.Arrays;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The exponential of every float from -0 down to the last one whose result is not subnormal. */
@Tag("lanes")
@Tag("bits")
class ExpTest {
    private static final int CHUNK = 1 << 16;
    private static final int FIRST = Float.floatToRawIntBits(-0f);
    private static final int LAST = Float.floatToRawIntBits(Exp.LOWEST);
    /**
     * At the JVM's own width, every float is tested, or one in 5 if the number of tries is reduced. At other widths,
     * one in 61 is tested.
     */
    private static final int STEP = System.getProperty(VectorApiCheck.LANES) != null ? 61 : Tries.factor() < 1 ? 5 : 1;

    private record Worst(double ulps, long risesAgainstOrder) {
        Worst and(Worst other) {
            return new Worst(Math.max(ulps, other.ulps), risesAgainstOrder + other.risesAgainstOrder);
        }
    }

    @Test
    void everyFloatIsWithinOneUlpAndInOrder() {
        long chunks = ((long) LAST - FIRST) / ((long) CHUNK * STEP) + 1;
        Worst worst =
                LongStream.range(0, chunks).parallel().mapToObj(ExpTest::chunk).reduce(new Worst(0, 0), Worst::and);
        Promises.EXPONENTIAL.record(worst.ulps);
        assertTrue(worst.ulps <= Promises.EXPONENTIAL.limit(), "ulps: " + worst.ulps);
        assertEquals(0, worst.risesAgainstOrder);
    }

    private static Worst chunk(long index) {
        float[] x = new float[CHUNK];
        for (int i = 0; i < CHUNK; i++) {
            x[i] = Float.intBitsToFloat((int) Math.min(LAST, FIRST + (index * CHUNK + i) * STEP));
        }
        float[] y = exp(x.clone());
        double ulps = 0;
        long rises = 0;
        for (int i = 0; i < CHUNK; i++) {
            double exact = Math.exp(x[i]); // its error is at most 1 ulp of double, 2^-29 ulp of float
            ulps = Math.max(ulps, Math.abs(y[i] - exact) / Math.ulp((float) exact));
            rises += i > 0 && y[i] > y[i - 1] ? 1 : 0;
        }
        return new Worst(ulps, rises);
    }

    @Test
    void specialValues() {
        float[] y = exp(new float[] {
            0f,
            -0f,
            Float.NaN,
            Float.NEGATIVE_INFINITY,
            -88f,
            -1e30f,
            Float.intBitsToFloat(0xffc12345),
            -Float.MIN_VALUE
        });
        assertEquals(1f, y[0]);
        assertEquals(1f, y[1]);
        assertTrue(Float.isNaN(y[2]));
        assertEquals(0f, y[3]);
        assertEquals(0f, y[4]);
        assertEquals(0f, y[5]);
        assertTrue(Float.isNaN(y[6]), "NaN of any payload stays NaN");
        assertEquals(1f, y[7]);
    }

    private static float[] exp(float[] x) {
        float[] row = Arrays.copyOf(x, Lanes.roundUp(x.length, Lanes.PANEL));
        Exp.shifted(row, 0, row.length, 1f, 0f, new float[Lanes.PANEL], 0, 0f);
        return Arrays.copyOf(row, x.length);
    }
}
