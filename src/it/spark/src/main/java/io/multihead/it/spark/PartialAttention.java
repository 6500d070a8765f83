package io.multihead.it.spark;

import io.multihead.attention.AttentionState;
import io.multihead.tensor.Tensor;
import java.io.Serializable;

/**
 * Attention over some shards in the form that executors send: the contents of {@link AttentionState} as arrays.
 *
 * @param index index among the states of its level, from 0. For a shard, it is the index of the shard.
 * @param shards number of covered shards
 * @param output {@code [heads, queries, valueDim]}
 * @param logSumExp {@code [heads, queries]}, in f64, so that merges do not round it
 */
@SuppressWarnings("ArrayRecordComponent")
public record PartialAttention(int index, int shards, float[] output, double[] logSumExp) implements Serializable {
    static PartialAttention empty(int index, ShardedQuery query) {
        int rows = query.heads() * query.queries();
        return new PartialAttention(index, 1, new float[rows * query.valueDim()], new double[rows]);
    }

    /** Returns a view of the arrays. */
    AttentionState state(ShardedQuery query) {
        long heads = query.heads();
        long queries = query.queries();
        return new AttentionState(
                Tensor.of(output, 1, heads, queries, query.valueDim()), Tensor.of(logSumExp, 1, heads, queries));
    }
}
