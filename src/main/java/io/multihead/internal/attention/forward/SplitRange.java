package io.multihead.internal.attention.forward;

import io.multihead.internal.attention.AttentionBlocking;
import io.multihead.internal.attention.AttentionProblem;
import io.multihead.internal.attention.keyvalue.KeyValueSource;
import io.multihead.internal.attention.mask.BoundMask;

/**
 * The splits of a sequence's keys that become tasks: the number of the first, counted from key 0, and how many. There is at least one,
 * so that the rows of a sequence without visible keys have a task that writes them.
 */
final class SplitRange {
    private long first;
    private long count = 1;

    /** Returns the number of splits that a source stores of its longest sequence; one if there are no keys. */
    static long stored(KeyValueSource source) {
        return Math.max(1, Math.ceilDiv(source.maxKeys() - source.start(), (long) AttentionBlocking.KEY_SPLIT));
    }

    /** Sets one task over all keys, which finds its splits itself. */
    void setWhole() {
        first = 0;
        count = 1;
    }

    /** Sets all splits of a source, for a caller who wants the state of each. */
    void setStored(KeyValueSource source) {
        first = source.start() / AttentionBlocking.KEY_SPLIT;
        count = stored(source);
    }

    /**
     * Sets the splits that some query of a sequence can see, by causality, windows, key lengths and the keys that the storage still has. Others
     * have states of no key, whose merge changes no bit. Ranges of visible keys only move forward from query to query, so that the first
     * query has their beginning and the last one their end.
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
