package io.multihead.text;

import io.multihead.internal.base.Checks;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Set;

/**
 * The parts of a tokenizer, independent of the files that they were read from.
 *
 * @param vocabulary the tokens in the order of their ids
 * @param special the tokens that are found in the text as it is, and their ids
 * @param added the ids of those that are no pieces of words, as {@code tokenizer.json} has them beside the model's vocabulary alone
 * @param normalization what happens to text first
 * @param prefix what pieces that continue a word start with
 * @param unknown the id of the unknown token
 * @param first the id of the token that begins a text
 * @param last the id of the token that ends a text
 * @param truncation tokens that the file would truncate a text to
 */
record WordPieceModel(
        List<String> vocabulary,
        Map<String, Integer> special,
        Set<Integer> added,
        TextNormalization normalization,
        String prefix,
        int unknown,
        int first,
        int last,
        OptionalInt truncation) {
    /** Code points of the longest word that is divided. */
    static final int LONGEST_WORD = 100;

    static final String PREFIX = "##";
    static final String UNKNOWN = "[UNK]";
    static final List<String> SPECIAL = List.of("[PAD]", UNKNOWN, "[CLS]", "[SEP]", "[MASK]");

    /** The model of a {@code vocab.txt}. */
    static WordPieceModel of(List<String> tokens, TextNormalization normalization) {
        Map<String, Integer> ids = ids(tokens);
        return new WordPieceModel(
                List.copyOf(tokens),
                special(tokens),
                Set.of(),
                normalization,
                PREFIX,
                id(ids, UNKNOWN),
                id(ids, "[CLS]"),
                id(ids, "[SEP]"),
                OptionalInt.empty());
    }

    /** Returns the special tokens that a vocabulary has, and their ids. */
    static Map<String, Integer> special(List<String> tokens) {
        Map<String, Integer> special = new LinkedHashMap<>();
        for (String token : SPECIAL) {
            int id = tokens.indexOf(token);
            if (id >= 0) {
                special.put(token, id);
            }
        }
        return special;
    }

    /** Returns the tokens' ids, or fails where a token repeats. */
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
