package io.multihead.position;

import io.multihead.internal.base.Checks;

/**
 * Attention with linear biases (Press et al. 2022): head {@code h} adds {@code slope_h * (j - p)} to the scaled score of key
 * {@code j} and the query at position {@code p}.
 */
public final class Alibi {
    private static final int MOST_HEADS = 1 << 20;

    private Alibi() {}

    /**
     * Returns the slopes of the paper's section 3: {@code 2^(-8 (h + 1) / heads)} for a power of two. Other numbers have, as
     * in the authors' code, the slopes for the next smaller power of two, then every second slope, from the first, for the
     * next larger power of two.
     *
     * @param heads number of query heads, 1 to 2^20
     * @return one slope per head, each the f32 nearest to the exact one, as a new array
     * @throws IllegalArgumentException if the number is out of range
     */
    public static float[] slopes(int heads) {
        if (Checks.atLeast(heads, 1, "heads") > MOST_HEADS) {
            throw Checks.fail("heads", String.valueOf(heads), "expected at most " + MOST_HEADS);
        }
        float[] slopes = new float[heads];
        int power = Integer.highestOneBit(heads);
        for (int h = 0; h < heads; h++) {
            // the remaining slopes are every second slope for twice as many heads: odd multiples of half a step
            double steps = h < power ? h + 1 : h - power + 0.5;
            slopes[h] = (float) StrictMath.pow(2, -8 * steps / power);
        }
        return slopes;
    }
}
