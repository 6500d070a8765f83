package io.multihead.grammar;

/**
 * Which tokens may come next in one text. A generation asks for the mask of the next token, and tells which token was chosen; tokens
 * that were accepted can be rolled back, as draft tokens that are refused, and a filter can be forked with its session. Tokens that end a
 * text are tokens like others: they are allowed where the text may end.
 *
 * <p>A filter belongs to one text, and is not thread-safe. The result of {@link #restrict} must depend on the accepted tokens alone, so that a text
 * is the same in any batch.
 */
public interface TokenFilter {
    /**
     * Forbids the tokens that may not come next. A filter only forbids: several filters can restrict one mask.
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
     * Takes the token that was chosen.
     *
     * @param token an id that {@link #restrict} allowed
     * @throws IllegalArgumentException if the token is not allowed; the filter is then as before
     */
    void accept(int token);

    /**
     * Takes back the last tokens.
     *
     * @param tokens how many, from 0 to the number of accepted tokens
     * @throws IllegalArgumentException if so many tokens were not accepted
     */
    void rollBack(int tokens);

    /** {@return a filter in the same state, for a text that continues this one}. Both can be used from then on, on different threads. */
    TokenFilter fork();
}
