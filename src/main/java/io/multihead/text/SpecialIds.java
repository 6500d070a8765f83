package io.multihead.text;

import io.multihead.internal.base.Checks;
import java.util.LinkedHashSet;
import java.util.Set;

/**
 * The ids of special tokens, or {@link #NONE} if a vocabulary has no such token.
 *
 * @param begin begins a text (BOS)
 * @param end ends a text (EOS)
 * @param unknown stands for text without a token
 * @param padding fills rows of a batch
 * @param stopTokens all tokens that end a generated text: the ends of text, of turn and of message
 * @param added the tokens, of {@code begin} and {@code end}, that the model's file puts around
 *     every text
 */
public record SpecialIds(
        int begin, int end, int unknown, int padding, Set<Integer> stopTokens, AddedSpecialTokens added) {
    /** No token. */
    public static final int NONE = -1;

    /** No special tokens. */
    public static final SpecialIds ABSENT =
            new SpecialIds(NONE, NONE, NONE, NONE, Set.of(), AddedSpecialTokens.NEITHER);

    /** The tokens that are put around every text. */
    public enum AddedSpecialTokens {
        /** None. */
        NEITHER,
        /** The token that begins a text. */
        BEGIN,
        /** The token that ends a text. */
        END,
        /** Both. */
        BOTH;

        /**
         * {@return the constant for two flags}
         *
         * @param begin whether the first token is added
         * @param end whether the last token is added
         */
        public static AddedSpecialTokens of(boolean begin, boolean end) {
            if (begin) {
                return end ? BOTH : BEGIN;
            }
            return end ? END : NEITHER;
        }

        /** {@return whether the token that begins a text is added} */
        public boolean begin() {
            return this == BEGIN || this == BOTH;
        }

        /** {@return whether the token that ends a text is added} */
        public boolean end() {
            return this == END || this == BOTH;
        }
    }

    /**
     * Checks that tokens to be added exist.
     *
     * @throws IllegalArgumentException if an id is below {@link #NONE}, or a token to be added is {@link #NONE}
     */
    public SpecialIds {
        Checks.atLeast(begin, NONE, "begin");
        Checks.atLeast(end, NONE, "end");
        Checks.atLeast(unknown, NONE, "unknown");
        Checks.atLeast(padding, NONE, "padding");
        stopTokens = Set.copyOf(Checks.notNull(stopTokens, "stopTokens"));
        for (int stop : stopTokens) {
            Checks.atLeast(stop, 0, "stopTokens");
        }
        if (Checks.notNull(added, "added").begin() && begin == NONE) {
            throw Checks.fail("begin", "no token", "expected a token, since it is added to every text");
        }
        if (added.end() && end == NONE) {
            throw Checks.fail("end", "no token", "expected a token, since it is added to every text");
        }
    }

    /**
     * {@return these ids with other tokens around every text}
     *
     * @param other the tokens to add
     */
    public SpecialIds withAdded(AddedSpecialTokens other) {
        return new SpecialIds(begin, end, unknown, padding, stopTokens, other);
    }

    /**
     * {@return these ids with more tokens that end a generated text}
     *
     * @param more their ids
     */
    public SpecialIds withStopTokens(Set<Integer> more) {
        Set<Integer> all = new LinkedHashSet<>(stopTokens);
        all.addAll(Checks.notNull(more, "more"));
        return new SpecialIds(begin, end, unknown, padding, all, added);
    }

    void requireBelow(int vocabularySize) {
        require(begin, vocabularySize, "begin");
        require(end, vocabularySize, "end");
        require(unknown, vocabularySize, "unknown");
        require(padding, vocabularySize, "padding");
        stopTokens.forEach(stop -> require(stop, vocabularySize, "stopTokens (eos_token_id)"));
    }

    private static void require(int id, int vocabularySize, String name) {
        if (id != NONE) {
            Checks.index(id, vocabularySize, name);
        }
    }
}
