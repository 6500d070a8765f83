package io.multihead.attention;

import io.multihead.internal.base.Checks;
import io.multihead.tensor.Tensor;

/**
 * A tensor for the scores of attention, and the stage at which they are read. The caller owns the memory. Immutable; safe to share between
 * threads as long as no two calls write the tensor at the same time.
 *
 * @param tensor {@code [batch, queryHeads, queries, keys]}, any floating-point type and strides
 * @param stage the stage at which the scores are read
 */
public record AttentionScores(Tensor tensor, ScoreStage stage) {
    /** Checks that the tensor and the stage are present. */
    public AttentionScores {
        Checks.notNull(tensor, "scores");
        Checks.notNull(stage, "stage");
    }
}
