package io.multihead.attention;

/**
 * Changes single scores before the softmax, like the score function of FlexAttention (He et al. 2024). It allows every formula, but it is
 * slow: it is called once per score, while masks and the other options work on whole vectors.
 *
 * <p>Several threads call a modifier at the same time and in any order, for scores that the mask does not hide. Its result must depend only
 * on its arguments.
 */
@FunctionalInterface
public interface ScoreModifier {
    /**
     * Returns the score that enters the softmax.
     *
     * @param batch the sequence
     * @param head the query head
     * @param query the query, counted from the first query of its sequence in the call
     * @param key the key, counted from the first key of the sequence
     * @param score scaled, capped, and with its biases added
     * @return the new score; minus infinity removes the key
     */
    float apply(long batch, long head, long query, long key, float score);
}
