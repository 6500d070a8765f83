package io.multihead.decoder;

import io.multihead.grammar.TokenVocabulary;
import io.multihead.internal.base.Checks;
import io.multihead.text.Tokenizer;
import java.util.function.Supplier;

/**
 * Texts and chats as tokens of a model.
 *
 * @param tokenizer of the model
 * @param template of chats, or the error that says why there is none
 * @param vocabulary tokens that the model has
 * @param tokens the tokenizer's, as constraints read them
 */
record Prompts(Tokenizer tokenizer, Supplier<ChatTemplate> template, int vocabulary, Supplier<TokenVocabulary> tokens) {
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
    int[] encodeChat(ChatPrompt prompt) {
        ChatTemplate chats = template.get();
        for (String token : chats.controlTokens()) {
            if (tokenizer.find(token) < 0) {
                throw Checks.fail("chat_template", "control token " + token, "expected one of the vocabulary");
            }
        }
        return tokenizer.encode(chats.render(prompt.withDefaults(TemplateVariables.tokens(tokenizer))));
    }
}
