package io.multihead.encoder;

/**
 * A passage and its score for a query.
 *
 * @param index the index of the passage in the list that was ranked
 * @param score the score of the passage; a higher score means a more relevant passage
 */
public record RankedPassage(int index, double score) {}
