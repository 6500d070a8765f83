package io.multihead.decoder;

import java.util.ArrayList;
import java.util.List;

/**
 * A chat as the model reads it: control tokens by name, and texts between them that hold none, whatever their characters. Texts next to
 * each other are one, since a tokenizer splits a text as a whole.
 */
final class ChatPrompt {
    /**
     * A part of the prompt.
     *
     * @param control whether the text is the name of a control token
     */
    record Part(boolean control, String text) {}

    private final List<Part> parts = new ArrayList<>();
    private final StringBuilder text = new StringBuilder();

    ChatPrompt control(String token) {
        endText();
        parts.add(new Part(true, token));
        return this;
    }

    ChatPrompt text(String more) {
        text.append(more);
        return this;
    }

    List<Part> parts() {
        endText();
        return List.copyOf(parts);
    }

    private void endText() {
        if (!text.isEmpty()) {
            parts.add(new Part(false, text.toString()));
            text.setLength(0);
        }
    }

    /** Returns the text of the prompt with control tokens by name, as the model's own template renders it. */
    String rendered() {
        StringBuilder all = new StringBuilder();
        parts().forEach(part -> all.append(part.text()));
        return all.toString();
    }
}
