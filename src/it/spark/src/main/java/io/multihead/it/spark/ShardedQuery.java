package io.multihead.it.spark;

import java.io.Serializable;

/**
 * Queries that attend to a whole context.
 *
 * @param heads query heads, a multiple of keyValueHeads
 * @param keyValueHeads heads of keys and values
 * @param queries number of query tokens
 * @param headDim elements of a query and a key
 * @param valueDim elements of a value
 * @param values {@code [heads, queries, headDim]}, row-major
 */
@SuppressWarnings("ArrayRecordComponent")
public record ShardedQuery(int heads, int keyValueHeads, int queries, int headDim, int valueDim, float[] values)
        implements Serializable {}
