package io.multihead.grammar;

/**
 * Decides which tokens may come next in one text. A generation requests the mask of the next token, and reports the chosen token. Accepted
 * tokens can be rolled back, for example rejected draft tokens. A filter can be forked with its session. End tokens are treated like other
 * tokens, and they are allowed if the text may end.
 *
 * <p>A filter belongs to one text, and is not thread-safe. The result of {@link #restrict} must depend only on the accepted tokens, so that a text
 * is the same in any batch.
 */
public interface TokenFilter {
    /**
     * Forbids the tokens that may not come next. A filter only forbids tokens, so several filters can restrict one mask.
     *
     * @param mask a mask of the model's vocabulary
     * @throws IllegalStateException if the limits of the filter are exceeded
     */
    void restrict(TokenMask mask);

    /**
     * Changes the model's logits of the next token, before forbidden tokens are removed. The default changes nothing.
     *
     * @param logits a logit for each token of the model's vocabulary; logits of allowed tokens must stay finite
     */
    default void adjust(float[] logits) {}

    /**
     * Accepts the chosen token.
     *
     * @param token an id that {@link #restrict} allowed
     * @throws IllegalArgumentException if the token is not allowed; the filter is then unchanged
     */
    void accept(int token);

    /**
     * Rolls back the last tokens.
     *
     * @param tokens the number of tokens, from 0 to the number of accepted tokens
     * @throws IllegalArgumentException if fewer tokens were accepted
     */
    void rollBack(int tokens);

    /**
     * {@return a filter in the same state, for another continuation of the text}. Both filters can be used afterwards, on different
     * threads.
     */
    TokenFilter fork();
}
