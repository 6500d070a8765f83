package io.multihead.encoder;

/**
 * The vector of one text.
 *
 * @param vector its elements; belongs to the receiver
 * @param tokens tokens of the text and its prompt, without {@code [CLS]} and {@code [SEP]}
 * @param ignoredTokens how many of them, at the end, were cut off
 */
public record TextEmbedding(float[] vector, int tokens, int ignoredTokens) {}
