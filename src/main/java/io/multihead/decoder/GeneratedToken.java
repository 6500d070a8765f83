package io.multihead.decoder;

import io.multihead.internal.base.Checks;
import java.util.List;

/**
 * A token of a text. The last token may be an end token. An end token is not part of the text, but carries the text that was held back
 * until then.
 *
 * @param id the token
 * @param text the completed part of the text since the previous token: whole code points, without a possible beginning of a stop sequence.
 *     The concatenated texts of all tokens are the generated text. The result of a canceled or timed-out generation may also contain
 *     held-back text
 * @param logProbability the logarithm of the token's probability in the model, without temperature and penalties; NaN unless the options
 *     request it
 * @param mostProbable the model's most probable tokens, as many as the options request, or fewer if no others have a positive probability
 *     in f32: the most probable token first, and tokens of equal probability in the order of their ids
 */
public record GeneratedToken(int id, String text, double logProbability, List<TokenProbability> mostProbable) {
    /** Checks that the text is present. */
    public GeneratedToken {
        Checks.notNull(text, "text");
        mostProbable = Checks.noNulls(mostProbable, "mostProbable");
    }

    /**
     * Returns a token without a list of probable tokens.
     *
     * @param id the token
     * @param text the completed part of the text since the previous token
     * @param logProbability the logarithm of its probability, or NaN
     */
    public GeneratedToken(int id, String text, double logProbability) {
        this(id, text, logProbability, List.of());
    }
}
