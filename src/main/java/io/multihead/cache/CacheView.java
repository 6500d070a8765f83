package io.multihead.cache;

import io.multihead.compute.Compute;
import io.multihead.internal.attention.keyvalue.KeyValueSource;
import io.multihead.internal.attention.keyvalue.KeyValueSpan;
import io.multihead.internal.base.Checks;
import io.multihead.tensor.Tensor;

/** A view of some sequences of one layer, with the length that they have when attention reads them. */
final class CacheView implements KeyValueSource {
    private final PagePool pool;
    private final Sequences sequences;
    private final int layer;
    private final int[] numbers;

    CacheView(PagePool pool, Sequences sequences, int layer, int[] numbers) {
        this.pool = pool;
        this.sequences = sequences;
        this.layer = layer;
        this.numbers = numbers;
    }

    @Override
    public int sequences() {
        return numbers.length;
    }

    @Override
    public int heads() {
        return pool.layout.heads();
    }

    @Override
    public int headDim() {
        return pool.layout.headDim();
    }

    @Override
    public int valueDim() {
        return pool.layout.valueDim();
    }

    @Override
    public long keys(int sequence) {
        return sequences.get(sequence(sequence)).lengths[layer];
    }

    @Override
    public long firstKey(int sequence) {
        return sequences.kept(sequence(sequence));
    }

    private int sequence(int index) {
        return numbers[(int) Checks.index(index, numbers.length, "sequence")];
    }

    @Override
    public void locate(int sequence, int head, long key, KeyValueSpan to) {
        int part = pool.part(sequences.page(numbers[sequence], key), layer, head);
        to.keys(pool.pageTokens)
                .panels(pool.slabOf(part), pool.keyAt(part), pool.valueAt(part), pool.isFinite(part))
                .scales(pool.scaleIndex(part), pool.layout.keyScales());
    }

    @Override
    public void requireAccess(Compute cpu) {
        pool.requireAccess(cpu);
    }

    @Override
    public void requireApart(Tensor written, String argument) {
        // pages are private memory of the cache, which no tensor overlaps
    }
}
