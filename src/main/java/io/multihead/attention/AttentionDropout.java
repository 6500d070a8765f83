package io.multihead.attention;

import io.multihead.internal.base.Checks;

/**
 * Dropout of attention weights: each weight is dropped with probability {@code rate}, and the others are multiplied by {@code 1 /
 * (1 - rate)} (Srivastava et al. 2014; Vaswani et al. 2017, section 5.4 and its code).
 *
 * <p>No mask is stored. A counter-based generator determines from the seed whether the weight of (batch, head, query, key) is dropped
 * (Philox4x32-10, Salmon et al. 2011). The words of the counter are {@code key / 4} low and high, query, and batch * heads + head. The
 * weight is dropped if word {@code key % 4} of the result is below {@code rate * 2^32}. Therefore backward drops the same weights as
 * forward, on any number of threads.
 *
 * @param rate the probability that a weight is dropped, 0 to 1
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
