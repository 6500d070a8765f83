package io.multihead.decoder;

import io.multihead.internal.base.Checks;
import io.multihead.text.Tokenizer;
import java.util.Arrays;
import java.util.List;
import java.util.function.Supplier;

/**
 * Texts and chats as tokens of a model.
 *
 * @param tokenizer of the model
 * @param template of chats, or the error that says why there is none
 * @param vocabulary tokens that the model has
 */
record Prompts(Tokenizer tokenizer, Supplier<ChatTemplate> template, int vocabulary) {
    /** Returns a text's tokens, in which nothing is a control token; those of the first text after the one that begins texts. */
    int[] encode(String text, boolean first) {
        int[] ids = tokenizer.encode(Checks.notNull(text, "text"));
        if (!first || !tokenizer.specialIds().added().begin()) {
            return ids;
        }
        int[] all = new int[ids.length + 1];
        all[0] = tokenizer.specialIds().begin();
        System.arraycopy(ids, 0, all, 1, ids.length);
        return all;
    }

    /** Returns the tokens of a chat, up to where the model answers. */
    int[] encodeChat(List<ChatMessage> messages) {
        return template.get().prompt(messages).parts().stream()
                .map(this::encode)
                .flatMapToInt(Arrays::stream)
                .toArray();
    }

    private int[] encode(ChatPrompt.Part part) {
        if (!part.control()) {
            return tokenizer.encode(part.text());
        }
        int id = tokenizer.find(part.text());
        if (id < 0) {
            throw Checks.fail("chat_template", "control token " + part.text(), "expected one of the vocabulary");
        }
        return new int[] {id};
    }
}
