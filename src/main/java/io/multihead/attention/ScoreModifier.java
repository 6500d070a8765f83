package io.multihead.attention;

/**
 * Changes single scores before the softmax, as the score function of FlexAttention (He et al. 2024). It allows every formula, but it is
 * slow: it is called once per score, while masks and the other options work on whole vectors.
 *
 * <p>Called by several threads at once, in any order, for scores that the mask does not hide; it must depend on nothing but its arguments.
 */
@FunctionalInterface
public interface ScoreModifier {
    /**
     * Returns the score that enters the softmax.
     *
     * @param batch the sequence
     * @param head the query head
     * @param query the query, counted from the call's first of its sequence
     * @param key the key, counted from the sequence's first
     * @param score scaled, capped, and with its biases added
     * @return another score; minus infinity removes the key
     */
    float apply(long batch, long head, long query, long key, float score);
}
