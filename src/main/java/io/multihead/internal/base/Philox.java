package io.multihead.internal.base;

/**
 * The counter-based generator Philox4x32 with ten rounds (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3").
 * Its numbers depend only on seed and counter, so backward draws the numbers of forward again instead of storing them.
 */
public final class Philox {
    private static final int ROUNDS = 10;
    private static final long M0 = 0xd2511f53L;
    private static final long M1 = 0xcd9e8d57L;
    private static final int W0 = 0x9e3779b9;
    private static final int W1 = 0xbb67ae85;
    private static final long LOW = 0xffffffffL;

    private Philox() {}

    /** Writes the four words of one counter, whose first two words are in {@code low} and last two in {@code high}. */
    public static void draw(long seed, long low, long high, int[] words) {
        int x0 = (int) low;
        int x1 = (int) (low >>> 32);
        int x2 = (int) high;
        int x3 = (int) (high >>> 32);
        int k0 = (int) seed;
        int k1 = (int) (seed >>> 32);
        for (int round = 0; round < ROUNDS; round++) {
            long p0 = M0 * (x0 & LOW);
            long p1 = M1 * (x2 & LOW);
            x0 = (int) (p1 >>> 32) ^ x1 ^ k0;
            x1 = (int) p1;
            x2 = (int) (p0 >>> 32) ^ x3 ^ k1;
            x3 = (int) p0;
            k0 += W0;
            k1 += W1;
        }
        words[0] = x0;
        words[1] = x1;
        words[2] = x2;
        words[3] = x3;
    }

    /** Returns the threshold of a rate: an element is dropped if its word, unsigned, is below it. */
    public static long threshold(double rate) {
        return Math.round(rate * 0x1p32);
    }

    /** Returns the factor of the elements that are kept: {@code 1 / (1 - rate)}; 0 if all are dropped. */
    public static float kept(double rate) {
        return rate >= 1 ? 0f : (float) (1 / (1 - rate));
    }

    /** Returns whether the element with this word is dropped. */
    public static boolean drops(int word, long threshold) {
        return (word & LOW) < threshold;
    }

    /**
     * Multiplies consecutive elements by their dropout factor, 0 or {@link #kept}. Element {@code e} uses word
     * {@code e % 4} of the counter {@code e / 4}.
     *
     * @param first index of the first element
     * @param high the counter's last two words
     * @param words buffer for four words
     */
    public static void drop(
            float[] row, int at, int length, long first, long high, long seed, double rate, int[] words) {
        long threshold = threshold(rate);
        float kept = kept(rate);
        for (int i = 0; i < length; i++) {
            int word = (int) ((first + i) & 3);
            if (i == 0 || word == 0) {
                draw(seed, (first + i) >>> 2, high, words);
            }
            row[at + i] = drops(words[word], threshold) ? 0f : row[at + i] * kept;
        }
    }
}
