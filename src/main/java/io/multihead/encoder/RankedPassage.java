package io.multihead.encoder;

/**
 * A passage and its score for a query.
 *
 * @param index of the passage in the list that was ranked
 * @param score of the passage; higher means more relevant
 */
public record RankedPassage(int index, double score) {}
