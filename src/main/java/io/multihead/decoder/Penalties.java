package io.multihead.decoder;

import io.multihead.internal.base.Checks;

/**
 * Penalties on the logits of tokens that the session's text already has. The first two count all of its tokens, prompt included. The
 * penalties of generated tokens, as OpenAI defines them, count the tokens generated since the last call that appended something. Immutable.
 *
 * @param repetition divides a positive logit and multiplies another one (Keskar et al. 2019, CTRL, section 4.1); 1 changes none
 * @param presence is subtracted once, however often a token occurs; 0 changes none
 * @param generatedPresence is subtracted once from a token that was generated, however often; 0 changes none
 * @param generatedFrequency is subtracted as often as a token was generated; 0 changes none
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
     * Makes penalties that count all tokens alike, prompt included.
     *
     * @param repetition divides a positive logit and multiplies another one
     * @param presence is subtracted once, however often a token occurs
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

    /** Returns the logit of a token that was generated so often, at least once. */
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
