package io.multihead.decoder;

import java.util.List;

/**
 * A text that was generated. Immutable.
 *
 * @param text the text, without an end token and without a stop text
 * @param tokens its tokens, those of a stop text and an end token among them
 * @param finish why it ended
 * @param promptTokens tokens that the session had before it
 */
public record GeneratedText(String text, List<GeneratedToken> tokens, FinishReason finish, int promptTokens) {
    /** Copies the list. */
    public GeneratedText {
        tokens = List.copyOf(tokens);
    }
}
