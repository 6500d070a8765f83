package io.multihead.text;

import io.multihead.internal.base.Checks;
import io.multihead.internal.base.Json;
import io.multihead.internal.base.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/**
 * What files beside a {@code vocab.txt} say of the tokenizer, as transformers writes them: its normalisation; and what would give other
 * tokens than those of {@code BertTokenizer} with the vocabulary alone, which is an error that names it.
 */
final class VocabularyFolder {
    private static final List<String> BERT = List.of("BertTokenizer", "BertTokenizerFast");
    private static final Map<String, String> NAMES =
            Map.of("cls_token", "[CLS]", "sep_token", "[SEP]", "unk_token", "[UNK]");
    private static final JsonObject NOTHING = new JsonObject("nothing", Map.of());

    private VocabularyFolder() {}

    /** Returns the normalisation: uncased unless the configuration says otherwise, as the reference's {@code BertTokenizer}. */
    static TextNormalization normalization(Path folder) throws IOException {
        JsonObject config = read(folder, "tokenizer_config");
        boolean lowercase = config.flag("do_lower_case", true);
        if (!config.flag("do_basic_tokenize", true)) {
            throw config.fail("do_basic_tokenize", "true");
        }
        return new TextNormalization(
                true, config.flag("tokenize_chinese_chars", true), config.flag("strip_accents", lowercase), lowercase);
    }

    /** Fails if a file names another tokenizer, other special tokens, or tokens that the vocabulary does not have. */
    static void requireBert(Path folder, List<String> vocabulary) throws IOException {
        JsonObject tokenizer = read(folder, "tokenizer_config");
        for (JsonObject config : List.of(tokenizer, read(folder, "config"))) {
            if (config.has("tokenizer_class") && !BERT.contains(config.text("tokenizer_class"))) {
                throw config.fail("tokenizer_class", "one of " + BERT);
            }
        }
        for (JsonObject config : List.of(tokenizer, read(folder, "special_tokens_map"))) {
            NAMES.forEach((member, token) -> {
                if (config.has(member) && !content(config, member).equals(token)) {
                    throw config.fail(member, token);
                }
            });
        }
        if (tokenizer.has("added_tokens_decoder")) {
            JsonObject added = tokenizer.object("added_tokens_decoder");
            for (Object id : added.names()) {
                requireToken(added.name(), vocabulary, content(added, (String) id), (String) id);
            }
        }
        JsonObject added = read(folder, "added_tokens");
        for (Object token : added.names()) {
            requireToken(added.name(), vocabulary, (String) token, String.valueOf(added.get((String) token)));
        }
    }

    /** Returns a token, which is a string or an object with its content. */
    private static String content(JsonObject config, String member) {
        return config.get(member) instanceof Map<?, ?> ? config.object(member).text("content") : config.text(member);
    }

    private static void requireToken(String file, List<String> vocabulary, String token, String id) {
        int at = vocabulary.indexOf(token);
        if (at < 0 || !id.equals(String.valueOf(at))) {
            String actual = at < 0 ? "not in the vocabulary" : "expected the vocabulary's id " + at;
            throw Checks.fail(file, "token \"" + token + "\" with id " + id, actual);
        }
    }

    /** Reads a file of the folder; one that does not exist says nothing. */
    private static JsonObject read(Path folder, String name) throws IOException {
        Path file = folder.resolve(name + ".json");
        return Files.exists(file) ? new JsonObject(name, Json.object(name, Files.readAllBytes(file))) : NOTHING;
    }
}
