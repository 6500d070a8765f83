package io.multihead.attention;

import io.multihead.internal.base.Checks;

/**
 * Dropout of attention weights: each weight is dropped with probability {@code rate}, and the others are multiplied by {@code 1 /
 * (1 - rate)} (Srivastava et al. 2014; Vaswani et al. 2017, section 5.4 and its code).
 *
 * <p>Nothing is stored: whether the weight of (batch, head, query, key) is dropped follows from the seed by a counter-based
 * generator (Philox4x32-10, Salmon et al. 2011; counter words: {@code key / 4} low and high, query, batch * heads + head;
 * word {@code key % 4} below {@code rate * 2^32} drops). Therefore backward drops the same weights as forward, on any number of threads.
 *
 * @param rate probability to drop a weight, 0 to 1
 * @param seed any number; use a different one for every training step
 */
public record AttentionDropout(double rate, long seed) {
    /** No dropout. */
    public static final AttentionDropout NONE = new AttentionDropout(0, 0);

    /**
     * Checks the rate.
     *
     * @throws IllegalArgumentException if the rate is not in 0 to 1
     */
    public AttentionDropout {
        Checks.probability(rate, "dropout rate");
    }
}
