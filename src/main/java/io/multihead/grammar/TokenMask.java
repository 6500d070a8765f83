package io.multihead.grammar;

import io.multihead.internal.base.Checks;
import java.util.Arrays;

/** The tokens of a vocabulary that may come next, with one bit for each token. Not thread-safe. */
public final class TokenMask {
    private final int size;
    private final long[] words;

    /**
     * Creates a mask in which every token is allowed.
     *
     * @param size the number of tokens, at least 1
     */
    public TokenMask(int size) {
        this.size = Math.toIntExact(Checks.atLeast(size, 1, "size"));
        words = new long[Math.ceilDiv(size, Long.SIZE)];
        allowAll();
    }

    /** {@return the number of tokens; at least 1} */
    public int size() {
        return size;
    }

    /**
     * Returns whether a token is allowed.
     *
     * @param token an id; ids outside the mask are not allowed
     * @return whether the bit of the token is set
     */
    public boolean allows(int token) {
        return token >= 0 && token < size && (words[token >> 6] >>> token & 1) != 0;
    }

    /**
     * Returns the first allowed token from an id on.
     *
     * @param from an id, at least 0
     * @return an id, or -1 if no token is allowed from this id on
     */
    public int next(int from) {
        if (Checks.atLeast(from, 0, "from") >= size) {
            return -1;
        }
        int at = from >> 6;
        long word = words[at] & -1L << from;
        while (word == 0) {
            at++;
            if (at == words.length) {
                return -1;
            }
            word = words[at];
        }
        return at * Long.SIZE + Long.numberOfTrailingZeros(word);
    }

    /** {@return the number of allowed tokens; from 0 to {@link #size}} */
    public int count() {
        int count = 0;
        for (long word : words) {
            count += Long.bitCount(word);
        }
        return count;
    }

    /** Allows every token. */
    public void allowAll() {
        Arrays.fill(words, -1);
        if ((size & Long.SIZE - 1) != 0) {
            words[words.length - 1] = (1L << size) - 1;
        }
    }

    /** Forbids every token. */
    public void forbidAll() {
        Arrays.fill(words, 0);
    }

    /**
     * Allows a token.
     *
     * @param token from 0 to {@code size() - 1}
     */
    public void allow(int token) {
        Checks.index(token, size, "token");
        words[token >> 6] |= 1L << token;
    }

    /**
     * Forbids a token.
     *
     * @param token from 0 to {@code size() - 1}
     */
    public void forbid(int token) {
        Checks.index(token, size, "token");
        words[token >> 6] &= ~(1L << token);
    }

    /**
     * Forbids every token that another mask does not allow.
     *
     * @param other a mask of any size; tokens beyond the end of {@code other} become forbidden
     */
    public void retain(TokenMask other) {
        int shared = Math.min(words.length, Checks.notNull(other, "other").words.length);
        for (int i = 0; i < shared; i++) {
            words[i] &= other.words[i];
        }
        Arrays.fill(words, shared, words.length, 0);
    }

    /**
     * Sets the logits of forbidden tokens to negative infinity.
     *
     * @param logits a logit for each token; further elements are not changed
     */
    public void forbid(float[] logits) {
        int end = Math.min(size, Checks.notNull(logits, "logits").length);
        for (int from = 0; from < end; from += Long.SIZE) {
            long word = words[from >> 6];
            int behind = Math.min(end, from + Long.SIZE);
            if (word == 0) {
                Arrays.fill(logits, from, behind, Float.NEGATIVE_INFINITY);
            } else if (word != -1) {
                for (int token = from; token < behind; token++) {
                    logits[token] = (word >>> token & 1) == 0 ? Float.NEGATIVE_INFINITY : logits[token];
                }
            }
        }
    }

    /** Allows the tokens that another mask of the same size allows, too. */
    void add(TokenMask other) {
        for (int i = 0; i < words.length; i++) {
            words[i] |= other.words[i];
        }
    }
}
