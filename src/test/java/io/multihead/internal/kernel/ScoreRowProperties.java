package io.multihead.internal.kernel;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.SplittableRandom;
import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Tag;
import net.jqwik.api.constraints.IntRange;

/**
 * The passes of the softmax over rows of scores. A row that ends with a vector within a panel has the same result as a
 * row with minus infinity in the rest of the panel.
 */
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

    /**
     * Without a limit, scores would exceed a third of random caps by 1 or 2 ulp where the hyperbolic tangent rounds to
     * 1.
     */
    @Property(tries = 2000)
    void noCappedScoreExceedsTheCap(@ForAll long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        float cap = 100 * random.nextFloat() + Float.MIN_NORMAL;
        float[] row = new float[Lanes.PANEL];
        for (int i = 0; i < row.length; i++) {
            row[i] = (random.nextBoolean() ? cap : -cap) * (7 + 5 * random.nextFloat());
        }
        row[0] = Float.POSITIVE_INFINITY;
        row[1] = Float.NEGATIVE_INFINITY;
        row[2] = Float.NaN;
        float[] capped = row.clone();
        ScoreOps.softCap(capped, 0, capped.length, cap);
        assertTrue(Float.isNaN(capped[2]));
        for (int i = 0; i < row.length; i++) {
            // tanh 7 is 1 - 1.7e-6
            boolean fits = Math.abs(capped[i]) <= cap && Math.abs(capped[i]) > 0.99999f * cap && capped[i] * row[i] > 0;
            assertTrue(fits || i == 2, row[i] + " gives " + capped[i] + " with cap " + cap);
        }
    }

    /**
     * Rows with small scores only and other rows are computed by different loops. A score has the same bits in both
     * loops.
     */
    @Property(tries = 500)
    void aCappedScoreDoesNotDependOnTheOthersOfItsRow(@ForAll long seed, @ForAll @IntRange(max = 3) int other) {
        SplittableRandom random = new SplittableRandom(seed);
        float cap = 100 * random.nextFloat() + Float.MIN_NORMAL;
        float[] row = new float[AT + 2 * Lanes.PANEL];
        for (int i = AT; i < row.length; i++) {
            row[i] = cap * 7 * (2 * random.nextFloat() - 1) * random.nextFloat();
        }
        float[] withOther = row.clone();
        int at = AT + random.nextInt(2 * Lanes.PANEL);
        withOther[at] = new float[] {8 * cap, Float.NaN, Float.POSITIVE_INFINITY, Float.NEGATIVE_INFINITY}[other];
        ScoreOps.softCap(row, AT, 2 * Lanes.PANEL, cap);
        ScoreOps.softCap(withOther, AT, 2 * Lanes.PANEL, cap);
        withOther[at] = row[at];
        assertArrayEquals(row, withOther);
    }

    /** Seven times such a cap is more than the largest float. */
    @Example
    void theLargestCapsHold() {
        for (float cap : new float[] {Float.MAX_VALUE, Float.MAX_VALUE / 2, Float.MIN_NORMAL}) {
            float[] row = new float[Lanes.PANEL];
            row[0] = Float.POSITIVE_INFINITY;
            row[1] = -Float.MAX_VALUE;
            ScoreOps.softCap(row, 0, row.length, cap);
            assertEquals(cap, row[0]);
            assertTrue(row[1] >= -cap && row[1] <= -0.7f * cap, row[1] + " with cap " + cap);
            float[] finite = new float[Lanes.PANEL];
            finite[0] = Float.MAX_VALUE;
            ScoreOps.softCap(finite, 0, finite.length, cap);
            assertTrue(finite[0] <= cap && finite[0] >= 0.7f * cap, finite[0] + " with cap " + cap);
        }
    }

    @Example
    void aLargeScoreIsTheCap() {
        float[] row = new float[Lanes.PANEL];
        Arrays.fill(row, 5646.6987f);
        ScoreOps.softCap(row, 0, row.length, 51.927444f);
        assertEquals(51.927444f, row[0]);
    }

    /**
     * Returns scores up to 2 from {@link #AT} on, some of which are NaN or hidden, and then one element after the row.
     */
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
