package io.multihead.internal.attention;

import io.multihead.internal.base.PerformanceWarnings;
import org.jspecify.annotations.Nullable;

/**
 * The transforms that one call applies to scores and weights in addition to masks: scale, soft-cap, linear biases, sinks, modifier,
 * dropout.
 */
public final class ScoreRule {
    private float scale;
    private float queryFactor;
    private boolean biased;
    private double softCap;
    private float @Nullable [] slopes;
    private float @Nullable [] sinks;
    private @Nullable ScoreFunction modifier;
    private double dropoutRate;
    private long dropoutSeed;

    ScoreRule() {}

    /**
     * Sets the scale.
     *
     * @param newScale any finite number
     * @param newBiased whether the mask adds a bias to scaled scores
     */
    public void bindScale(float newScale, boolean newBiased) {
        scale = newScale == 0f ? 1f : Math.abs(newScale);
        queryFactor = Math.signum(newScale);
        biased = newBiased;
    }

    /** Sets the changes of scores; the arrays are shared and must not change while the call runs. */
    public void bindTransforms(
            double newSoftCap,
            float @Nullable [] newSlopes,
            float @Nullable [] newSinks,
            @Nullable ScoreFunction newModifier) {
        softCap = newSoftCap;
        slopes = newSlopes;
        sinks = newSinks;
        modifier = newModifier;
        if (newModifier != null) {
            PerformanceWarnings.CUSTOM_MODIFIER.warnOnce();
        }
    }

    /** Sets dropout of weights; a rate of 0 drops nothing. */
    public void bindDropout(double rate, long seed) {
        dropoutRate = rate;
        dropoutSeed = seed;
    }

    /** Returns the factor of the scores, above 0; the sign, or a scale of 0, is in {@link #queryFactor}. */
    public float scale() {
        return scale;
    }

    /** Returns -1, 0 or 1, the factor of the queries when they are packed. */
    public float queryFactor() {
        return queryFactor;
    }

    /** Returns whether scores are scaled before another transform, and not in the exponential. */
    public boolean scalesFirst() {
        return biased || softCap != 0 || slopes != null || modifier != null;
    }

    /** Returns the factor that the exponential must still apply to scores. */
    public float exponentScale() {
        return scalesFirst() ? 1f : scale;
    }

    /** Returns the cap of absolute scores, 0 for none. */
    public double softCap() {
        return softCap;
    }

    /** Returns the slopes of the linear biases, one per query head, or null. */
    public float @Nullable [] slopes() {
        return slopes;
    }

    /** Returns the modifier of single scores, or null. */
    public @Nullable ScoreFunction modifier() {
        return modifier;
    }

    /** Returns the score of a head's sink, a key without value; minus infinity for none. */
    public float sink(long head) {
        return sinks == null ? Float.NEGATIVE_INFINITY : sinks[(int) head];
    }

    /** Returns whether weights are dropped. */
    public boolean drops() {
        return dropoutRate > 0;
    }

    /** Returns the probability that a weight is dropped. */
    public double dropoutRate() {
        return dropoutRate;
    }

    public long dropoutSeed() {
        return dropoutSeed;
    }

    void clear() {
        slopes = null;
        sinks = null;
        modifier = null;
    }
}
