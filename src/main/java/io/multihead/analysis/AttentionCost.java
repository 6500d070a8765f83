package io.multihead.analysis;

import io.multihead.internal.base.Checks;

/**
 * Operations and bytes of one multi-head self-attention layer, forward, batch 1, without biases. A multiply-add counts as two operations.
 *
 * @param embedDim features of a token, d
 * @param heads number of heads, h, each of {@code d / h} features
 */
public record AttentionCost(long embedDim, long heads) {
    /** Operations of the softmax per score: maximum, subtraction, exponential, sum, division. */
    private static final long SOFTMAX_PER_SCORE = 5;

    /** So that no product of two widths overflows; a weight of this width has 2^58 bytes. */
    private static final long WIDEST = 1L << 28;

    /**
     * Checks the sizes.
     *
     * @throws IllegalArgumentException if a size is below 1 or beyond 2^28, or the heads do not divide the features
     */
    public AttentionCost {
        Checks.atLeast(embedDim, 1, "embedDim");
        if (embedDim > WIDEST) {
            throw Checks.fail("embedDim", String.valueOf(embedDim), "expected at most 2^28");
        }
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
     * {@return the operations of one component}
     *
     * @param component the component
     * @param length tokens, L, at least 0
     */
    public double operations(Component component, long length) {
        Checks.notNull(component, "component");
        Checks.atLeast(length, 0, "length");
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
     * {@return the operations of one component's backward: a projection multiplies twice, for its input and for its weight; tiled attention
     * computes scores and weights a second time (5 multiplications of {@code 2 L^2 d} in total, counted with {@link Component#SCORES} and
     * {@link Component#VALUES}: 3 and 2) and computes the gradient of the softmax}
     *
     * @param component the component
     * @param length tokens, L, at least 0
     */
    public double backwardOperations(Component component, long length) {
        double forward = operations(component, length);
        return switch (component) {
            case PROJECTIONS, OUTPUT, VALUES -> 2 * forward;
            case SCORES -> 3 * forward;
            case SOFTMAX -> 2 * forward;
        };
    }

    /**
     * Returns the bytes that a recorded layer keeps for its backward in f32, beyond input and output: query, key, value and attention of
     * every token, and a log-sum-exp in f64 per head. The number has no term in {@code L^2}.
     *
     * @param length tokens, L, at least 0
     * @return {@code 16 L d + 8 L h}
     */
    public long recordedBytes(long length) {
        return product("length", length, 16 * embedDim + 8 * heads);
    }

    /**
     * Returns the number of parameters: four matrices {@code d x d}, and with biases four vectors of length d, for any number of
     * heads.
     *
     * @param bias whether projections have biases
     * @return {@code 4 d^2}, or {@code 4 d^2 + 4 d}
     */
    public long parameters(boolean bias) {
        return 4 * embedDim * embedDim + (bias ? 4 * embedDim : 0);
    }

    /**
     * Returns the number of parameters of a block's feed-forward network.
     *
     * @param hidden features between its two layers
     * @param bias whether they have biases
     * @return {@code 2 d hidden}, or {@code 2 d hidden + hidden + d}
     */
    public long feedForwardParameters(long hidden, boolean bias) {
        return product("hidden", hidden, 2 * embedDim + (bias ? 1 : 0)) + (bias ? embedDim : 0);
    }

    /**
     * {@return the smallest number of tokens L at which attention itself (scores, softmax, values) costs more than all projections: {@code
     * L > 8 d^2 / (4 d + 5 h)}}
     */
    public long crossover() {
        long linear = 8 * embedDim * embedDim;
        return linear / (4 * embedDim + SOFTMAX_PER_SCORE * heads) + 1;
    }

    /**
     * Returns the bytes of all weight matrices in f32, which materialized attention holds and tiled attention does not.
     *
     * @param length tokens, L, at least 0
     * @return {@code 4 h L^2}
     */
    public long weightBytes(long length) {
        return product("length", length, product("length", length, 4 * heads));
    }

    /** Multiplies a size from the caller, or fails with an error that names it if the product reaches 2^62. */
    private static long product(String argument, long size, long factor) {
        Checks.atLeast(size, 0, argument);
        if (size > 0 && factor > ((1L << 62) - 1) / size) {
            throw Checks.fail(argument, String.valueOf(size), "expected a cost below 2^62");
        }
        return size * factor;
    }
}
