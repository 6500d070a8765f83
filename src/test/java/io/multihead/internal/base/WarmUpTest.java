package io.multihead.internal.base;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** Trials are rare and become rarer. Calls without work follow each trial. Only fast trials end the warm-up. */
class WarmUpTest {
    private static final long MILLI = 1_000_000;

    private long now = Long.MAX_VALUE - MILLI; // the clock may overflow
    private long cost = 20_000;
    /** The additional time of the next trial. Later trials do not have it. */
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

    /** The limit for a fast trial is 500 ns and 4 ns for each operation. */
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

    /** Makes the first calls. No trial is among these calls, so a warm-up cannot end during them. */
    private void makeFirstCalls() {
        assertFalse(warmUp.isOver());
        assertEquals(0, trials);
        assertEquals(2048, emptyCalls);
        now += MILLI;
    }

    /** The operands of a trial may have been evicted from all caches since the previous trial. */
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

    /** Without C2, scalars are always faster than vectors. */
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

    /**
     * A machine may be ten times slower, with 15 us instead of 1.5 us. The fraction of the time of scalars is then the
     * same.
     */
    @Test
    void theLimitFollowsTheSpeedOfScalars() {
        cost = 14_000;
        scalarNanos = 1.9;
        trialsIn(3_000); // several hundred trials, enough for a measurement
        scalarNanos = 19;
        long start = now;
        while (!warmUp.isOver()) {
            now += MILLI;
            assertTrue(now - start < 3_000 * MILLI);
        }
        assertEquals(0, warnings);
    }

    /** No measurement uses the time of an interpreted loop, since the first measurement compiles the loop. */
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
