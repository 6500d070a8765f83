package io.multihead.text;

import io.multihead.internal.base.Checks;
import io.multihead.internal.base.Json;
import io.multihead.internal.base.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * What files beside a {@code vocab.txt} say of the tokenizer, as transformers writes them: its normalisation; and what would give other
 * tokens than those of {@code BertTokenizer} with the vocabulary alone, which is an error that names the file and the member. Beside a
 * {@code tokenizer.json}, which says everything itself, they must not contradict it.
 */
final class VocabularyFolder {
    private static final List<String> BERT = List.of("BertTokenizer", "BertTokenizerFast");
    /** The classes that take a {@code tokenizer.json} as it is, in versions 4 and 5 of transformers. */
    private static final List<String> ANY =
            List.of("BertTokenizer", "BertTokenizerFast", "PreTrainedTokenizerFast", "TokenizersBackend");

    private static final Map<String, String> NAMES = Map.of(
            "cls_token",
            "[CLS]",
            "sep_token",
            "[SEP]",
            "unk_token",
            "[UNK]",
            "pad_token",
            "[PAD]",
            "mask_token",
            "[MASK]");
    /** Where further tokens are named that transformers finds in the text as it is. */
    private static final List<String> FURTHER =
            List.of("bos_token", "eos_token", "additional_special_tokens", "extra_special_tokens");

    private static final String NEVER_SPLIT = "never_split";

    private static final int LONGEST_IN_MESSAGES = 100;

    private VocabularyFolder() {}

    /**
     * Returns the normalisation: uncased unless the configuration says otherwise, as the reference's {@code BertTokenizer}. Fails if a file
     * names another tokenizer, or tokens that {@link WordPieceModel#of} does not find in the text as it is.
     */
    static TextNormalization normalization(Path folder, List<String> vocabulary) throws IOException {
        Map<String, Integer> special = WordPieceModel.special(vocabulary);
        Function<JsonObject, JsonObject> names = config -> {
            requireFurther(config, List.of(NEVER_SPLIT), WordPieceModel.SPECIAL);
            return requireNames(config, NAMES, WordPieceModel.SPECIAL);
        };
        TextNormalization normalization = read(folder, "tokenizer_config", config -> {
            requireClass(config, BERT);
            names.apply(config);
            requireDecoded(config, special);
            return normalization(config);
        });
        read(folder, "config", config -> requireClass(config, BERT));
        read(folder, "special_tokens_map", names);
        read(folder, "added_tokens", config -> requireAdded(config, special));
        return normalization;
    }

    /**
     * Fails if a file beside a {@code tokenizer.json} names another tokenizer, tokens that are not found in the text as it is, or another
     * normalisation: transformers would change the tokenizer that it reads. It finds all tokens that they name in the text as it is.
     */
    static void requireAgreement(Path folder, WordPieceModel model) throws IOException {
        TextNormalization own = model.normalization();
        Collection<String> found = model.special().keySet();
        Map<String, String> ends = Map.of(
                "cls_token", model.vocabulary().get(model.first()),
                "sep_token", model.vocabulary().get(model.last()),
                "unk_token", model.vocabulary().get(model.unknown()));
        Function<JsonObject, JsonObject> names = config -> {
            requireNames(config, ends, found);
            return requireFurther(config, NAMES.keySet(), found);
        };
        read(folder, "tokenizer_config", config -> {
            names.apply(config);
            requireDecoded(config, model.special());
            config.require("do_lower_case", own.lowercase());
            config.require("strip_accents", own.stripAccents());
            config.require("tokenize_chinese_chars", own.separateChinese());
            return requireClass(config, ANY);
        });
        read(folder, "config", config -> requireClass(config, ANY));
        read(folder, "special_tokens_map", names);
        read(folder, "added_tokens", config -> requireAdded(config, model.special()));
    }

    private static TextNormalization normalization(JsonObject config) {
        boolean lowercase = config.flag("do_lower_case", true);
        if (!config.flag("do_basic_tokenize", true)) {
            throw Checks.fail("do_basic_tokenize", "false", "expected true");
        }
        return new TextNormalization(
                true, config.flag("tokenize_chinese_chars", true), config.flag("strip_accents", lowercase), lowercase);
    }

    private static JsonObject requireClass(JsonObject config, List<String> known) {
        if (config.has("tokenizer_class") && !known.contains(config.text("tokenizer_class"))) {
            throw config.fail("tokenizer_class", "one of " + known);
        }
        return config;
    }

    /** Fails if a member names another token than these, or if further ones name a token that is not found in the text as it is. */
    private static JsonObject requireNames(JsonObject config, Map<String, String> names, Collection<String> found) {
        names.forEach((member, token) -> {
            if (config.has(member) && !content(config, member).equals(token)) {
                throw config.fail(member, token);
            }
        });
        config.require("split_special_tokens", false);
        return requireFurther(config, FURTHER, found);
    }

    private static JsonObject requireFurther(JsonObject config, Collection<String> members, Collection<String> found) {
        for (String member : members) {
            for (Object token : tokens(config.get(member))) {
                if (!found.contains(content(config.name() + "." + member, token))) {
                    throw config.fail(member, "none but " + found);
                }
            }
        }
        return config;
    }

    /** Returns the tokens of a member: one, an array of them, or an object that names each. */
    private static Collection<?> tokens(@Nullable Object value) {
        return switch (value) {
            case null -> List.of();
            case List<?> several -> several;
            case Map<?, ?> named when !named.containsKey("content") -> named.values();
            default -> List.of(value);
        };
    }

    private static void requireDecoded(JsonObject config, Map<String, Integer> special) {
        if (config.has("added_tokens_decoder")) {
            JsonObject added = config.object("added_tokens_decoder");
            for (Object id : added.names()) {
                requireToken(added, special, content(added, (String) id), (String) id);
            }
        }
    }

    private static JsonObject requireAdded(JsonObject added, Map<String, Integer> special) {
        for (Object token : added.names()) {
            requireToken(added, special, (String) token, String.valueOf(added.get((String) token)));
        }
        return added;
    }

    private static String content(JsonObject config, String member) {
        return config.get(member) instanceof Map<?, ?> token
                ? content(config.name() + "." + member, token)
                : config.text(member);
    }

    /** Returns a token, which is a string or an object with its content; one that is not found as it is, wherever it is, is an error. */
    private static String content(String name, @Nullable Object token) {
        if (!(token instanceof Map<?, ?> described)) {
            return String.valueOf(token);
        }
        JsonObject object = new JsonObject(name, described);
        List.of("single_word", "lstrip", "rstrip", "normalized").forEach(flag -> object.require(flag, false));
        return object.text("content");
    }

    private static void requireToken(JsonObject added, Map<String, Integer> special, String token, String id) {
        Integer expected = special.get(token);
        if (expected == null || !id.equals(expected.toString())) {
            throw Checks.fail(
                    added.name(),
                    "token \"" + start(token) + "\" with id " + start(id),
                    expected == null
                            ? "expected none but " + special.keySet()
                            : "expected the vocabulary's id " + expected);
        }
    }

    private static String start(String text) {
        return text.substring(0, Math.min(text.length(), LONGEST_IN_MESSAGES));
    }

    /** Reads a file of the folder, as empty where it does not exist; messages begin with its path. */
    private static <T> T read(Path folder, String name, Function<JsonObject, T> reader) throws IOException {
        Path file = folder.resolve(name + ".json");
        return Checks.in(file, () -> {
            Map<?, ?> members = Files.exists(file) ? Json.object(name, Files.readAllBytes(file)) : Map.of();
            return reader.apply(new JsonObject(name, members));
        });
    }
}
