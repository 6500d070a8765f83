package io.multihead.attention;

import io.multihead.compute.Compute;
import io.multihead.internal.Checks;
import io.multihead.internal.call.Operation;
import io.multihead.tensor.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * Keys and values in two tensors: one sequence per batch, with all keys or a number of its own, or sequences packed one after
 * another in one batch.
 */
final class TensorKeyValues implements KeyValueView {
    private static final long[] NONE = {};

    private @Nullable Tensor key;
    private @Nullable Tensor value;
    /** Where packed sequences start; empty when every batch is one. */
    private final long[] offsets;
    /** Keys of each sequence; empty when packed, or when every batch has all keys. */
    private final long[] lengths;

    /** A view that is bound before each use. */
    TensorKeyValues() {
        offsets = NONE;
        lengths = NONE;
    }

    /** A view of all keys. */
    TensorKeyValues(Tensor key, Tensor value) {
        this(key, value, NONE, NONE);
    }

    private TensorKeyValues(Tensor key, Tensor value, long[] offsets, long[] lengths) {
        AttentionChecks.requireKeyValues(key, value);
        this.offsets = offsets;
        this.lengths = lengths;
        bind(key, value);
    }

    /** Returns a view of packed sequences; takes checked offsets. */
    static TensorKeyValues packed(Tensor key, Tensor value, long[] offsets) {
        return new TensorKeyValues(key, value, offsets, NONE);
    }

    /** Returns a view of the first keys of each batch; takes checked lengths. */
    static TensorKeyValues ofLengths(Tensor key, Tensor value, long[] lengths) {
        return new TensorKeyValues(key, value, NONE, lengths);
    }

    /** Takes checked tensors, or none. */
    void bind(@Nullable Tensor newKey, @Nullable Tensor newValue) {
        key = newKey;
        value = newValue;
    }

    Tensor key() {
        return Checks.notNull(key, "key");
    }

    Tensor value() {
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
        Checks.index(sequence, sequences(), "sequence");
        if (lengths.length > 0) {
            return lengths[sequence];
        }
        return offsets.length > 0 ? offsets[sequence + 1] - offsets[sequence] : key().dim(2);
    }

    @Override
    public long maxKeys() {
        return offsets.length > 0 ? KeyValueView.super.maxKeys() : key().dim(2);
    }

    @Override
    public void locate(int sequence, int head, long at, KeyValuePage page) {
        Checks.notNull(page, "page");
        Tensor k = key();
        Tensor v = value();
        page.keys(keys(sequence) - at)
                .keyRows(k, start(k, sequence, head, at), k.stride(2), k.stride(3))
                .valueRows(v, start(v, sequence, head, at), v.stride(2), v.stride(3));
    }

    private long start(Tensor tensor, int sequence, int head, long at) {
        boolean packed = offsets.length > 0;
        return tensor.offset()
                + (packed ? 0 : sequence) * tensor.stride(0)
                + head * tensor.stride(1)
                + (at + (packed ? offsets[sequence] : 0)) * tensor.stride(2);
    }

    @Override
    public void requireUsable(Compute cpu, Tensor written, String argument) {
        Checks.notNull(cpu, "cpu");
        Checks.notNull(written, Checks.notNull(argument, "argument"));
        Operation.execution(cpu).requireAccess(key(), "key");
        Operation.execution(cpu).requireAccess(value(), "value");
        AttentionChecks.requireApart(written, argument, key(), "key");
        AttentionChecks.requireApart(written, argument, value(), "value");
    }
}
