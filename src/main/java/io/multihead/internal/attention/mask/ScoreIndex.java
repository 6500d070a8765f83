package io.multihead.internal.attention.mask;

/** The index of the first score of a row: one object per thread, set before each row. */
public final class ScoreIndex {
    long batch;
    long head;
    long query;
    long key;

    public ScoreIndex() {}

    /** Moves to another score. */
    public void set(long newBatch, long newHead, long newQuery, long newKey) {
        batch = newBatch;
        head = newHead;
        query = newQuery;
        key = newKey;
    }
}
