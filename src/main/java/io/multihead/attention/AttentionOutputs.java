package io.multihead.attention;

import io.multihead.internal.base.Checks;
import io.multihead.tensor.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * The tensors to which attention writes its results. The caller owns all memory; no two of the tensors may overlap.
 *
 * @param output {@code [batch, queryHeads, queries, valueDim]}
 * @param logSumExp {@code [batch, queryHeads, queries]}: the natural logarithm of the softmax denominator, minus infinity
 *     for a query that sees no key; null when not wanted
 * @param weights {@code [batch, queryHeads, queries, keys]}: the softmax itself, which makes attention hold
 *     all scores of a task at once; where sequences differ in length, keys are {@link KeyValueView#maxKeys} and those beyond a sequence
 *     have weight 0; null when not wanted
 */
public record AttentionOutputs(
        Tensor output, @Nullable Tensor logSumExp, @Nullable Tensor weights) {
    /** Checks that there is an output. */
    public AttentionOutputs {
        Checks.notNull(output, "output");
    }

    /**
     * Returns the attention output alone.
     *
     * @param output {@code [batch, queryHeads, queries, valueDim]}
     * @return outputs without log-sum-exp and weights
     */
    public static AttentionOutputs of(Tensor output) {
        return new AttentionOutputs(output, null, null);
    }

    /**
     * {@return these outputs with log-sum-exp}
     *
     * @param tensor {@code [batch, queryHeads, queries]}, or null for none
     */
    public AttentionOutputs withLogSumExp(@Nullable Tensor tensor) {
        return new AttentionOutputs(output, tensor, weights);
    }

    /**
     * {@return these outputs with attention weights}
     *
     * @param tensor {@code [batch, queryHeads, queries, keys]}, or null for none
     */
    public AttentionOutputs withWeights(@Nullable Tensor tensor) {
        return new AttentionOutputs(output, logSumExp, tensor);
    }
}
