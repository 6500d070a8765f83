package io.multihead.reference;

import io.multihead.internal.base.Checks;

/** The dropout factor of each attention weight. */
@FunctionalInterface
public interface ReferenceDropout {
    /** No dropout: every factor is 1. */
    ReferenceDropout NONE = (batchHead, query, key) -> 1;

    /**
     * Returns the factor of a weight.
     *
     * @param batchHead {@code batch * heads + head}
     * @param query query index
     * @param key key index
     * @return 0, or a number above 0
     */
    double factor(long batchHead, long query, long key);

    /**
     * Returns factors that drop with a probability, drawn with Philox4x32-10 (Salmon et al. 2011). The words of the
     * counter are the low and high words of {@code key / 4}, the query, and {@code batchHead}. A weight is dropped if
     * word {@code key % 4}, unsigned, is below {@code rate * 2^32}.
     *
     * @param rate probability to drop
     * @param seed the generator's key, low word first
     * @return the factors: 0, or {@code 1 / (1 - rate)} rounded to f32
     * @throws IllegalArgumentException if the rate is not in 0 to 1
     */
    static ReferenceDropout philox(double rate, long seed) {
        Checks.probability(rate, "rate");
        double kept = rate == 1 ? 0 : (float) (1 / (1 - rate));
        return (batchHead, query, key) -> {
            Checks.atLeast(key, 0, "key");
            long[] counter = {key / 4 & 0xffffffffL, key / 4 >>> 32, query & 0xffffffffL, batchHead & 0xffffffffL};
            long word = philox(counter, seed & 0xffffffffL, seed >>> 32)[(int) (key % 4)];
            return word < Math.round(rate * 0x1p32) ? 0 : kept;
        };
    }

    /** Computes ten rounds over four words of 32 bits, each held in a long. */
    private static long[] philox(long[] counter, long keyLow, long keyHigh) {
        long[] x = counter;
        for (int round = 0; round < 10; round++) {
            long low = keyLow + round * 0x9e3779b9L & 0xffffffffL;
            long high = keyHigh + round * 0xbb67ae85L & 0xffffffffL;
            long even = 0xd2511f53L * x[0];
            long odd = 0xcd9e8d57L * x[2];
            x = new long[] {odd >>> 32 ^ x[1] ^ low, odd & 0xffffffffL, even >>> 32 ^ x[3] ^ high, even & 0xffffffffL};
        }
        return x;
    }
}
