package io.multihead.internal.attention.keyvalue;

import io.multihead.compute.Compute;
import io.multihead.internal.attention.HeadRows;
import io.multihead.internal.base.Checks;
import io.multihead.internal.call.TensorChecks;
import io.multihead.internal.layout.Positions;
import io.multihead.tensor.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * Keys and values in two tensors: one sequence per batch, with all keys or a separate number of keys, or packed sequences in one batch.
 */
public final class TensorKeyValues implements KeyValueSource {
    private static final long[] NONE = {};

    private @Nullable Tensor key;
    private @Nullable Tensor value;
    /** The first tokens of packed sequences; empty if every batch is one sequence. */
    private final long[] offsets;
    /** The number of keys of each sequence; empty if every batch, or every packed sequence, has all keys. */
    private final long[] lengths;

    /** Creates a source that is bound before each use. */
    public TensorKeyValues() {
        offsets = NONE;
        lengths = NONE;
    }

    /** Creates a source of all keys of checked tensors. */
    public TensorKeyValues(Tensor key, Tensor value) {
        this(key, value, NONE, NONE);
    }

    private TensorKeyValues(@Nullable Tensor key, @Nullable Tensor value, long[] offsets, long[] lengths) {
        this.offsets = offsets;
        this.lengths = lengths;
        this.key = key;
        this.value = value;
    }

    /** Returns a source of packed sequences; takes checked tensors and offsets. */
    public static TensorKeyValues packed(Tensor key, Tensor value, long[] offsets) {
        return new TensorKeyValues(key, value, offsets, NONE);
    }

    /**
     * Returns a source of the first keys of packed sequences that is bound before each use. The offsets and the numbers of keys are shared,
     * and may change between uses.
     */
    public static TensorKeyValues packed(long[] offsets, long[] lengths) {
        return new TensorKeyValues(null, null, offsets, lengths);
    }

    /** Returns a source of the first keys of each batch; takes checked tensors and lengths. */
    public static TensorKeyValues ofLengths(Tensor key, Tensor value, long[] lengths) {
        return new TensorKeyValues(key, value, NONE, lengths);
    }

    /** Sets checked tensors, or none. */
    public void bind(@Nullable Tensor newKey, @Nullable Tensor newValue) {
        key = newKey;
        value = newValue;
    }

    private Tensor key() {
        return Checks.notNull(key, "key");
    }

    private Tensor value() {
        return Checks.notNull(value, "value");
    }

    @Override
    public int sequences() {
        return offsets.length > 0 ? offsets.length - 1 : (int) key().dim(0);
    }

    @Override
    public int heads() {
        return (int) key().dim(1);
    }

    @Override
    public int headDim() {
        return (int) key().dim(3);
    }

    @Override
    public int valueDim() {
        return (int) value().dim(3);
    }

    @Override
    public long keys(int sequence) {
        if (lengths.length > 0) {
            return lengths[sequence];
        }
        return offsets.length > 0 ? offsets[sequence + 1] - offsets[sequence] : key().dim(2);
    }

    @Override
    public long maxKeys() {
        return offsets.length > 0 ? KeyValueSource.super.maxKeys() : key().dim(2);
    }

    @Override
    public void locate(int sequence, int head, long at, KeyValueSpan span) {
        Tensor k = key();
        Tensor v = value();
        span.keys(keys(sequence) - at)
                .keyRows(k, start(k, sequence, head, at), k.stride(2), k.stride(3))
                .valueRows(v, start(v, sequence, head, at), v.stride(2), v.stride(3))
                .adjacentHeads(HeadRows.adjacent(k, head), HeadRows.adjacent(v, head));
    }

    private long start(Tensor tensor, int sequence, int head, long at) {
        return Positions.ofToken(tensor, offsets.length > 0 ? offsets : null, sequence, head, at);
    }

    @Override
    public void requireAccess(Compute cpu) {
        TensorChecks.requireAccess(cpu, key(), "key");
        TensorChecks.requireAccess(cpu, value(), "value");
    }

    @Override
    public void requireApart(Tensor written, String argument) {
        TensorChecks.requireApart(written, argument, key(), "key");
        TensorChecks.requireApart(written, argument, value(), "value");
    }
}
