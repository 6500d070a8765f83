package io.multihead.compute;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Test;

class ComputeTest {
    @Test
    void numbersOfThreadsBeyondReasonAreRefused() {
        for (int threads : new int[] {Integer.MIN_VALUE, -1, 0, 1025, Integer.MAX_VALUE}) {
            assertEquals(
                    "threads: " + threads + "; expected 1 to 1024",
                    assertThrows(IllegalArgumentException.class, () -> Compute.threads(threads))
                            .getMessage());
            assertEquals(
                    "parallelism: " + threads + "; expected 1 to 1024",
                    assertThrows(IllegalArgumentException.class, () -> Compute.on(Runnable::run, threads))
                            .getMessage());
        }
    }
}
