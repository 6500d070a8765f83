package io.multihead.nn.attention;

import io.multihead.internal.nn.Views;
import io.multihead.tensor.Tensor;

/**
 * Query, key and value as heads after projection, or the gradients of these heads.
 *
 * @param query {@code [batch, queryHeads, queries, headDim]}
 * @param key {@code [batch, keyValueHeads, keys, headDim]}
 * @param value {@code [batch, keyValueHeads, keys, valueDim]}
 */
record ProjectedHeads(Tensor query, Tensor key, Tensor value) {
    /** Returns the heads in one tensor {@code [batch, tokens, queries, keys and values]}, the result of a fused projection. */
    static ProjectedHeads ofFused(MultiHeadConfig config, Tensor all) {
        return new ProjectedHeads(
                Projection.QUERY.heads(config, all),
                Projection.KEY.heads(config, all),
                Projection.VALUE.heads(config, all));
    }

    /** Returns the heads in three tensors {@code [batch, tokens, features]}, the results of separate projections. */
    static ProjectedHeads ofSeparate(MultiHeadConfig config, Tensor query, Tensor key, Tensor value) {
        return new ProjectedHeads(
                Views.splitHeads(query, Projection.QUERY.heads(config)),
                Views.splitHeads(key, Projection.KEY.heads(config)),
                Views.splitHeads(value, Projection.VALUE.heads(config)));
    }

    /** Returns the part of these heads with the given queries and keys. */
    ProjectedHeads slice(long firstQuery, long endQuery, long firstKey, long endKey) {
        return new ProjectedHeads(
                query.slice(2, firstQuery, endQuery), key.slice(2, firstKey, endKey), value.slice(2, firstKey, endKey));
    }
}
