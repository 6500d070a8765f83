package io.multihead.internal.kernel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.SplittableRandom;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Tag;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;

/**
 * Quotients of the softmax, {@link RowOps#normalize}, are compared with quotients in double. They have the same bits in
 * native memory.
 */
@org.junit.jupiter.api.Tag("lanes")
@Tag("lanes")
class NormalizeProperties {
    private static final float GUARD = 77;
    /** Half an ulp for the last rounding, and 4 u^2 for the error of the quotient before it. */
    private static final double ULPS = 0.5 + 0x1p-22;

    @Property(tries = 400)
    void quotientsAreRoundedOnce(@ForAll @IntRange(max = 5) int panels, @ForAll long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        float[] row = exponentials(random, panels * Lanes.PANEL);
        float sum = (float) Math.scalb(1 + random.nextDouble(), random.nextInt(31));
        float[] quotients = normalized(row, sum);
        for (int i = 0; i < panels * Lanes.PANEL; i++) {
            double exact = (double) row[i] / sum;
            double limit = ULPS * Math.ulp((float) exact) + Float.MIN_VALUE;
            assertTrue(Math.abs(quotients[i] - exact) <= limit, row[i] + " / " + sum + " gave " + quotients[i]);
        }
        assertEquals(GUARD, quotients[panels * Lanes.PANEL]);
    }

    @Test
    void equalKeysShareOneAndZeroStaysZero() {
        for (int count = 1; count <= 1 << 12; count++) {
            float[] row = new float[Lanes.PANEL + 1];
            row[0] = 1;
            float[] quotients = normalized(row, count);
            assertEquals(1f / count, quotients[0]);
            assertEquals(Float.floatToRawIntBits(0f), Float.floatToRawIntBits(quotients[1]));
        }
    }

    @Test
    void notANumberStays() {
        float[] row = new float[Lanes.PANEL + 1];
        row[1] = Float.NaN;
        float[] quotients = normalized(row, 2);
        assertEquals(0f, quotients[0]);
        assertEquals(Float.NaN, quotients[1]);
        assertEquals(Float.NaN, normalized(row, Float.NaN)[0]);
    }

    /** Normalizes a row in an array and in native memory. The element after the row is a guard. */
    private static float[] normalized(float[] row, float sum) {
        int length = row.length - 1;
        float[] quotients = row.clone();
        quotients[length] = GUARD;
        RowOps.normalize(quotients, 0, length, sum);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment memory = arena.allocateFrom(ValueLayout.JAVA_FLOAT, row);
            memory.setAtIndex(ValueLayout.JAVA_FLOAT, length, GUARD);
            NativeSoftmax.normalize(memory, 0, length, sum);
            for (int i = 0; i <= length; i++) {
                assertEquals(
                        Float.floatToIntBits(quotients[i]),
                        Float.floatToIntBits(memory.getAtIndex(ValueLayout.JAVA_FLOAT, i)));
            }
        }
        return quotients;
    }

    /** Returns numbers from 0 to 1 of any size, including subnormal numbers, and one element after the row. */
    private static float[] exponentials(SplittableRandom random, int length) {
        float[] row = new float[length + 1];
        for (int i = 0; i < length; i++) {
            row[i] = switch (random.nextInt(8)) {
                case 0 -> 0f;
                case 1 -> 1f;
                case 2 -> (float) Math.scalb(random.nextDouble(), -random.nextInt(149));
                default -> (float) random.nextDouble();
            };
        }
        return row;
    }
}
