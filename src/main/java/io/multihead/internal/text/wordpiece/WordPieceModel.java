package io.multihead.internal.text.wordpiece;

import io.multihead.internal.base.Checks;
import io.multihead.internal.text.unicode.BertSteps;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Set;

/**
 * The parts of a tokenizer, independent of the files that they were read from.
 *
 * @param vocabulary the tokens in the order of their ids
 * @param special the tokens that are found in the unchanged text, and their ids
 * @param added the ids of tokens that are not pieces of words, because {@code tokenizer.json} has them only outside the model's vocabulary
 * @param normalization the first step on text
 * @param prefix the prefix of pieces that continue a word
 * @param unknown the id of the unknown token
 * @param first the id of the token that begins a text; {@link #NONE} for none
 * @param last the id of the token that ends a text; {@link #NONE} for none
 * @param truncation the number of tokens to which the file would truncate a text
 * @param pairs the template for two texts
 */
public record WordPieceModel(
        List<String> vocabulary,
        Map<String, Integer> special,
        Set<Integer> added,
        BertSteps normalization,
        String prefix,
        int unknown,
        int first,
        int last,
        OptionalInt truncation,
        PairTemplate pairs) {
    /** The id of a token that does not exist. */
    public static final int NONE = -1;

    /** The largest number of code points of a word that is divided. */
    public static final int LONGEST_WORD = 100;

    public static final String PREFIX = "##";
    static final String UNKNOWN = "[UNK]";
    static final List<String> SPECIAL = List.of("[PAD]", UNKNOWN, "[CLS]", "[SEP]", "[MASK]");

    /** Returns the model of a vocabulary without repeated tokens, whose special tokens are the tokens of {@link #SPECIAL} that it has. */
    public static WordPieceModel of(List<String> tokens, BertSteps normalization) {
        Map<String, Integer> ids = ids(tokens);
        Map<String, Integer> special = new LinkedHashMap<>();
        SPECIAL.stream().filter(ids::containsKey).forEach(token -> special.put(token, id(ids, token)));
        return of(tokens, ids, special, normalization);
    }

    /**
     * Returns the model of the lines of a {@code vocab.txt}, as transformers reads them. Of equal lines, such as blank lines, the last one
     * is used. Missing special tokens follow the last line.
     */
    static WordPieceModel ofLines(List<String> lines, BertSteps normalization, List<String> special) {
        Map<String, Integer> ids = HashMap.newHashMap(lines.size());
        for (int id = 0; id < lines.size(); id++) {
            ids.put(lines.get(id), id);
        }
        List<String> tokens = new ArrayList<>(lines);
        for (int id = 0; id < lines.size(); id++) {
            if (id(ids, lines.get(id)) != id) {
                String unused = "[repeated " + id + "]"; // no word contains a space, so no text has this token
                if (ids.containsKey(unused)) {
                    throw Checks.fail(
                            "vocabulary", "token \"" + unused + "\", and repeated ones", "expected one or the other");
                }
                tokens.set(id, unused);
            }
        }
        WordPieceModel model = of(tokens, ids, Map.of(), normalization).withSpecial(special);
        // transformers would count the different lines, and use the id of another token
        if (!model.added.isEmpty()
                && lines.stream().map(String::strip).distinct().count() < lines.size()) {
            throw Checks.fail(
                    "vocabulary",
                    "no token \"" + model.vocabulary.get(lines.size()) + "\", and repeated ones",
                    "expected one or the other");
        }
        return model;
    }

    /** Returns the model of a vocabulary without repeated tokens, with tokens of these ids. */
    public static WordPieceModel of(
            List<String> tokens,
            Map<String, Integer> special,
            BertSteps normalization,
            int unknown,
            int first,
            int last) {
        ids(tokens);
        return new WordPieceModel(
                List.copyOf(tokens),
                special,
                Set.of(),
                normalization,
                PREFIX,
                unknown,
                first,
                last,
                OptionalInt.empty(),
                PairTemplate.BERT);
    }

    private static WordPieceModel of(
            List<String> tokens, Map<String, Integer> ids, Map<String, Integer> special, BertSteps normalization) {
        return of(tokens, special, normalization, id(ids, UNKNOWN), id(ids, "[CLS]"), id(ids, "[SEP]"));
    }

    /** Returns the same model with another normalization. */
    WordPieceModel withNormalization(BertSteps other) {
        return new WordPieceModel(vocabulary, special, added, other, prefix, unknown, first, last, truncation, pairs);
    }

    /** Returns the same model with another template for two texts. */
    WordPieceModel withPairs(PairTemplate other) {
        return new WordPieceModel(
                vocabulary, special, added, normalization, prefix, unknown, first, last, truncation, other);
    }

    /**
     * Returns the same model with more tokens that are found in the unchanged text; tokens that the vocabulary lacks are added at its end.
     */
    WordPieceModel withSpecial(Collection<String> more) {
        List<String> tokens = new ArrayList<>(vocabulary);
        Map<String, Integer> all = new LinkedHashMap<>(special);
        Set<Integer> beside = new HashSet<>(added);
        for (String token : more) {
            int id = all.getOrDefault(token, tokens.indexOf(token));
            if (id < 0) {
                id = tokens.size();
                tokens.add(token);
                beside.add(id);
            }
            all.put(token, id);
        }
        return new WordPieceModel(
                List.copyOf(tokens),
                all,
                Set.copyOf(beside),
                normalization,
                prefix,
                unknown,
                first,
                last,
                truncation,
                pairs);
    }

    /** Returns one more than the largest id of a token that was not added to the model's own vocabulary. */
    public int ownSize() {
        int size = vocabulary.size();
        while (size > 0 && added.contains(size - 1)) {
            size--;
        }
        return size;
    }

    /** Returns the tokens' ids, or fails if a token repeats. */
    private static Map<String, Integer> ids(List<String> tokens) {
        Map<String, Integer> ids = HashMap.newHashMap(tokens.size());
        for (int id = 0; id < tokens.size(); id++) {
            Integer other = ids.put(Checks.notNull(tokens.get(id), "token " + id), id);
            if (other != null) {
                throw Checks.fail(
                        "vocabulary",
                        "token \"" + tokens.get(id) + "\" has ids " + other + " and " + id,
                        "expected unique tokens");
            }
        }
        return ids;
    }

    /** Returns the id of a token that must exist. */
    static int id(Map<String, Integer> ids, String token) {
        Integer id = ids.get(token);
        if (id == null) {
            throw missing(token);
        }
        return id;
    }

    static IllegalArgumentException missing(String token) {
        return Checks.fail("vocabulary", "no token \"" + token + "\"", "expected one");
    }
}
