package io.multihead.decoder;

import java.util.ArrayList;
import java.util.List;

/** The class of docs/reference/chat.md. */
final class Window {
    private Window() {}

    /** Returns the newest messages that have at most a number of tokens together, with the system message if there is one. */
    static List<ChatMessage> of(LanguageModel model, List<ChatMessage> chat, int tokens) {
        List<ChatMessage> kept = new ArrayList<>(ChatTurns.of(chat));
        int first = kept.getFirst().role() == ChatMessage.Role.SYSTEM ? 1 : 0;
        while (kept.size() > first + 1 && count(model, kept) > tokens) {
            do {
                kept.remove(first); // a question, and what follows until the next question
            } while (kept.size() > first + 1 && kept.get(first).role() != ChatMessage.Role.USER);
        }
        return kept;
    }

    private static int count(LanguageModel model, List<ChatMessage> chat) {
        return model.tokenizer().encode(model.chatTemplate().render(ChatPrompt.of(chat))).length;
    }
}
