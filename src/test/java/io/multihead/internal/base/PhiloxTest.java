package io.multihead.internal.base;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Arrays;
import org.junit.jupiter.api.Test;

class PhiloxTest {
    /** The generator returns its published known answers for ten rounds. */
    @Test
    void drawsThePublishedNumbers() {
        check(0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8);
        check(-1, -1, -1, 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd);
        check(
                0x299f31d0a4093822L,
                0x85a308d3243f6a88L,
                0x0370734413198a2eL,
                0xd16cfe09,
                0x94fdcceb,
                0x5001e420,
                0x24126ea1);
    }

    @Test
    void aRowDrawnInPartsIsTheSameRow() {
        float[] whole = ones(100);
        Philox.drop(whole, 0, 100, 7, 3, 42, 0.4, new int[4]);
        for (int cut = 0; cut <= 100; cut++) {
            float[] parts = ones(100);
            Philox.drop(parts, 0, cut, 7, 3, 42, 0.4, new int[4]);
            Philox.drop(parts, cut, 100 - cut, 7 + cut, 3, 42, 0.4, new int[4]);
            assertArrayEquals(whole, parts);
        }
    }

    @Test
    void theRateIsKept() {
        float[] row = ones(100_000);
        Philox.drop(row, 0, row.length, 0, 0, 1, 0.25, new int[4]);
        long dropped = 0;
        for (float factor : row) {
            dropped += factor == 0 ? 1 : 0;
            assertEquals(factor == 0 ? 0f : (float) (1 / 0.75), factor);
        }
        // binomial: six standard deviations are 6 sqrt(n p (1 - p)) = 822
        assertEquals(25_000, dropped, 822);
    }

    @Test
    void ratesZeroAndOneDropNothingAndEverything() {
        float[] row = ones(64);
        Philox.drop(row, 0, 64, 0, 0, 5, 0, new int[4]);
        assertArrayEquals(ones(64), row);
        Philox.drop(row, 0, 64, 0, 0, 5, 1, new int[4]);
        assertArrayEquals(new float[64], row);
    }

    private static float[] ones(int length) {
        float[] row = new float[length];
        Arrays.fill(row, 1f);
        return row;
    }

    private static void check(long seed, long low, long high, int... expected) {
        int[] words = new int[4];
        Philox.draw(seed, low, high, words);
        assertArrayEquals(expected, words);
    }
}
