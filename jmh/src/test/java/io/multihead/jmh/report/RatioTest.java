package io.multihead.jmh.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class RatioTest {
    /** Each value is above or below the median with equal probability, so the outcomes are the patterns of n bits. */
    @ParameterizedTest
    @ValueSource(ints = {2, 3, 5, 6, 8, 11})
    void coverageIsTheShareOfPatternsWithTheMedianInside(int n) {
        for (int k = 1; 2 * k <= n; k++) {
            int inside = 0;
            for (int pattern = 0; pattern < 1 << n; pattern++) {
                int below = Integer.bitCount(pattern);
                inside += below >= k && below <= n - k ? 1 : 0;
            }
            assertEquals(inside / (double) (1 << n), Ratio.coverage(n, k), 1e-12, "n " + n + ", k " + k);
        }
    }

    @Test
    void intervalOfFiveRoundsReachesFromTheLowestToTheHighest() {
        Ratio ratio = Ratio.of(List.of(1.05, 0.97, 1.02, 1.2, 1.01));
        assertEquals(1.02, ratio.median());
        assertEquals(0.97, ratio.low());
        assertEquals(1.2, ratio.high());
        assertEquals(0.9375, ratio.coverage(), 1e-12);
        assertEquals("level", ratio.verdict());
    }

    @Test
    void intervalOfManyRoundsLeavesOutTheEnds() {
        Ratio ratio = Ratio.of(List.of(0.1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 9.0));
        assertEquals(1.1, ratio.low());
        assertEquals(1.6, ratio.high());
        assertEquals(1 - 18 / 256.0, ratio.coverage(), 1e-12);
        assertEquals("ahead", ratio.verdict());
    }

    @Test
    void verdictNeedsTheWholeIntervalOnOneSide() {
        assertEquals("ahead", Ratio.of(List.of(1.01, 1.02, 1.03, 1.04, 1.05)).verdict());
        assertEquals("level", Ratio.of(List.of(1.0, 1.02, 1.03, 1.04, 1.05)).verdict());
        assertEquals("level", Ratio.of(List.of(0.95, 0.96, 0.97, 0.98, 1.0)).verdict());
        assertEquals("behind", Ratio.of(List.of(0.95, 0.96, 0.97, 0.98, 0.99)).verdict());
    }

    @Test
    void fewerThanFiveRoundsDecideNothing() {
        assertEquals("", Ratio.of(List.of(2.0, 2.1, 2.2, 2.3)).verdict());
        assertEquals("2.00 to 2.30", Ratio.of(List.of(2.0, 2.1, 2.2, 2.3)).interval("%.2f"));
        assertEquals("", Ratio.of(List.of(2.0)).interval("%.2f"));
        assertEquals("", Ratio.of(List.of()).verdict());
    }

    /**
     * Equal speeds are judged unequal only as rarely as the coverage states, also for a skewed distribution, since
     * delays only add time.
     */
    @Test
    void equalThingsAreRarelyCalledUnequal() {
        Random random = new Random(7);
        int trials = 4000;
        int wrong = 0;
        for (int trial = 0; trial < trials; trial++) {
            List<Double> ratios = new ArrayList<>();
            for (int round = 0; round < 5; round++) {
                double one = 1 - 0.2 * Math.log(1 - random.nextDouble());
                double other = 1 - 0.2 * Math.log(1 - random.nextDouble());
                ratios.add(one / other);
            }
            Collections.shuffle(ratios, random);
            wrong += Ratio.of(ratios).verdict().equals("level") ? 0 : 1;
        }
        double expected = 0.0625 * trials;
        double deviation = Math.sqrt(trials * 0.0625 * 0.9375);
        assertTrue(
                Math.abs(wrong - expected) < 4 * deviation, wrong + " of " + trials + "; expected about " + expected);
    }
}
