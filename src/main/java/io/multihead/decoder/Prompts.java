package io.multihead.decoder;

import io.multihead.grammar.TokenVocabulary;
import io.multihead.internal.base.Checks;
import io.multihead.text.Tokenizer;
import java.nio.charset.StandardCharsets;
import java.util.function.Supplier;

/**
 * Converts texts and chats to tokens of a model.
 *
 * @param tokenizer the tokenizer of the model
 * @param template the chat template, or the error that explains why there is none
 * @param vocabulary the number of the model's tokens
 * @param tokens the tokenizer's tokens, in the form that constraints need
 * @param calls the notation in which the model writes calls of tools
 */
record Prompts(
        Tokenizer tokenizer,
        Supplier<ChatTemplate> template,
        int vocabulary,
        Supplier<TokenVocabulary> tokens,
        CallGrammars calls) {
    /** An upper limit of the characters of a mark at the end of a prompt, including white space after the mark. */
    private static final int LONGEST_END = 24;

    /**
     * Returns the tokens of a text, in which nothing is a control token. The tokens of the first text follow the token that begins texts,
     * if the tokenizer adds this token.
     */
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

    /** Returns the last characters of a prompt, with the names of control tokens. */
    String end(TokenList ids) {
        StringBuilder text = new StringBuilder();
        for (int i = ids.size() - 1; i >= 0 && text.length() < LONGEST_END; i--) {
            text.insert(0, new String(tokenizer.pieceBytes(ids.get(i)), StandardCharsets.UTF_8));
        }
        return text.toString();
    }

    /** Returns the tokens of a chat, up to the start of the model's answer. */
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
