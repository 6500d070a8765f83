package io.multihead.internal.attention;

import io.multihead.internal.layout.Positions;
import io.multihead.tensor.Tensor;

/**
 * The query heads of one sequence that share a key/value head. Query rows are numbered in the order of the heads, so that each key is read
 * once for all of them. It is a cursor of one thread, which moves from task to task.
 */
public final class HeadGroup {
    private static final AttentionProblem NO_PROBLEM = new AttentionProblem();

    private AttentionProblem problem = NO_PROBLEM;
    private int sequence;
    private int keyValueHead;
    private long queries;
    private long heads;

    /** Creates a cursor that is bound before each use. */
    public HeadGroup() {}

    /** Moves to a group. */
    public void bind(AttentionProblem newProblem, int newSequence, int newKeyValueHead) {
        problem = newProblem;
        sequence = newSequence;
        keyValueHead = newKeyValueHead;
        queries = newProblem.queries(newSequence);
        heads = newProblem.headsPerGroup();
    }

    /** Drops the reference to the call. */
    public void release() {
        problem = NO_PROBLEM;
    }

    /** Returns the parameters of the call. */
    public AttentionProblem problem() {
        return problem;
    }

    public int sequence() {
        return sequence;
    }

    public int keyValueHead() {
        return keyValueHead;
    }

    /** Returns the number of queries of the sequence. */
    public long queries() {
        return queries;
    }

    /** Returns the number of query rows of all heads of the group. */
    public long rows() {
        return heads * queries;
    }

    public long head(long row) {
        return keyValueHead * heads + row / queries;
    }

    /** Returns the query of a row, counted from the first query of the sequence. */
    public long query(long row) {
        return row % queries;
    }

    /** Returns the number of the next {@code count} rows that belong to the same query head and are therefore rows of one matrix. */
    public int rowsOfHead(long row, int count) {
        return (int) Math.min(count, queries - query(row));
    }

    /** Returns the position of a row's first number in a tensor {@code [batch, queryHeads, queries, ...]}. */
    public long position(Tensor tensor, long row) {
        return problem.position(tensor, sequence, head(row), query(row));
    }

    /** Returns the position of a key's first number in a tensor {@code [batch, keyValueHeads, keys, dim]}. */
    public long keyPosition(Tensor tensor, long key) {
        return Positions.of(tensor, sequence, keyValueHead, key);
    }

    /** Returns the last two words of the Philox counter of a row's dropout: the query, and batch and head as one number. */
    public long dropoutCounter(long row) {
        return query(row) & 0xffffffffL | sequence * problem.heads() + head(row) << 32;
    }

    /** Returns a number that is unique to this group and call. */
    public long tag() {
        return problem.tag(sequence, keyValueHead);
    }
}
