package io.multihead.decoder;

import io.multihead.internal.base.Checks;

/**
 * What the logits of tokens lose that the session's text already has, prompt included. Immutable.
 *
 * @param repetition divides a positive logit and multiplies another one (Keskar et al. 2019, CTRL, section 4.1); 1 changes none
 * @param presence is subtracted once, however often a token occurs; 0 changes none
 */
public record Penalties(double repetition, double presence) {
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
        if (!Double.isFinite(presence)) {
            throw Checks.fail("presence", String.valueOf(presence), "expected a finite number");
        }
    }

    /** Returns the logit of a token that the text has. */
    float apply(float logit) {
        double repeated = logit > 0 ? logit / repetition : logit * repetition;
        return (float) (repeated - presence);
    }

    boolean isNone() {
        return repetition == 1 && presence == 0;
    }
}
