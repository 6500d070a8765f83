package io.multihead.internal.text.wordpiece;

import io.multihead.internal.base.Checks;
import io.multihead.internal.base.FileMemory;
import io.multihead.internal.base.Json;
import io.multihead.internal.base.JsonObject;
import io.multihead.internal.text.unicode.BertSteps;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The settings of the files next to a {@code tokenizer.json} or a {@code vocab.txt}, with transformers' defaults for missing settings. The
 * tokenizer class determines which file's normalization applies: {@code BertTokenizer}, which a BERT model has unless a file names another
 * class, uses {@code tokenizer_config.json}, and {@code PreTrainedTokenizerFast} uses {@code tokenizer.json}. Settings that versions 4 and
 * 5 of transformers read differently, and features that this tokenizer lacks, are an error that names the file and the member.
 */
final class TokenizerSettings {
    private static final List<String> BERT = List.of("BertTokenizer", "BertTokenizerFast");

    private static final List<String> ANY =
            List.of("BertTokenizer", "BertTokenizerFast", "PreTrainedTokenizerFast", "TokenizersBackend");

    /** The special tokens of {@code BertTokenizer} if no file names them, in the order in which it adds tokens that a vocabulary lacks. */
    private static final Map<String, String> DEFAULTS = defaults();

    /** Members that name further tokens, which transformers finds in the unchanged text. */
    private static final List<String> FURTHER =
            List.of("bos_token", "eos_token", "additional_special_tokens", "extra_special_tokens");

    private static final int LONGEST_IN_MESSAGES = 100;

    /** A file of the folder, without members if it does not exist. */
    private record Source(Path path, JsonObject object) {
        static Source read(Path folder, String name) throws IOException {
            Path path = folder.resolve(name + ".json");
            Map<?, ?> members =
                    Files.exists(path) ? Checks.in(path, () -> Json.object(name, FileMemory.bytes(path))) : Map.of();
            return new Source(path, new JsonObject(name, members));
        }

        /** Returns a value that is read from the file. The path of the file begins messages about faults in it. */
        <T extends @Nullable Object> T in(Function<JsonObject, T> reader) {
            return Checks.<T, RuntimeException>in(path, () -> reader.apply(object));
        }
    }

    /** A special token, and the file that names it; null for the class's default. */
    private record Named(String token, @Nullable Source source) {}

    private final Source config;
    private final Source map;
    private final Source added;
    /** The file that names the class, or the file that could name it. */
    private final Source named;

    private final String type;
    private final Map<String, Named> names;

    private TokenizerSettings(Source config, Source map, Source added, Source model) {
        this.config = config;
        this.map = map;
        this.added = added;
        named = config.object.has("tokenizer_class") || !model.object.has("tokenizer_class") ? config : model;
        type = named.in(file -> file.has("tokenizer_class") ? file.text("tokenizer_class") : BERT.get(0));
        names = names();
    }

    private static Map<String, String> defaults() {
        Map<String, String> defaults = new LinkedHashMap<>();
        defaults.put("unk_token", "[UNK]");
        defaults.put("sep_token", "[SEP]");
        defaults.put("pad_token", "[PAD]");
        defaults.put("cls_token", "[CLS]");
        defaults.put("mask_token", "[MASK]");
        return defaults;
    }

    /** Reads {@code tokenizer_config.json}, {@code special_tokens_map.json}, {@code added_tokens.json} and {@code config.json}. */
    static TokenizerSettings read(Path folder) throws IOException {
        return new TokenizerSettings(
                Source.read(folder, "tokenizer_config"),
                Source.read(folder, "special_tokens_map"),
                Source.read(folder, "added_tokens"),
                Source.read(folder, "config"));
    }

    /**
     * Returns a {@code tokenizer.json} with the changes that transformers makes, or fails if its versions differ, or a change is not
     * implemented.
     */
    WordPieceModel apply(Path json, WordPieceModel file) {
        requireClass(ANY);
        Map<String, String> ends = Map.of(
                "cls_token", file.vocabulary().get(file.first()),
                "sep_token", file.vocabulary().get(file.last()),
                "unk_token", file.vocabulary().get(file.unknown()));
        WordPieceModel changed = file;
        if (isBert()) {
            ends.forEach((member, token) -> requireName(member, token, json));
            changed = file.withNormalization(normalization(json, file));
        }
        WordPieceModel result =
                changed.withSpecial(names.values().stream().map(Named::token).toList());
        requireTokens(result.special());
        return withPairs(result);
    }

    /** Returns the tokenizer of the lines of a {@code vocab.txt}. */
    WordPieceModel ofVocabulary(Path vocabulary, List<String> lines) {
        requireClass(BERT);
        DEFAULTS.forEach((member, token) -> requireName(member, token, vocabulary));
        List<String> special =
                WordPieceModel.SPECIAL.stream().filter(this::isSpecial).toList();
        BertSteps normalization = config.in(this::normalization);
        WordPieceModel model = Checks.in(vocabulary, () -> WordPieceModel.ofLines(lines, normalization, special));
        requireTokens(model.special());
        return withPairs(model);
    }

    private WordPieceModel withPairs(WordPieceModel model) {
        return config.in(file -> model.withPairs(model.pairs().with(file)));
    }

    private boolean isBert() {
        return BERT.contains(type);
    }

    private void requireClass(List<String> known) {
        if (!known.contains(type)) {
            named.in(file -> {
                throw file.fail("tokenizer_class", "one of " + known);
            });
        }
    }

    /** Returns the special tokens by their names; a name that a file sets to null has no token. */
    private Map<String, Named> names() {
        Map<String, Named> found = new LinkedHashMap<>();
        DEFAULTS.forEach((member, token) -> {
            for (Source source : List.of(map, config)) {
                if (source.object.has(member)) {
                    found.put(member, new Named(source.in(file -> content(file, member)), source));
                }
            }
            // null means no token in transformers, but transformers needs the tokens that begin and end a text, and the
            // unknown token
            boolean none = config.object.names().contains(member) && isOptional(member);
            if (isBert() && !none) {
                found.putIfAbsent(member, new Named(token, null));
            }
        });
        return found;
    }

    private static boolean isOptional(String member) {
        return member.equals("pad_token") || member.equals("mask_token");
    }

    private boolean isSpecial(String token) {
        return names.values().stream().anyMatch(name -> name.token.equals(token));
    }

    /** Fails unless an existing name refers to this token. */
    private void requireName(String member, String token, Path file) {
        Named name = names.get(member);
        if (name == null || name.token.equals(token)) {
            return;
        }
        Source source = name.source;
        if (source == null) {
            throw Checks.fail(
                    file + ": " + member, token, "expected " + name.token + ", as no file names another to " + type);
        }
        source.in(members -> {
            throw members.fail(member, token);
        });
    }

    /**
     * Returns the normalization of a {@code tokenizer.json} as {@code BertTokenizer} reads it. Version 5 always cleans and has one prefix,
     * and version 4 uses the settings of the file.
     */
    private BertSteps normalization(Path json, WordPieceModel file) {
        if (!file.normalization().cleanText()) {
            throw Checks.fail(json + ": tokenizer.normalizer.clean_text", "false", "expected true for " + type);
        }
        if (!file.prefix().equals(WordPieceModel.PREFIX)) {
            throw Checks.fail(
                    json + ": tokenizer.model.continuing_subword_prefix",
                    file.prefix(),
                    "expected " + WordPieceModel.PREFIX + " for " + type);
        }
        return config.in(this::normalization);
    }

    private BertSteps normalization(JsonObject settings) {
        boolean lowercase = settings.flag("do_lower_case", true);
        return new BertSteps(
                true,
                settings.flag("tokenize_chinese_chars", true),
                settings.flag("strip_accents", lowercase),
                lowercase);
    }

    /** Fails if a file names a token that is not found in the unchanged text, or another id of a token. */
    private void requireTokens(Map<String, Integer> special) {
        for (Source source : List.of(config, map)) {
            source.in(file -> requireFurther(file, special.keySet()));
        }
        config.in(file -> requireDecoded(file, special));
        added.in(file -> {
            for (Object token : file.names()) {
                requireToken(file, special, (String) token, String.valueOf(file.get((String) token)));
            }
            return file;
        });
    }

    private JsonObject requireFurther(JsonObject file, Collection<String> found) {
        file.require("split_special_tokens", false);
        for (String member : FURTHER) {
            for (Object token : tokens(file.get(member))) {
                if (!found.contains(content(file.name() + "." + member, token))) {
                    throw file.fail(member, "none but " + found);
                }
            }
        }
        return file;
    }

    private JsonObject requireDecoded(JsonObject file, Map<String, Integer> special) {
        if (file.has("added_tokens_decoder")) {
            JsonObject decoded = file.object("added_tokens_decoder");
            for (Object id : decoded.names()) {
                String name = decoded.name() + "." + id;
                requireToken(decoded, special, content(name, decoded.get((String) id)), (String) id);
            }
        }
        return file;
    }

    /** Returns the tokens of a member: one token, an array of them, or an object that names each. */
    private static Collection<?> tokens(@Nullable Object value) {
        return switch (value) {
            case null -> List.of();
            case List<?> several -> several;
            case Map<?, ?> named when !named.containsKey("content") -> named.values();
            default -> List.of(value);
        };
    }

    private static String content(JsonObject file, String member) {
        return file.get(member) instanceof Map<?, ?> token
                ? plain(new JsonObject(file.name() + "." + member, token))
                : file.text(member);
    }

    /**
     * Returns a token, which is a string or an object with its content; a token that is not found unchanged at any place is an error. A
     * token that is not special is found in normalized text, unless it states otherwise.
     */
    private String content(String name, @Nullable Object token) {
        if (!(token instanceof Map<?, ?> described)) {
            return String.valueOf(token);
        }
        JsonObject object = new JsonObject(name, described);
        String content = plain(object);
        if (!object.has("normalized") && !object.flag("special", false) && !isSpecial(content)) {
            throw object.fail("normalized", "false");
        }
        return content;
    }

    private static String plain(JsonObject token) {
        List.of("single_word", "lstrip", "rstrip", "normalized").forEach(flag -> token.require(flag, false));
        return token.text("content");
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
}
