package io.multihead.internal.kernel;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.SplittableRandom;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Tag;
import net.jqwik.api.constraints.IntRange;

/** The passes of the softmax over rows of scores that end with a vector, not with a panel: as if minus infinity followed. */
@Tag("lanes")
class ScoreRowProperties {
    private static final float GUARD = 77;
    private static final int AT = 3;

    @Property(tries = 400)
    void maximumIsThatOfALoop(@ForAll @IntRange(max = 9) int vectors, @ForAll long seed) {
        int length = vectors * Lanes.COUNT;
        float[] row = scores(new SplittableRandom(seed), length);
        float expected = Float.NEGATIVE_INFINITY;
        for (int i = 0; i < length; i++) {
            expected = row[AT + i] > expected ? row[AT + i] : expected;
        }
        assertEquals(expected, RowOps.max(row, AT, length), 0f);
    }

    @Property(tries = 400)
    void exponentialsAndTheirSumsAreThoseOfWholePanels(@ForAll @IntRange(max = 9) int vectors, @ForAll long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        int length = vectors * Lanes.COUNT;
        int padded = Lanes.roundUp(length, Lanes.PANEL);
        float[] row = scores(random, length);
        float[] whole = new float[AT + padded];
        System.arraycopy(row, AT, whole, AT, length);
        Arrays.fill(whole, AT + length, AT + padded, Float.NEGATIVE_INFINITY);
        float[] sums = new float[Lanes.PANEL];
        Arrays.fill(sums, random.nextFloat());
        float[] wholeSums = sums.clone();
        float keep = random.nextFloat();
        Exp.shifted(row, AT, length, 0.5f, 2f, sums, 0, keep);
        Exp.shifted(whole, AT, padded, 0.5f, 2f, wholeSums, 0, keep);
        assertArrayEquals(wholeSums, sums);
        assertArrayEquals(Arrays.copyOf(whole, AT + length), Arrays.copyOf(row, AT + length));
        assertTrue(row[AT + length] == GUARD, "nothing after the row is written");
    }

    /** Scores up to 2 and a few that are NaN or hidden, from {@link #AT} on; then one element that is no part of the row. */
    private static float[] scores(SplittableRandom random, int length) {
        float[] row = new float[AT + length + 1];
        for (int i = 0; i < length; i++) {
            row[AT + i] = switch (random.nextInt(8)) {
                case 0 -> Float.NEGATIVE_INFINITY;
                case 1 -> Float.NaN;
                default -> 2 - 100 * random.nextFloat() * random.nextFloat();
            };
        }
        row[AT + length] = GUARD;
        return row;
    }
}
