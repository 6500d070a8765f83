package io.multihead.internal.attention;

import io.multihead.internal.layout.Positions;
import io.multihead.tensor.Tensor;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * The parameters of one call: sizes, the first tokens of packed sequences of queries, and the transforms of scores. It is bound before the
 * call runs; after that, all threads only read it.
 */
public final class AttentionProblem {
    private static final AtomicLong TAGS = new AtomicLong();

    private final ScoreRule scores = new ScoreRule();
    private long sequences;
    private long heads;
    private long keyValueHeads;
    private long queries;
    private long keys;
    private int headDim;
    private int valueDim;
    private long firstTag;
    private long @Nullable [] offsets;

    /** Creates a problem that is bound before each use. */
    public AttentionProblem() {}

    /**
     * Sets the sizes of the queries.
     *
     * @param query {@code [sequences, queryHeads, queries, headDim]}, or {@code [1, queryHeads, tokens, headDim]} with offsets
     * @param newOffsets the first token of each packed sequence and the end of the last one; null if every batch is one sequence
     */
    public void bindQuery(Tensor query, long @Nullable [] newOffsets) {
        offsets = newOffsets;
        sequences = newOffsets == null ? query.dim(0) : newOffsets.length - 1;
        heads = query.dim(1);
        queries = newOffsets == null ? query.dim(2) : -1;
        headDim = (int) query.dim(3);
    }

    /**
     * Sets the sizes of keys and values, after {@link #bindQuery}.
     *
     * @param newKeys size of the key axis of masks and weights: the keys of the longest sequence, or more
     */
    public void bindKeys(long newKeyValueHeads, long newKeys, int newValueDim) {
        keyValueHeads = newKeyValueHeads;
        keys = newKeys;
        valueDim = newValueDim;
        firstTag = TAGS.getAndAdd(sequences * keyValueHeads);
    }

    /** Returns the transforms of scores and weights. */
    public ScoreRule scores() {
        return scores;
    }

    /** Returns the number of sequences, which is the batch size unless sequences are packed. */
    public long sequences() {
        return sequences;
    }

    /** Returns the number of query heads. */
    public long heads() {
        return heads;
    }

    public long keyValueHeads() {
        return keyValueHeads;
    }

    /** Returns the number of query heads that share a key/value head. */
    public long headsPerGroup() {
        return keyValueHeads == 0 ? 0 : heads / keyValueHeads;
    }

    /** Returns the number of queries of every sequence, or -1 if sequences are packed. */
    public long queries() {
        return queries;
    }

    public long queries(int sequence) {
        return offsets == null ? queries : offsets[sequence + 1] - offsets[sequence];
    }

    /** Returns the size of the key axis of masks and weights. */
    public long keys() {
        return keys;
    }

    /** Returns the number of elements of a query and of a key. */
    public int headDim() {
        return headDim;
    }

    public int valueDim() {
        return valueDim;
    }

    /** Returns the position of an element's first number in a tensor {@code [batch, queryHeads, queries, ...]}. */
    public long position(Tensor tensor, int sequence, long head, long query) {
        return Positions.ofToken(tensor, offsets, sequence, head, query);
    }

    /** Returns a number that is unique to this call and head group: the key of a thread's cache of packed panels. */
    public long tag(int sequence, int keyValueHead) {
        return firstTag + sequence * keyValueHeads + keyValueHead;
    }

    /** Drops every reference to the caller's memory. */
    public void clear() {
        offsets = null;
        scores.clear();
    }
}
