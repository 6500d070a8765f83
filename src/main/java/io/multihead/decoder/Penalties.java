package io.multihead.decoder;

import io.multihead.internal.base.Checks;

/**
 * Penalties on the logits of tokens that are already in the session's text. The first two penalties count all tokens of the text, including
 * the prompt. The penalties of generated tokens, as OpenAI defines them, count the tokens that were generated since the last append.
 * Immutable.
 *
 * @param repetition divides a positive logit and multiplies a negative one (Keskar et al. 2019, CTRL, section 4.1); 1 for no
 *     penalty
 * @param presence is subtracted once from the logit of a token of the text, however often the token occurs; 0 for no penalty
 * @param generatedPresence is subtracted once from the logit of a generated token, however often the token was generated; 0 for no penalty
 * @param generatedFrequency is subtracted once for each time that a token was generated; 0 for no penalty
 */
public record Penalties(double repetition, double presence, double generatedPresence, double generatedFrequency) {
    /** No penalties. */
    public static final Penalties NONE = new Penalties(1, 0);

    /**
     * Checks the numbers.
     *
     * @throws IllegalArgumentException if {@code repetition} is not positive, or a number is not finite
     */
    public Penalties {
        if (!(repetition > 0 && repetition < Double.POSITIVE_INFINITY)) {
            throw Checks.fail("repetition", String.valueOf(repetition), "expected a finite number above 0");
        }
        requireFinite(presence, "presence");
        requireFinite(generatedPresence, "generatedPresence");
        requireFinite(generatedFrequency, "generatedFrequency");
    }

    /**
     * Makes penalties that count all tokens, including the prompt.
     *
     * @param repetition divides a positive logit and multiplies a negative one
     * @param presence is subtracted once from the logit of a token of the text, however often the token occurs
     */
    public Penalties(double repetition, double presence) {
        this(repetition, presence, 0, 0);
    }

    private static void requireFinite(double penalty, String name) {
        if (!Double.isFinite(penalty)) {
            throw Checks.fail(name, String.valueOf(penalty), "expected a finite number");
        }
    }

    /** Returns the logit of a token that the text has. */
    float apply(float logit) {
        double repeated = logit > 0 ? logit / repetition : logit * repetition;
        return (float) (repeated - presence);
    }

    /** Returns the logit of a token that was generated {@code count} times, at least once. */
    float applyGenerated(float logit, int count) {
        return (float) (logit - generatedPresence - count * generatedFrequency);
    }

    boolean countsAll() {
        return repetition != 1 || presence != 0;
    }

    boolean countsGenerated() {
        return generatedPresence != 0 || generatedFrequency != 0;
    }
}
