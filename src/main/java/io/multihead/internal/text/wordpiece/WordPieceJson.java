package io.multihead.internal.text.wordpiece;

import io.multihead.internal.base.Checks;
import io.multihead.internal.base.Json;
import io.multihead.internal.base.JsonObject;
import io.multihead.internal.base.JsonWriter;
import io.multihead.internal.text.unicode.BertSteps;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalInt;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Reads and writes {@code tokenizer.json}: BERT's normalizer, pre-tokenizer, model and template; any other part of a file is an error that
 * names the part.
 */
public final class WordPieceJson {
    private WordPieceJson() {}

    public static WordPieceModel parse(byte[] utf8) {
        return parse(new JsonObject("tokenizer", Json.object("tokenizer", utf8)));
    }

    /** The tokens around a text, and around two texts, by their ids in the vocabulary. */
    private record Ends(int first, int last, PairTemplate pairs) {
        static final Ends NONE = new Ends(WordPieceModel.NONE, WordPieceModel.NONE, PairTemplate.OTHER);

        static Ends of(JsonObject file, List<String> tokens) {
            JsonObject processor = file.object("post_processor");
            String[] ends = template(processor);
            int first = id(tokens, ends[0]);
            int last = id(tokens, ends[1]);
            requireId(processor, "cls", ends[0], first);
            requireId(processor, "sep", ends[1], last);
            return new Ends(first, last, PairJson.of(file, first, last));
        }
    }

    public static WordPieceModel parse(JsonObject file) {
        if (file.has("padding")) {
            // positions would depend on the other texts of a batch
            file.object("padding").require("direction", "Right");
        }
        return parse(file, tokens -> Ends.of(file, tokens));
    }

    /** Reads a file without its template and padding. */
    public static WordPieceModel parseWithoutEnds(JsonObject file) {
        return parse(file, tokens -> Ends.NONE);
    }

    private static WordPieceModel parse(JsonObject file, Function<List<String>, Ends> endsOf) {
        file.object("pre_tokenizer").requireType("BertPreTokenizer");
        JsonObject model = file.object("model");
        model.require("type", "WordPiece");
        model.require("max_input_chars_per_word", (long) WordPieceModel.LONGEST_WORD);
        String prefix = model.text("continuing_subword_prefix");
        // if the prefix begins with #, the only word that begins with the prefix is # itself, and longer pieces with
        // the prefix only continue words
        if (!prefix.startsWith("#")) {
            throw model.fail("continuing_subword_prefix", WordPieceModel.PREFIX);
        }
        JsonObject vocabulary = model.object("vocab");
        Map<String, Integer> special = special(file, vocabulary);
        List<String> tokens = Arrays.asList(tokens(vocabulary, special));
        Ends ends = endsOf.apply(tokens);
        return new WordPieceModel(
                tokens,
                special,
                special.keySet().stream()
                        .filter(token -> !vocabulary.has(token))
                        .map(special::get)
                        .collect(Collectors.toUnmodifiableSet()),
                normalization(file.object("normalizer")),
                prefix,
                id(tokens, model.text("unk_token")),
                ends.first,
                ends.last,
                truncation(file),
                ends.pairs);
    }

    private static int id(List<String> tokens, String token) {
        int id = tokens.indexOf(token);
        if (id < 0) {
            throw WordPieceModel.missing(token);
        }
        return id;
    }

    public static BertSteps normalization(JsonObject normalizer) {
        normalizer.requireType("BertNormalizer");
        boolean lowercase = normalizer.flag("lowercase", true);
        return new BertSteps(
                normalizer.flag("clean_text", true),
                normalizer.flag("handle_chinese_chars", true),
                normalizer.flag("strip_accents", lowercase),
                lowercase);
    }

    private static Map<String, Integer> special(JsonObject file, JsonObject vocabulary) {
        Map<String, Integer> special = new LinkedHashMap<>();
        List<?> added = file.has("added_tokens") ? file.array("added_tokens") : List.of();
        int most = vocabulary.names().size() + added.size() - 1;
        for (Object element : added) {
            JsonObject token = JsonObject.of("tokenizer.added_tokens", element);
            for (String flag : List.of("single_word", "lstrip", "rstrip", "normalized")) {
                token.require(flag, false);
            }
            String content = token.text("content");
            int id = token.integer("id", 0, most);
            Integer other = special.put(content, id);
            if (other != null && other != id) {
                throw Checks.fail("added token \"" + content + "\"", "ids " + other + " and " + id, "expected one id");
            }
        }
        return special;
    }

    /** Returns the tokens in the order of their ids, each of which must exist once. */
    private static String[] tokens(JsonObject vocabulary, Map<String, Integer> special) {
        int most = vocabulary.names().size() + special.size() - 1;
        Map<String, Integer> added = added(vocabulary, special, most);
        @Nullable String[] tokens = new String[vocabulary.names().size() + added.size()];
        for (Object token : vocabulary.names()) {
            place((String) token, vocabulary.integer((String) token, 0, most), tokens);
        }
        added.forEach((token, id) -> place(token, id, tokens));
        return Arrays.copyOf(tokens, tokens.length, String[].class);
    }

    /** Returns the special tokens that the vocabulary does not have; tokens that it has must have the same id there. */
    private static Map<String, Integer> added(JsonObject vocabulary, Map<String, Integer> special, int most) {
        Map<String, Integer> added = new LinkedHashMap<>();
        special.forEach((token, id) -> {
            if (!vocabulary.has(token)) {
                added.put(token, id);
            } else if (vocabulary.integer(token, 0, most) != id) {
                throw Checks.fail(
                        "added token \"" + token + "\"",
                        "id " + id,
                        "expected " + vocabulary.integer(token, 0, most) + ", as in the vocabulary");
            }
        });
        return added;
    }

    private static void place(String token, int id, @Nullable String[] tokens) {
        if (id >= tokens.length || tokens[id] != null) {
            throw Checks.fail(
                    "vocabulary",
                    "token \"" + token + "\" has id " + id,
                    "expected each id from 0 to " + (tokens.length - 1) + " once");
        }
        tokens[id] = token;
    }

    /** Returns the tokens that stand before and after a text. */
    private static String[] template(JsonObject processor) {
        if (processor.text("type").equals("BertProcessing")) {
            return new String[] {named(processor, "cls"), named(processor, "sep")};
        }
        processor.requireType("TemplateProcessing");
        List<String> names = new ArrayList<>();
        for (Object element : processor.array("single")) {
            JsonObject part = JsonObject.of("tokenizer.post_processor.single", element);
            boolean text = part.has("Sequence");
            JsonObject described = part.object(text ? "Sequence" : "SpecialToken");
            described.require("type_id", 0L);
            names.add((text ? "$" : "") + described.text("id"));
        }
        if (names.size() != 3 || !names.get(1).equals("$A")) {
            throw processor.fail("single", "a special token, sequence A and a special token");
        }
        return new String[] {names.get(0), names.get(2)};
    }

    /** Fails if the template puts another id before or after a text than the vocabulary has for the token. */
    private static void requireId(JsonObject processor, String member, String token, int id) {
        if (processor.has(member)) {
            List<?> pair = processor.array(member);
            if (pair.size() != 2 || !Objects.equals(pair.get(1), (long) id)) {
                throw processor.fail(member, "the token and the vocabulary's id " + id);
            }
        }
        JsonObject tokens = processor.has("special_tokens") ? processor.object("special_tokens") : null;
        if (tokens != null && tokens.has(token)) {
            JsonObject described = tokens.object(token);
            if (!described.array("ids").equals(List.of((long) id))) {
                throw described.fail("ids", "[" + id + "], the vocabulary's id");
            }
        }
    }

    private static String named(JsonObject processor, String member) {
        List<?> pair = processor.array(member);
        if (pair.isEmpty() || !(pair.get(0) instanceof String name)) {
            throw processor.fail(member, "a token and its id");
        }
        return name;
    }

    /** Returns the number of tokens to which a file truncates texts, if it does. */
    public static OptionalInt truncation(JsonObject file) {
        if (!file.has("truncation")) {
            return OptionalInt.empty();
        }
        JsonObject truncation = file.object("truncation");
        truncation.require("direction", "Right");
        return OptionalInt.of(truncation.integer("max_length", 1, Integer.MAX_VALUE));
    }

    public static byte[] write(WordPieceModel model) {
        BertSteps steps = model.normalization();
        List<String> tokens = model.vocabulary();
        Map<String, Object> file = new LinkedHashMap<>();
        file.put("version", "1.0");
        file.put(
                "truncation",
                model.truncation().isPresent() ? truncation(model.truncation().getAsInt()) : null);
        file.put("padding", null);
        file.put("added_tokens", describe(model.special()));
        file.put(
                "normalizer",
                object(
                        "type", "BertNormalizer",
                        "clean_text", steps.cleanText(),
                        "handle_chinese_chars", steps.separateChinese(),
                        "strip_accents", steps.stripAccents(),
                        "lowercase", steps.lowercase()));
        file.put("pre_tokenizer", object("type", "BertPreTokenizer"));
        file.put("post_processor", model.first() == WordPieceModel.NONE ? null : ends(model));
        file.put("decoder", null);
        file.put(
                "model",
                object(
                        "type", "WordPiece",
                        "unk_token", tokens.get(model.unknown()),
                        "continuing_subword_prefix", model.prefix(),
                        "max_input_chars_per_word", WordPieceModel.LONGEST_WORD,
                        "vocab", ids(tokens, model.added())));
        return JsonWriter.write("tokenizer", file).getBytes(StandardCharsets.UTF_8);
    }

    private static Map<String, Object> ends(WordPieceModel model) {
        List<String> tokens = model.vocabulary();
        return object(
                "type", "BertProcessing",
                "sep", List.of(tokens.get(model.last()), model.last()),
                "cls", List.of(tokens.get(model.first()), model.first()));
    }

    private static Map<String, Object> truncation(int tokens) {
        return object("direction", "Right", "max_length", tokens, "strategy", "LongestFirst", "stride", 0);
    }

    private static List<Map<String, Object>> describe(Map<String, Integer> special) {
        return special.entrySet().stream()
                .map(token -> object(
                        "id", token.getValue(),
                        "content", token.getKey(),
                        "single_word", false,
                        "lstrip", false,
                        "rstrip", false,
                        "normalized", false,
                        "special", true))
                .toList();
    }

    private static Map<String, Integer> ids(List<String> tokens, Set<Integer> added) {
        Map<String, Integer> ids = LinkedHashMap.newLinkedHashMap(tokens.size());
        for (int id = 0; id < tokens.size(); id++) {
            if (!added.contains(id)) {
                ids.put(tokens.get(id), id);
            }
        }
        return ids;
    }

    /** Returns an object from alternating names and values. */
    private static Map<String, Object> object(Object... members) {
        Map<String, Object> object = new LinkedHashMap<>();
        for (int i = 0; i < members.length; i += 2) {
            object.put((String) members[i], members[i + 1]);
        }
        return object;
    }
}
