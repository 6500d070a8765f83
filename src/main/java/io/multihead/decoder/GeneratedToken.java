package io.multihead.decoder;

import io.multihead.internal.base.Checks;
import java.util.List;

/**
 * A token of a text. The last one may be an end token, which is no part of the text; with it comes what was held back until then.
 *
 * @param id the token
 * @param text what is certain of the text since the last token: whole code points, and nothing that may be the beginning of a stop text. Texts of
 *     all tokens together are the text, but of one that was canceled or timed out, which may end in what was held back
 * @param logProbability logarithm of the token's probability by the model alone, without temperature and penalties; NaN where the
 *     options do not ask for it
 * @param mostProbable as many of the model's most probable tokens as the options ask for, the most probable one first, those of equal
 *     probability by their ids; fewer where no more have a probability that is a positive f32
 */
public record GeneratedToken(int id, String text, double logProbability, List<TokenProbability> mostProbable) {
    /** Checks that there is a text. */
    public GeneratedToken {
        Checks.notNull(text, "text");
        mostProbable = Checks.noNulls(mostProbable, "mostProbable");
    }

    /**
     * Returns a token without others.
     *
     * @param id the token
     * @param text what is certain of the text since the last token
     * @param logProbability logarithm of its probability, or NaN
     */
    public GeneratedToken(int id, String text, double logProbability) {
        this(id, text, logProbability, List.of());
    }
}
