package io.multihead.gemm;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.multihead.compute.Compute;
import io.multihead.support.WarmCalls;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.Arrays;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The results of MaxSim for known numbers, its errors and its allocations. */
class MaxSimTest {
    private static final Compute SERIAL = Compute.serial();

    private final Tensor query = Tensor.of(new float[] {1, 0, 0, 2}, 2, 2);
    private final Tensor tokens = Tensor.of(new float[] {3, 4, 5, 1, -1, -2}, 3, 2);
    private final float[] scores = {7, 7};

    private Tensor to() {
        return Tensor.of(scores, scores.length);
    }

    @Test
    void eachTokenOfTheQueryTakesItsBestProduct() {
        MaxSim.scores(SERIAL, query, tokens, new long[] {0, 2, 3}, to());
        assertArrayEquals(new float[] {5 + 8, -1 - 4}, scores);
    }

    @Test
    void noPassagesHaveNoScores() {
        MaxSim.scores(SERIAL, query, tokens.slice(0, 0, 0), new long[] {0}, Tensor.of(new float[0], 0));
    }

    @Test
    void notANumberStaysInItsPassage() {
        Tensor bad = Tensor.of(new float[] {3, 4, Float.NaN, 1, -1, -2}, 3, 2);
        MaxSim.scores(SERIAL, query, bad, new long[] {0, 2, 3}, to());
        assertArrayEquals(new float[] {Float.NaN, -1 - 4}, scores);
        Tensor infinite = Tensor.of(new float[] {3, 4, Float.NEGATIVE_INFINITY, 1, -1, -2}, 3, 2);
        MaxSim.scores(SERIAL, query, infinite, new long[] {0, 2, 3}, to());
        // 0 times infinity is NaN
        assertArrayEquals(new float[] {Float.NaN, -1 - 4}, scores);
    }

    @Test
    void whatDoesNotFitIsNamedAndNothingIsWritten() {
        long[] offsets = {0, 2, 3};
        assertFails("query: shape [2]; expected [tokens, dim]", Tensor.of(new float[2], 2), tokens, offsets, to());
        assertFails(
                "query: shape [0, 2]; expected 1 to 4194304 elements",
                Tensor.of(new float[0], 0, 2),
                tokens,
                offsets,
                to());
        assertFails(
                "tokens: shape [2, 3]; expected vectors of 2 elements, as in query [2, 2]",
                query,
                Tensor.of(new float[6], 2, 3),
                offsets,
                to());
        assertFails("offsets: empty; expected 0 as the first", query, tokens, new long[0], to());
        assertFails("offsets: 1 first; expected 0 as the first", query, tokens, new long[] {1, 2, 3}, to());
        assertFails(
                "offsets[2]: 2; expected more than 2, where passage 1 begins",
                query,
                tokens,
                new long[] {0, 2, 2},
                to());
        assertFails("offsets: 4 last; expected 3, as in tokens [3, 2]", query, tokens, new long[] {0, 2, 4}, to());
        assertFails(
                "scores: shape [3]; expected [2], as in offsets", query, tokens, offsets, Tensor.of(new float[3], 3));
        Tensor shared = Tensor.of(new float[8], 8);
        assertFails(
                "scores: F32 [2] overlaps query; expected separate memory",
                shared.slice(0, 0, 4).reshape(2, 2),
                tokens,
                offsets,
                shared.slice(0, 2, 4));
        assertArrayEquals(new float[] {7, 7}, scores);
    }

    private static void assertFails(String message, Tensor query, Tensor tokens, long[] offsets, Tensor scores) {
        String actual = assertThrows(
                        IllegalArgumentException.class, () -> MaxSim.scores(SERIAL, query, tokens, offsets, scores))
                .getMessage();
        assertEquals(message, actual);
    }

    @Test
    void warmCallsAllocateNothing() {
        long[] offsets = {0, 40, 300, 301};
        Tensor left = random(32, 128, 1);
        Tensor right = random(301, 128, 2);
        Tensor three = Tensor.of(new float[3], 3);
        assertEquals(0, WarmCalls.allocatedBytes(() -> MaxSim.scores(SERIAL, left, right, offsets, three)));
        try (Arena arena = Arena.ofShared()) {
            Tensor narrow = Tensor.allocate(arena, DType.BF16, right.shape());
            right.copyTo(narrow);
            assertEquals(0, WarmCalls.allocatedBytes(() -> MaxSim.scores(SERIAL, left, narrow, offsets, three)));
        }
    }

    /** The hash is the same at 128, 256 and 512 bits. It would change with another order of sums in the kernel. */
    @Test
    @Tag("lanes")
    void everyLaneWidthGivesTheSameBits() {
        float[] five = new float[5];
        MaxSim.scores(
                SERIAL,
                random(33, 700, 3),
                random(500, 700, 4),
                new long[] {0, 1, 100, 333, 334, 500},
                Tensor.of(five, 5));
        assertEquals(860796937, Arrays.hashCode(five));
    }

    private static Tensor random(int rows, int columns, long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        float[] values = new float[rows * columns];
        for (int i = 0; i < values.length; i++) {
            values[i] = (float) random.nextGaussian(0.5, 1);
        }
        return Tensor.of(values, rows, columns);
    }
}
