package io.multihead.internal.attention.forward;

import io.multihead.internal.attention.AttentionBlocking;
import io.multihead.internal.attention.AttentionProblem;
import io.multihead.internal.attention.keyvalue.KeyValueSource;
import io.multihead.internal.attention.mask.BoundMask;

/**
 * The splits of a sequence's keys that become tasks: the number of the first split, counted from key 0, and their count. There is at least
 * one split, so that the rows of a sequence without visible keys have a task that writes them.
 */
final class SplitRange {
    private long first;
    private long count = 1;

    /** Returns the number of splits of a source's longest sequence; one if there are no keys. */
    static long stored(KeyValueSource source) {
        return Math.max(1, Math.ceilDiv(source.maxKeys() - source.start(), (long) AttentionBlocking.KEY_SPLIT));
    }

    /** Sets one task over all keys; the task determines its splits itself. */
    void setWhole() {
        first = 0;
        count = 1;
    }

    /** Sets all splits of a source, for a caller that requests the state of each. */
    void setStored(KeyValueSource source) {
        first = source.start() / AttentionBlocking.KEY_SPLIT;
        count = stored(source);
    }

    /**
     * Sets the splits that some query of a sequence can see. Causality, windows, key lengths and the keys that the storage still has
     * determine them. The state of any other split has seen no key, and its merge does not change any bit. Ranges of visible keys only move
     * forward from query to query, so the range of the first query has the smallest key and the range of the last query has the largest
     * end.
     */
    void setVisible(AttentionProblem problem, BoundMask mask, KeyValueSource source, int sequence) {
        long queries = problem.queries(sequence);
        long keys = mask.end(sequence, source.keys(sequence));
        long offset = mask.offset(sequence, queries, keys);
        long firstKey = Math.max(source.firstKey(sequence), mask.firstKey(0, offset));
        long end = mask.visibleKeys(queries - 1, offset, keys);
        first = firstKey / AttentionBlocking.KEY_SPLIT;
        count = Math.max(1, Math.ceilDiv(end, (long) AttentionBlocking.KEY_SPLIT) - first);
    }

    long first() {
        return first;
    }

    long count() {
        return count;
    }
}
