package io.multihead.analysis;

import io.multihead.internal.base.Checks;

/**
 * Counts the operations, bytes and parameters of one multi-head self-attention layer at batch size 1. Operations do not include biases. A
 * multiply-add counts as two operations.
 *
 * @param embedDim features of a token, d
 * @param heads number of heads, h, each of {@code d / h} features
 */
public record AttentionCost(long embedDim, long heads) {
    /** Operations of the softmax per score: maximum, subtraction, exponential, sum, division. */
    private static final long SOFTMAX_PER_SCORE = 5;

    /** The largest width, up to which no product of two widths overflows. A weight matrix of this width has 2^58 bytes. */
    private static final long WIDEST = 1L << 28;

    /**
     * Checks the sizes.
     *
     * @throws IllegalArgumentException if a size is below 1 or beyond 2^28, or {@code heads} does not divide {@code embedDim}
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
     * {@return the operations of one component in the forward pass}
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
     * {@return the operations of one component in the backward pass}. A projection has two multiplications, for the gradients of its input
     * and of its weight. Tiled attention computes scores and weights a second time, and it computes the gradient of the softmax. Of its 5
     * multiplications of {@code 2 L^2 d}, 3 count as {@link Component#SCORES} and 2 as {@link Component#VALUES}.
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
     * Returns the bytes that a recorded layer keeps for its backward pass in f32, in addition to input and output: query, key, value and
     * attention of every token, and a log-sum-exp in f64 per head. The number has no term in {@code L^2}.
     *
     * @param length tokens, L, at least 0
     * @return {@code 16 L d + 8 L h}
     */
    public long recordedBytes(long length) {
        return product("length", length, 16 * embedDim + 8 * heads);
    }

    /**
     * Returns the number of parameters: four matrices {@code d x d} and, with biases, four vectors of length d. The number does not depend
     * on the number of heads.
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
     * @param bias whether the two layers have biases
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
     * Returns the bytes of the attention weights of all heads in f32. Materialized attention holds them in memory, and tiled attention does
     * not.
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
