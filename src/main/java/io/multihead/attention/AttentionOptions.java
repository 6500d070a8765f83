package io.multihead.attention;

import io.multihead.internal.base.Checks;
import java.lang.foreign.Arena;
import java.util.OptionalDouble;

/**
 * Options of one call: mask, scale, dropout, and score options. Immutable and thread-safe.
 *
 * @param mask the keys that a query may attend to, and biases of their scores
 * @param scale the factor of all scores; empty means {@code 1 / sqrt(headDim)} (Vaswani et al. 2017, section 3.2.1)
 * @param dropout dropout of weights, which does not affect log-sum-exp and the returned weights
 * @param scores soft-cap, linear biases, sinks, and a modifier of single scores
 */
public record AttentionOptions(Mask mask, OptionalDouble scale, AttentionDropout dropout, ScoreOptions scores) {
    /** Every query sees every key; scale {@code 1 / sqrt(headDim)}. */
    public static final AttentionOptions DEFAULT =
            new AttentionOptions(Mask.NONE, OptionalDouble.empty(), AttentionDropout.NONE, ScoreOptions.NONE);

    /** Causal, aligned bottom-right like {@link Mask#CAUSAL}; scale {@code 1 / sqrt(headDim)}. */
    public static final AttentionOptions CAUSAL = DEFAULT.withMask(Mask.CAUSAL);

    /**
     * Checks the parts.
     *
     * @throws IllegalArgumentException if the scale is not finite in f32
     */
    public AttentionOptions {
        Checks.notNull(mask, "mask");
        Checks.notNull(scale, "scale");
        Checks.notNull(dropout, "dropout");
        Checks.notNull(scores, "scores");
        if (scale.isPresent() && !Float.isFinite((float) scale.getAsDouble())) {
            boolean finite = Double.isFinite(scale.getAsDouble());
            throw Checks.fail(
                    "scale",
                    String.valueOf(scale.getAsDouble()),
                    finite ? "expected a number that f32 can hold" : "expected a finite number");
        }
    }

    /**
     * {@return these options with another mask}
     *
     * @param newMask the mask
     */
    public AttentionOptions withMask(Mask newMask) {
        return new AttentionOptions(newMask, scale, dropout, scores);
    }

    /**
     * {@return these options with another scale}
     *
     * @param newScale the factor of all scores
     * @throws IllegalArgumentException if the scale is not finite in f32
     */
    public AttentionOptions withScale(double newScale) {
        return new AttentionOptions(mask, OptionalDouble.of(newScale), dropout, scores);
    }

    /**
     * {@return these options with dropout of attention weights}
     *
     * @param newDropout rate and seed
     */
    public AttentionOptions withDropout(AttentionDropout newDropout) {
        return new AttentionOptions(mask, scale, newDropout, scores);
    }

    /**
     * {@return these options with other score options}
     *
     * @param newScores soft-cap, linear biases, sinks, and a modifier of single scores
     */
    public AttentionOptions withScores(ScoreOptions newScores) {
        return new AttentionOptions(mask, scale, dropout, newScores);
    }

    /**
     * Returns these options for some of the query heads. The result has the slopes and sinks of these heads, and copies of the mask tensors
     * that have an axis of heads, reduced to these heads. Everything else is shared.
     *
     * @param arena owns the copies
     * @param heads the numbers of the heads, in the desired order
     * @return options of a call with that number of query heads
     * @throws IllegalArgumentException if slopes, sinks or a tensor have no such head, or there is a modifier, which would see other
     *     head indices
     */
    public AttentionOptions selectHeads(Arena arena, int... heads) {
        Checks.notNull(arena, "arena");
        ScoreOptions selected = scores.selectHeads(Checks.notNull(heads, "heads"));
        mask.requireHeads(heads);
        return withMask(mask.selectHeads(arena, heads)).withScores(selected);
    }

    /**
     * Returns the scale for heads of this size.
     *
     * @param headDim elements of one query
     * @return the explicit scale, or {@code 1 / sqrt(headDim)}
     */
    public double scaleFor(long headDim) {
        return scale.isPresent() ? scale.getAsDouble() : 1.0 / Math.sqrt(Math.max(1, headDim));
    }
}
