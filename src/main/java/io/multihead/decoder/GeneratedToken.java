package io.multihead.decoder;

import io.multihead.internal.base.Checks;

/**
 * A token of a text. The last one may be an end token, which is no part of the text; with it comes what was held back until then.
 *
 * @param id the token
 * @param text what is certain of the text since the last token: whole code points, and nothing that may be the beginning of a stop text. Texts of
 *     all tokens together are the text, but of one that was cancelled or timed out, which may end in what was held back
 * @param logProbability logarithm of the token's probability by the model alone, without temperature and penalties; NaN where the
 *     options do not ask for it
 */
public record GeneratedToken(int id, String text, double logProbability) {
    /** Checks that there is a text. */
    public GeneratedToken {
        Checks.notNull(text, "text");
    }
}
