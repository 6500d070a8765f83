package io.multihead.attention;

import io.multihead.internal.base.Checks;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Changes of scores, in addition to masks. The order is as follows: the scaled score is capped, the linear bias is added, the biases of the
 * mask are added, and the modifier is applied last. Sinks enter the denominator only. Backward supports all options except the modifier,
 * whose derivative is unknown.
 *
 * @param softCap the cap of {@code cap tanh(score / cap)} (Gemma 2); 0 for none
 * @param slopes one per query head: {@code slope (key - position)} is added (ALiBi, Press et al. 2022), where {@link Mask} defines the position of a
 *     query: bottom-right, with key lengths, or from {@link Mask#queryOffset}; null for none
 * @param sinks one per query head: the score of a key without value (GPT-OSS), which counts in log-sum-exp too; null for none
 * @param modifier a function of single scores, which is slower than the other options; null for none
 */
@SuppressWarnings("ArrayRecordComponent") // copied in and out, and never compared by the library
public record ScoreOptions(
        double softCap,
        float @Nullable [] slopes,
        float @Nullable [] sinks,
        @Nullable ScoreModifier modifier) {
    /** No changes. */
    public static final ScoreOptions NONE = new ScoreOptions(0, null, null, null);

    /**
     * Copies and checks the parts.
     *
     * @throws IllegalArgumentException if the cap is negative or not finite, a slope is not finite, or a sink is NaN or plus infinity
     */
    public ScoreOptions {
        if (!(softCap == 0 || softCap >= Float.MIN_NORMAL && softCap <= Float.MAX_VALUE)) {
            throw Checks.fail("softCap", String.valueOf(softCap), "expected a normal f32 above 0, or 0 for none");
        }
        slopes = slopes == null ? null : slopes.clone();
        sinks = sinks == null ? null : sinks.clone();
        requireNumbers(slopes, "slopes", false);
        requireNumbers(sinks, "sinks", true);
    }

    /** {@return the linear biases, or null} */
    @Override
    public float @Nullable [] slopes() {
        return slopes == null ? null : slopes.clone();
    }

    /** {@return the sinks, or null} */
    @Override
    public float @Nullable [] sinks() {
        return sinks == null ? null : sinks.clone();
    }

    /**
     * {@return these options with a cap}
     *
     * @param newSoftCap the largest absolute score; 0 for none
     */
    public ScoreOptions withSoftCap(double newSoftCap) {
        return new ScoreOptions(newSoftCap, slopes, sinks, modifier);
    }

    /**
     * {@return these options with linear biases}
     *
     * @param newSlopes one per query head, such as from {@code io.multihead.position.Alibi}
     */
    public ScoreOptions withSlopes(float @Nullable ... newSlopes) {
        return new ScoreOptions(softCap, newSlopes, sinks, modifier);
    }

    /**
     * {@return these options with sinks}
     *
     * @param newSinks one per query head
     */
    public ScoreOptions withSinks(float @Nullable ... newSinks) {
        return new ScoreOptions(softCap, slopes, newSinks, modifier);
    }

    /**
     * {@return these options with a modifier}
     *
     * @param newModifier changes single scores; null for none
     */
    public ScoreOptions withModifier(@Nullable ScoreModifier newModifier) {
        return new ScoreOptions(softCap, slopes, sinks, newModifier);
    }

    /** Returns these options for some of the query heads, in the order given. */
    ScoreOptions selectHeads(int... heads) {
        if (modifier != null) {
            throw Checks.fail("modifier", "given", "expected none, as it would see other head indices");
        }
        return new ScoreOptions(softCap, select(slopes, heads), select(sinks, heads), null);
    }

    private static float @Nullable [] select(float @Nullable [] all, int... heads) {
        if (all == null) {
            return null;
        }
        float[] some = new float[heads.length];
        for (int i = 0; i < heads.length; i++) {
            some[i] = all[(int) Checks.index(heads[i], all.length, "heads")];
        }
        return some;
    }

    /** Returns the array itself, which must not be changed. */
    float @Nullable [] sharedSlopes() {
        return slopes;
    }

    float @Nullable [] sharedSinks() {
        return sinks;
    }

    /** Returns whether any option changes scores, and not only the denominator. */
    boolean changesScores() {
        return softCap != 0 || slopes != null || modifier != null;
    }

    boolean isNone() {
        return !changesScores() && sinks == null;
    }

    void requireHeads(long heads) {
        requireHeads(slopes, "slopes", heads);
        requireHeads(sinks, "sinks", heads);
    }

    private static void requireHeads(float @Nullable [] values, String argument, long heads) {
        if (values != null && values.length != heads) {
            throw Checks.fail(argument, values.length + " values", "expected one per query head of " + heads);
        }
    }

    private static void requireNumbers(float @Nullable [] values, String argument, boolean minusInfinity) {
        for (int i = 0; values != null && i < values.length; i++) {
            if (!Float.isFinite(values[i]) && !(minusInfinity && values[i] == Float.NEGATIVE_INFINITY)) {
                throw Checks.fail(argument, Arrays.toString(values), "expected finite numbers");
            }
        }
    }
}
