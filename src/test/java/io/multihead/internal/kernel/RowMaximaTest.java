package io.multihead.internal.kernel;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Arrays;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Vectors and scalars return the same bits for numbers of all kinds. */
@Tag("lanes")
class RowMaximaTest {
    private static final float[] KINDS = {
        0f, -0f, 1f, -1f, Float.NaN, Float.POSITIVE_INFINITY, Float.NEGATIVE_INFINITY, Float.MIN_VALUE, -Float.MIN_VALUE
    };

    @Test
    void vectorsHaveTheBitsOfScalars() {
        SplittableRandom random = new SplittableRandom(1);
        for (int count = 0; count < 12; count++) {
            float[] rows = new float[7 + 12 * 96];
            for (int i = 0; i < rows.length; i++) {
                rows[i] = random.nextInt(3) == 0 ? KINDS[random.nextInt(KINDS.length)] : random.nextFloat() - 0.5f;
            }
            float[] scalars = new float[64];
            Arrays.fill(scalars, Float.NEGATIVE_INFINITY);
            float[] vectors = scalars.clone();
            float[] chosen = scalars.clone();
            RowMaxima.scalars(scalars, rows, 7, 96, count, 64);
            RowMaxima.vectors(vectors, rows, 7, 96, count, 64);
            RowMaxima.add(chosen, rows, 7, 96, count, 64);
            assertArrayEquals(bits(scalars), bits(vectors));
            assertArrayEquals(bits(scalars), bits(chosen));
        }
    }

    @Test
    void columnsBehindTheLengthAreLeft() {
        float[] best = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17};
        float[] rows = new float[17];
        Arrays.fill(rows, 20);
        RowMaxima.add(best, rows, 0, 17, 1, 16);
        assertEquals(17, best[16]);
        assertEquals(20, best[15]);
    }

    /**
     * Returns the bits, with one pattern for all NaN, since the Vector API does not specify which of two NaN is kept.
     */
    private static int[] bits(float[] values) {
        int[] bits = new int[values.length];
        Arrays.setAll(bits, i -> Float.floatToIntBits(values[i]));
        return bits;
    }
}
