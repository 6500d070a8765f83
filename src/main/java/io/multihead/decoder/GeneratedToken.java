package io.multihead.decoder;

import io.multihead.internal.base.Checks;
import java.util.List;

/**
 * A token of a text. The last one may be an end token, which is not part of the text; it carries the text that was held back until then.
 *
 * @param id the token
 * @param text the completed part of the text since the last token: whole code points, without a possible beginning of a stop sequence. The
 *     texts of all tokens concatenated are the text. A text that was canceled or timed out may also have text that was held back
 * @param logProbability logarithm of the token's probability by the model alone, without temperature and penalties; NaN where the
 *     options do not ask for it
 * @param mostProbable the model's most probable tokens, as many as the options request: the most probable one first, tokens of equal
 *     probability by their ids; fewer if no others have a positive probability in f32
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
     * @param text the completed part of the text since the last token
     * @param logProbability logarithm of its probability, or NaN
     */
    public GeneratedToken(int id, String text, double logProbability) {
        this(id, text, logProbability, List.of());
    }
}
