package io.multihead.text;

import io.multihead.internal.base.JsonObject;
import java.util.ArrayList;
import java.util.List;

/**
 * A token of {@code added_tokens} in a {@code tokenizer.json}.
 *
 * @param token the text to find
 * @param special whether it is a control token
 * @param normalized whether it is found in normalized text
 * @param source its entry in the file, for messages
 */
record JsonAddedTokens(AddedTokens.Token token, boolean special, boolean normalized, JsonObject source) {
    /** Reads all added tokens, whose ids must be at most {@code most}. */
    static List<JsonAddedTokens> read(JsonObject file, int most) {
        List<JsonAddedTokens> tokens = new ArrayList<>();
        for (Object element : file.has("added_tokens") ? file.array("added_tokens") : List.of()) {
            JsonObject source = JsonObject.of("tokenizer.added_tokens", element);
            AddedTokens.Token token = new AddedTokens.Token(
                    source.text("content"),
                    source.integer("id", 0, most),
                    source.flag("single_word", false),
                    source.flag("lstrip", false),
                    source.flag("rstrip", false));
            boolean special = source.flag("special", false);
            tokens.add(new JsonAddedTokens(token, special, source.flag("normalized", false), source));
        }
        return tokens;
    }
}
