package io.multihead.text;

import io.multihead.internal.base.Checks;
import io.multihead.internal.base.Json;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;

/**
 * The tokens of a vocabulary in the order of their ids, as in files: texts, types and, for SentencePiece, scores. Immutable and
 * thread-safe.
 */
public final class Vocabulary {
    private final List<String> tokens;
    private final List<TokenType> types;
    private final float[] scores;
    private final int ownSize;

    private Vocabulary(List<String> tokens, List<TokenType> types, float[] scores, int ownSize) {
        this.tokens = tokens;
        this.types = types;
        this.scores = scores;
        this.ownSize = ownSize;
    }

    /**
     * {@return a vocabulary without scores}
     *
     * @param tokens the text of each token
     * @param types the type of each token; empty if all are normal
     * @throws IllegalArgumentException if the lengths differ, or a token has an unpaired surrogate
     */
    public static Vocabulary of(List<String> tokens, List<TokenType> types) {
        List<String> texts = Checks.noNulls(tokens, "tokens");
        List<TokenType> kinds = Checks.noNulls(types, "types");
        if (kinds.isEmpty()) {
            kinds = Collections.nCopies(texts.size(), TokenType.NORMAL);
        }
        Checks.length(kinds.size(), texts.size(), "types", "one per token");
        for (int id = 0; id < texts.size(); id++) {
            if (Json.unpaired(texts.get(id))) {
                throw Checks.fail("tokens[" + id + "]", "an unpaired surrogate", "expected text that UTF-8 can encode");
            }
        }
        return new Vocabulary(texts, kinds, new float[0], texts.size());
    }

    /**
     * {@return this vocabulary with scores: of two pairs that could merge, the pair whose token has the higher score
     * merges first}
     *
     * @param scores one per token; copied
     * @throws IllegalArgumentException if the lengths differ or a score is NaN
     */
    public Vocabulary withScores(float... scores) {
        Checks.length(Checks.notNull(scores, "scores").length, size(), "scores", "one per token");
        for (int id = 0; id < scores.length; id++) {
            if (Float.isNaN(scores[id])) {
                throw Checks.fail("scores[" + id + "]", "NaN", "expected a number");
            }
        }
        return new Vocabulary(tokens, types, scores.clone(), ownSize);
    }

    /** Returns this vocabulary, of which the tokens from {@code first} on were added to the model's own vocabulary. */
    Vocabulary withAddedFrom(int first) {
        return new Vocabulary(tokens, types, scores, first);
    }

    /** Returns one more than the largest id of a token of the model's own vocabulary. */
    int ownSize() {
        return ownSize;
    }

    /** {@return the number of tokens} */
    public int size() {
        return tokens.size();
    }

    /**
     * Returns a token as its file writes it.
     *
     * @param id from 0 to {@code size() - 1}
     * @return its text
     */
    public String token(int id) {
        return tokens.get((int) Checks.index(id, size(), "id"));
    }

    /**
     * {@return the type of a token}
     *
     * @param id from 0 to {@code size() - 1}
     */
    public TokenType type(int id) {
        return types.get((int) Checks.index(id, size(), "id"));
    }

    /** Returns a token's score. */
    float score(int id) {
        return scores[id];
    }

    boolean hasScores() {
        return scores.length > 0;
    }

    /** Returns the rank of each token's score among all scores, 0 for the highest; equal scores have equal ranks. */
    int[] ranks() {
        float[] sorted = new float[scores.length];
        for (int id = 0; id < scores.length; id++) {
            sorted[id] = descending(scores[id]);
        }
        Arrays.sort(sorted);
        int distinct = 0;
        for (int i = 0; i < sorted.length; i++) {
            if (i == 0 || sorted[i] != sorted[i - 1]) {
                sorted[distinct++] = sorted[i];
            }
        }
        int[] ranks = new int[scores.length];
        for (int id = 0; id < ranks.length; id++) {
            ranks[id] = Arrays.binarySearch(sorted, 0, distinct, descending(scores[id]));
        }
        return ranks;
    }

    /**
     * Returns a key that sorts scores in descending order. Positive and negative zero have the same key, because sorting and
     * searching distinguish them.
     */
    private static float descending(float score) {
        return 0f - score;
    }

    @Override
    public String toString() {
        return "Vocabulary of " + size() + " tokens";
    }
}
