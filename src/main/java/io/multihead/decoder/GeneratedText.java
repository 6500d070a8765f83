package io.multihead.decoder;

import io.multihead.internal.base.Checks;
import java.util.List;

/**
 * A text that was generated. Immutable.
 *
 * @param text the text, without an end token and without a stop sequence
 * @param tokens its tokens, including tokens of a stop sequence and an end token
 * @param finish why it ended
 * @param promptTokens tokens that the session had before it
 */
public record GeneratedText(String text, List<GeneratedToken> tokens, FinishReason finish, int promptTokens) {
    /** Checks that all parts are there, and copies the list. */
    public GeneratedText {
        Checks.notNull(text, "text");
        tokens = Checks.noNulls(tokens, "tokens");
        Checks.notNull(finish, "finish");
        Checks.atLeast(promptTokens, 0, "promptTokens");
    }
}
