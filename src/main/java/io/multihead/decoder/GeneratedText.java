package io.multihead.decoder;

import io.multihead.internal.base.Checks;
import java.util.List;

/**
 * A generated text. Immutable.
 *
 * @param text the text, without an end token and without a stop sequence
 * @param tokens the tokens of the text, including tokens of a stop sequence and an end token
 * @param finish the reason why the text ended
 * @param promptTokens the number of tokens of the session before the text
 */
public record GeneratedText(String text, List<GeneratedToken> tokens, FinishReason finish, int promptTokens) {
    /** Checks that nothing is missing, and copies the list. */
    public GeneratedText {
        Checks.notNull(text, "text");
        tokens = Checks.noNulls(tokens, "tokens");
        Checks.notNull(finish, "finish");
        Checks.atLeast(promptTokens, 0, "promptTokens");
    }
}
