package io.multihead.cache;

import io.multihead.compute.Compute;
import io.multihead.internal.Checks;
import io.multihead.internal.attention.keyvalue.KeyValueSource;
import io.multihead.internal.attention.keyvalue.KeyValueSpan;
import io.multihead.tensor.Tensor;

/** Some sequences of one layer, as long as they are when attention asks. */
final class CacheView implements KeyValueSource {
    private final KeyValueCache cache;
    private final int layer;
    private final int[] sequences;

    CacheView(KeyValueCache cache, int layer, int[] sequences) {
        this.cache = cache;
        this.layer = layer;
        this.sequences = sequences;
    }

    @Override
    public int sequences() {
        return sequences.length;
    }

    @Override
    public int heads() {
        return cache.config().heads();
    }

    @Override
    public int headDim() {
        return cache.config().headDim();
    }

    @Override
    public int valueDim() {
        return cache.config().valueDim();
    }

    @Override
    public long keys(int sequence) {
        return cache.length(layer, sequence(sequence));
    }

    @Override
    public long firstKey(int sequence) {
        return cache.firstKey(sequence(sequence));
    }

    private int sequence(int index) {
        return sequences[(int) Checks.index(index, sequences.length, "sequence")];
    }

    @Override
    public void locate(int sequence, int head, long key, KeyValueSpan to) {
        PagePool pool = cache.pool();
        int page = cache.page(sequences[sequence], key);
        to.keys(pool.pageTokens)
                .panels(
                        pool.slab(page),
                        pool.config.dtype(),
                        pool.keyAt(page, layer, head),
                        pool.valueAt(page, layer, head),
                        pool.isFinite(page, layer, head));
        int scaleAt = pool.scaleAt(page, layer, head);
        to.scales(pool.scales(page), scaleAt, scaleAt + pool.pageTokens);
    }

    /** Its memory is the cache's own, on the heap. */
    @Override
    public void requireUsable(Compute cpu, Tensor written, String argument) {}
}
