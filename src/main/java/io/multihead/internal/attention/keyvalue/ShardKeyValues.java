package io.multihead.internal.attention.keyvalue;

import io.multihead.compute.Compute;
import io.multihead.tensor.Tensor;

/** Keys and values that follow {@code start} keys of the same sequences, which are stored elsewhere: a shard of a longer context. */
public final class ShardKeyValues implements KeyValueSource {
    private final KeyValueSource shard;
    private final long start;

    /**
     * Creates a shard.
     *
     * @param shard the keys and values, counted from 0
     * @param start the number of keys before the shard, a multiple of the keys of a split
     */
    public ShardKeyValues(KeyValueSource shard, long start) {
        this.shard = shard;
        this.start = start;
    }

    @Override
    public int sequences() {
        return shard.sequences();
    }

    @Override
    public int heads() {
        return shard.heads();
    }

    @Override
    public int headDim() {
        return shard.headDim();
    }

    @Override
    public int valueDim() {
        return shard.valueDim();
    }

    @Override
    public long keys(int sequence) {
        return start + shard.keys(sequence);
    }

    @Override
    public long maxKeys() {
        return start + shard.maxKeys();
    }

    @Override
    public long start() {
        return start;
    }

    @Override
    public long firstKey(int sequence) {
        return start + shard.firstKey(sequence);
    }

    @Override
    public void locate(int sequence, int head, long key, KeyValueSpan span) {
        shard.locate(sequence, head, key - start, span);
    }

    @Override
    public void requireApart(Tensor written, String argument) {
        shard.requireApart(written, argument);
    }

    @Override
    public void requireAccess(Compute cpu) {
        shard.requireAccess(cpu);
    }
}
