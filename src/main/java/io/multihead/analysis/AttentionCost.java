package io.multihead.analysis;

import io.multihead.internal.Checks;

/**
 * Operations and bytes of one multi-head self-attention layer, forward, batch 1, without biases. A multiply-add counts as
 * two operations.
 *
 * @param embedDim features of a token, d
 * @param heads number of heads, h, each of {@code d / h} features
 */
public record AttentionCost(long embedDim, long heads) {
    /** Operations of the softmax per score: maximum, subtraction, exponential, sum, division. */
    private static final long SOFTMAX_PER_SCORE = 5;

    /**
     * Checks the sizes.
     *
     * @throws IllegalArgumentException if a size is below 1 or the heads do not divide the features
     */
    public AttentionCost {
        Checks.atLeast(embedDim, 1, "embedDim");
        Checks.atLeast(heads, 1, "heads");
        if (embedDim % heads != 0) {
            throw Checks.fail("heads", String.valueOf(heads), "expected a divisor of embedDim " + embedDim);
        }
    }

    /** The parts of a layer. */
    public enum Component {
        /** Query, key and value projections: {@code 3 * 2 L d^2}. */
        PROJECTIONS,
        /** Scores {@code Q K^T}: {@code 2 L^2 d}. */
        SCORES,
        /** Softmax: {@code 5 h L^2}. */
        SOFTMAX,
        /** Weights times values: {@code 2 L^2 d}. */
        VALUES,
        /** Output projection: {@code 2 L d^2}. */
        OUTPUT
    }

    /**
     * Operations of one component.
     *
     * @param component which
     * @param length tokens, L
     * @return the number of operations
     */
    public double operations(Component component, long length) {
        double projection = 2.0 * length * embedDim * embedDim;
        double square = (double) length * length;
        return switch (component) {
            case PROJECTIONS -> 3 * projection;
            case SCORES, VALUES -> 2 * square * embedDim;
            case SOFTMAX -> SOFTMAX_PER_SCORE * square * heads;
            case OUTPUT -> projection;
        };
    }

    /**
     * The length from which attention itself (scores, softmax, values) costs more than all projections:
     * {@code L > 8 d^2 / (4 d + 5 h)}.
     *
     * @return the smallest such number of tokens
     */
    public long crossover() {
        long linear = 8 * embedDim * embedDim;
        return linear / (4 * embedDim + SOFTMAX_PER_SCORE * heads) + 1;
    }

    /**
     * Bytes of all weight matrices in f32, which materialised attention holds and tiled attention does not.
     *
     * @param length tokens, L
     * @return {@code 4 h L^2}
     */
    public long weightBytes(long length) {
        return Math.multiplyExact(4 * heads, Math.multiplyExact(length, length));
    }
}
