package io.multihead.encoder;

/**
 * The vector of one text.
 *
 * @param vector its elements; the receiver owns the array
 * @param tokens tokens of the text and its prompt, without {@code [CLS]} and {@code [SEP]}
 * @param ignoredTokens the number of these tokens that were truncated, at the end
 */
public record TextEmbedding(float[] vector, int tokens, int ignoredTokens) {}
