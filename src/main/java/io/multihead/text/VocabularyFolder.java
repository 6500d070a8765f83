package io.multihead.text;

import io.multihead.internal.base.Checks;
import io.multihead.internal.base.Json;
import io.multihead.internal.base.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/**
 * What files beside a {@code vocab.txt} say of the tokenizer, as transformers writes them: its normalisation; and what would give other
 * tokens than those of {@code BertTokenizer} with the vocabulary alone, which is an error that names the file and the member.
 */
final class VocabularyFolder {
    private static final List<String> BERT = List.of("BertTokenizer", "BertTokenizerFast");
    private static final Map<String, String> NAMES =
            Map.of("cls_token", "[CLS]", "sep_token", "[SEP]", "unk_token", "[UNK]");
    private static final int LONGEST_IN_MESSAGES = 100;

    private VocabularyFolder() {}

    /**
     * Returns the normalisation: uncased unless the configuration says otherwise, as the reference's {@code BertTokenizer}. Fails if a file
     * names another tokenizer, other special tokens, or tokens that the vocabulary does not have.
     */
    static TextNormalization normalization(Path folder, List<String> vocabulary) throws IOException {
        TextNormalization normalization = read(folder, "tokenizer_config", config -> {
            requireClass(config);
            requireNames(config);
            requireDecoded(config, vocabulary);
            return normalization(config);
        });
        read(folder, "config", VocabularyFolder::requireClass);
        read(folder, "special_tokens_map", VocabularyFolder::requireNames);
        read(folder, "added_tokens", config -> requireAdded(config, vocabulary));
        return normalization;
    }

    private static TextNormalization normalization(JsonObject config) {
        boolean lowercase = config.flag("do_lower_case", true);
        if (!config.flag("do_basic_tokenize", true)) {
            throw Checks.fail("do_basic_tokenize", "false", "expected true");
        }
        return new TextNormalization(
                true, config.flag("tokenize_chinese_chars", true), config.flag("strip_accents", lowercase), lowercase);
    }

    private static JsonObject requireClass(JsonObject config) {
        if (config.has("tokenizer_class") && !BERT.contains(config.text("tokenizer_class"))) {
            throw config.fail("tokenizer_class", "one of " + BERT);
        }
        return config;
    }

    private static JsonObject requireNames(JsonObject config) {
        NAMES.forEach((member, token) -> {
            if (config.has(member) && !content(config, member).equals(token)) {
                throw config.fail(member, token);
            }
        });
        return config;
    }

    private static void requireDecoded(JsonObject config, List<String> vocabulary) {
        if (config.has("added_tokens_decoder")) {
            JsonObject added = config.object("added_tokens_decoder");
            for (Object id : added.names()) {
                requireToken(added, vocabulary, content(added, (String) id), (String) id);
            }
        }
    }

    private static JsonObject requireAdded(JsonObject added, List<String> vocabulary) {
        for (Object token : added.names()) {
            requireToken(added, vocabulary, (String) token, String.valueOf(added.get((String) token)));
        }
        return added;
    }

    /** Returns a token, which is a string or an object with its content. */
    private static String content(JsonObject config, String member) {
        return config.get(member) instanceof Map<?, ?> ? config.object(member).text("content") : config.text(member);
    }

    private static void requireToken(JsonObject added, List<String> vocabulary, String token, String id) {
        int at = vocabulary.indexOf(token);
        if (at < 0 || !id.equals(String.valueOf(at))) {
            throw Checks.fail(
                    added.name(),
                    "token \"" + start(token) + "\" with id " + start(id),
                    at < 0 ? "expected tokens of the vocabulary" : "expected the vocabulary's id " + at);
        }
    }

    private static String start(String text) {
        return text.substring(0, Math.min(text.length(), LONGEST_IN_MESSAGES));
    }

    /** Reads a file of the folder, as empty where it does not exist; messages begin with its path. */
    private static <T> T read(Path folder, String name, Function<JsonObject, T> reader) throws IOException {
        Path file = folder.resolve(name + ".json");
        try {
            Map<?, ?> members = Files.exists(file) ? Json.object(name, Files.readAllBytes(file)) : Map.of();
            return reader.apply(new JsonObject(name, members));
        } catch (IllegalArgumentException wrong) {
            throw new IllegalArgumentException(file + ": " + wrong.getMessage(), wrong);
        }
    }
}
