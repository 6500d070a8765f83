package io.multihead.internal.gemm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Few calls are trials, and only a fast one ends the warm-up. */
class WarmUpTest {
    @Test
    void fewCallsAreTrials() {
        WarmUp warmUp = new WarmUp();
        assertEquals(500, trials(warmUp, 2000));
    }

    @Test
    void manyCallsEndIt() {
        WarmUp warmUp = new WarmUp();
        trials(warmUp, 1 << 15);
        assertFalse(warmUp.isOver());
        trials(warmUp, 1);
        assertTrue(warmUp.isOver());
    }

    private static long trials(WarmUp warmUp, int calls) {
        return IntStream.range(0, calls).filter(call -> warmUp.isTrial()).count();
    }

    @Test
    void aFastTrialEndsIt() {
        WarmUp warmUp = new WarmUp();
        // a tile of six rows with boxed vectors, and one of a single multiply-add
        warmUp.record(700_000, 6 * 32 * 256);
        warmUp.record(2_000, 32);
        assertFalse(warmUp.isOver());
        warmUp.record(1_200, 6 * 32 * 256);
        assertTrue(warmUp.isOver());
        warmUp.record(700_000, 6 * 32 * 256);
        assertTrue(warmUp.isOver());
    }
}
