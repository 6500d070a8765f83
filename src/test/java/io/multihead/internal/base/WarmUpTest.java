package io.multihead.internal.base;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** Trials are rare and become rarer, calls without work follow each of them, and only fast ones end the warm-up. */
class WarmUpTest {
    private static final long MILLI = 1_000_000;

    private long now = Long.MAX_VALUE - MILLI; // the clock may overflow
    private long cost = 20_000;
    /** The additional time of the next trial, once. */
    private long misses;

    private int trials;
    private int emptyCalls;
    private double scalarNanos = 1.9;
    private int warnings;

    private final WarmUp warmUp = new WarmUp(
            new WarmUp.Trial() {
                @Override
                public int operations() {
                    return 250;
                }

                @Override
                public void run(int lengthFactor, int calls) {
                    if (lengthFactor < 0) {
                        emptyCalls += calls;
                        return;
                    }
                    trials += calls;
                    now += calls * (cost + misses);
                    misses = 0;
                }
            },
            () -> now,
            () -> scalarNanos,
            () -> warnings++);

    @Test
    void trialsBecomeRarer() {
        int first = trialsIn(10);
        assertEquals(8, first); // at 0.25, 0.75, 1.5, 2.5, 3.75, 5.25, 7 and 9 ms, after empty calls
        trialsIn(200);
        int last = trialsIn(100);
        assertEquals(20, last); // every 5 ms
        assertEquals(2048 + 64 * trials, emptyCalls);
    }

    private int trialsIn(int millis) {
        int before = trials;
        long end = now + millis * MILLI;
        while (end - now > 0) {
            assertFalse(warmUp.isOver());
            now += MILLI / 100;
        }
        return trials - before;
    }

    /** 500 ns and 4 for each operation. */
    @Test
    void onlyAFastTrialEndsIt() {
        cost = 1_500;
        makeFirstCalls();
        assertFalse(warmUp.isOver());
        cost = 1_499;
        assertFalse(warmUp.isOver()); // no trial yet
        assertEquals(2, trials);
        now += MILLI;
        assertTrue(warmUp.isOver());
        assertEquals(3, trials);
        assertEquals(2048 + 64, emptyCalls);
        cost = 20_000;
        now += MILLI;
        assertTrue(warmUp.isOver());
        assertEquals(3, trials);
    }

    /** There is no trial among them, so a warm-up never ends with them. */
    private void makeFirstCalls() {
        assertFalse(warmUp.isOver());
        assertEquals(0, trials);
        assertEquals(2048, emptyCalls);
        now += MILLI;
    }

    /** The numbers of a trial may have left all caches since the one before. */
    @Test
    void aTrialThatIsNotMuchTooSlowIsRepeatedAtOnce() {
        cost = 200;
        misses = 11_799;
        makeFirstCalls();
        assertTrue(warmUp.isOver());
        assertEquals(2, trials);
    }

    @Test
    void aTrialThatIsMuchTooSlowIsNotRepeated() {
        cost = 200;
        misses = 11_800;
        makeFirstCalls();
        assertFalse(warmUp.isOver());
        assertEquals(1, trials);
    }

    /** Without C2 scalars are always faster than vectors. */
    @Test
    void slowTrialsNeverEndIt() {
        assertTrue(trialsIn(100_000) > 19_000);
    }

    @Test
    void aWarmUpThatDoesNotEndIsReportedOnce() {
        trialsIn(19_000);
        assertEquals(0, warnings);
        trialsIn(100_000);
        assertEquals(1, warnings);
    }

    /** Ten times as slow, 15 us instead of 1.5 on other machines, is the same fraction of the time of scalars. */
    @Test
    void theLimitFollowsTheSpeedOfScalars() {
        cost = 14_000;
        scalarNanos = 1.9;
        trialsIn(3_000); // some hundred trials, and so a measurement
        scalarNanos = 19;
        long start = now;
        while (!warmUp.isOver()) {
            now += MILLI;
            assertTrue(now - start < 3_000 * MILLI);
        }
        assertEquals(0, warnings);
    }

    /** The time of an interpreted loop is not taken: the first measurement compiles it. */
    @Test
    void speedOfScalarsIsUnknownAtFirstAndThenThatOfThisMachine() {
        ScalarSpeed.nanos();
        double first = ScalarSpeed.nanos();
        for (int i = 0; i < 50; i++) {
            double next = ScalarSpeed.nanos();
            assertTrue(next > 0 && next <= first, next + " after " + first);
            first = next;
        }
    }
}
