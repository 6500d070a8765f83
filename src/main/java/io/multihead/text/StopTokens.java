package io.multihead.text;

import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.Set;

/** Tokens that end a turn, a message or a text in published models, independently of the settings in a file. */
final class StopTokens {
    private static final String MESSAGE_END = "<|end|>";
    /** The end of an answer in harmony, in which {@link #MESSAGE_END} ends a message that another one may follow. */
    private static final Set<String> HARMONY = Set.of("<|return|>", "<|call|>");

    private static final Set<String> NAMES = Set.of(
            "<|eot_id|>",
            "<|eom_id|>",
            "<|im_end|>",
            MESSAGE_END,
            "<|return|>",
            "<|call|>",
            "<end_of_turn>",
            "<start_function_response>",
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
        Set<String> names = new HashSet<>();
        for (int id = 0; id < vocabulary.size(); id++) {
            if (isOne(vocabulary.token(id))) {
                ids.add(id);
                names.add(vocabulary.token(id));
            }
        }
        if (names.containsAll(HARMONY)) {
            ids.removeIf(id -> vocabulary.token(id).equals(MESSAGE_END));
        }
        return ids;
    }
}
