package io.multihead.text;

import java.util.LinkedHashSet;
import java.util.Set;

/** Tokens that end a turn, a message or a text in the models of the field, whatever a file says of them. */
final class StopTokens {
    private static final Set<String> NAMES = Set.of(
            "<|eot_id|>",
            "<|eom_id|>",
            "<|im_end|>",
            "<|end|>",
            "<|return|>",
            "<|call|>",
            "<end_of_turn>",
            "<eos>",
            "<|endoftext|>",
            "<|end_of_text|>",
            "<\uff5cend\u2581of\u2581sentence\uff5c>");

    private StopTokens() {}

    static boolean isOne(String token) {
        return NAMES.contains(token);
    }

    /** Returns the ids of such tokens. */
    static Set<Integer> of(Vocabulary vocabulary) {
        Set<Integer> ids = new LinkedHashSet<>();
        for (int id = 0; id < vocabulary.size(); id++) {
            if (isOne(vocabulary.token(id))) {
                ids.add(id);
            }
        }
        return ids;
    }
}
