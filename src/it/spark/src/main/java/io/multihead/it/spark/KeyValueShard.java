package io.multihead.it.spark;

import java.io.Serializable;

/**
 * Keys and values of some consecutive tokens of one context.
 *
 * @param index the index of the shard among all shards of the context, from 0
 * @param firstKey position of the first token in the context
 * @param tokens number of tokens
 * @param keys {@code [keyValueHeads, tokens, headDim]}, row-major
 * @param values {@code [keyValueHeads, tokens, valueDim]}, row-major
 */
@SuppressWarnings("ArrayRecordComponent")
public record KeyValueShard(int index, long firstKey, int tokens, float[] keys, float[] values)
        implements Serializable {}
