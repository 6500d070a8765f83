package io.multihead.attention;

import io.multihead.internal.base.Checks;
import io.multihead.tensor.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * The tensors to which attention writes its results. The caller owns all memory; no two of the tensors may overlap.
 *
 * @param output {@code [batch, queryHeads, queries, valueDim]}
 * @param logSumExp {@code [batch, queryHeads, queries]}: the natural logarithm of the softmax denominator, minus infinity
 *     for a query that sees no key, or its sink if there are sinks; null if not needed
 * @param weights {@code [batch, queryHeads, queries, keys]}: the softmax, for which attention holds all scores of a task at once. If
 *     sequences differ in length, the key axis has {@link KeyValueView#maxKeys} elements, and keys beyond a sequence have weight 0. Null if
 *     not needed
 * @param scores the scores at a stage before or after the softmax, for which attention also holds all scores of a task;
 *     null if not needed
 */
public record AttentionOutputs(
        Tensor output,
        @Nullable Tensor logSumExp,
        @Nullable Tensor weights,
        @Nullable AttentionScores scores) {
    /** Checks that there is an output. */
    public AttentionOutputs {
        Checks.notNull(output, "output");
    }

    /**
     * Returns outputs without scores.
     *
     * @param output {@code [batch, queryHeads, queries, valueDim]}
     * @param logSumExp {@code [batch, queryHeads, queries]}, or null for none
     * @param weights {@code [batch, queryHeads, queries, keys]}, or null for none
     */
    public AttentionOutputs(Tensor output, @Nullable Tensor logSumExp, @Nullable Tensor weights) {
        this(output, logSumExp, weights, null);
    }

    /**
     * Returns outputs with only the attention output.
     *
     * @param output {@code [batch, queryHeads, queries, valueDim]}
     * @return outputs without log-sum-exp and weights
     */
    public static AttentionOutputs of(Tensor output) {
        return new AttentionOutputs(output, null, null, null);
    }

    /**
     * {@return these outputs with log-sum-exp}
     *
     * @param tensor {@code [batch, queryHeads, queries]}, or null for none
     */
    public AttentionOutputs withLogSumExp(@Nullable Tensor tensor) {
        return new AttentionOutputs(output, tensor, weights, scores);
    }

    /**
     * {@return these outputs with attention weights}
     *
     * @param tensor {@code [batch, queryHeads, queries, keys]}, or null for none
     */
    public AttentionOutputs withWeights(@Nullable Tensor tensor) {
        return new AttentionOutputs(output, logSumExp, tensor, scores);
    }

    /**
     * {@return these outputs with scores at a stage that the caller chooses, for studying and testing models}. Attention is slower with
     * scores, since all scores of up to 192 query rows are held, as for weights. For the stages before the mask, queries and keys are
     * multiplied a second time, since hidden keys have scores at these stages. The output has the same bits as a call with weights.
     *
     * <p>If sequences differ in length, the key axis has {@link KeyValueView#maxKeys} elements. {@link ScoreStage} describes the values of
     * keys that are hidden or do not exist. Scores beyond the range of a narrow element type become infinite.
     *
     * @param tensor {@code [batch, queryHeads, queries, keys]}, any floating-point type and strides, written
     * @param stage the stage at which the scores are read
     */
    public AttentionOutputs withScores(Tensor tensor, ScoreStage stage) {
        return new AttentionOutputs(output, logSumExp, weights, new AttentionScores(tensor, stage));
    }
}
