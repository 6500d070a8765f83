package io.multihead.encoder;

import io.multihead.attention.KeyValueView;
import io.multihead.attention.PackedSequences;
import io.multihead.internal.attention.keyvalue.KeyValueAccess;
import io.multihead.internal.attention.keyvalue.TensorKeyValues;
import io.multihead.tensor.Tensor;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** Sequences of token ids packed one after another. Reused; for one caller at a time. */
final class TokenBatch {
    private final int[] ids;
    private final int[] positions;
    /** One for each number of sequences, since attention needs arrays of the exact length. */
    private final @Nullable Boundaries[] boundaries;

    /** Where sequences start and the last one ends, and a view of keys and values that share this array. */
    private record Boundaries(long[] offsets, PackedSequences packed, TensorKeyValues source, KeyValueView keyValues) {
        static Boundaries of(int sequences) {
            long[] offsets = new long[sequences + 1];
            TensorKeyValues source = TensorKeyValues.packed(offsets);
            return new Boundaries(
                    offsets,
                    KeyValueAccess.sequences(offsets, PackedSequences.class),
                    source,
                    KeyValueAccess.view(source, KeyValueView.class));
        }
    }

    private int tokens;
    private int sequences;
    private long[] starts = new long[8];

    TokenBatch(int capacity) {
        ids = new int[capacity];
        positions = new int[capacity];
        boundaries = new Boundaries[capacity + 1];
    }

    int capacity() {
        return ids.length;
    }

    int tokens() {
        return tokens;
    }

    int sequences() {
        return sequences;
    }

    int id(int token) {
        return ids[token];
    }

    int position(int token) {
        return positions[token];
    }

    /** Returns the first token of a sequence; that of the number of sequences is the number of tokens. */
    int start(int sequence) {
        return sequence == sequences ? tokens : (int) starts[sequence];
    }

    /** Returns the boundaries of the sequences, which a later batch changes. */
    PackedSequences packed() {
        return boundaries().packed;
    }

    /** Returns the keys and values of these sequences, which belong to this batch until the next call. */
    KeyValueView keyValues(Tensor keys, Tensor values) {
        Boundaries exact = boundaries();
        exact.source.bind(keys, values);
        return exact.keyValues;
    }

    private Boundaries boundaries() {
        Boundaries exact = boundaries[sequences];
        if (exact == null) {
            exact = Boundaries.of(sequences);
            boundaries[sequences] = exact;
        }
        System.arraycopy(starts, 0, exact.offsets, 0, sequences);
        exact.offsets[sequences] = tokens;
        return exact;
    }

    /** Begins a sequence. */
    void begin() {
        if (sequences == starts.length) {
            starts = Arrays.copyOf(starts, 2 * sequences);
        }
        starts[sequences++] = tokens;
    }

    /** Adds a token to the last sequence. */
    void add(int id) {
        positions[tokens] = tokens - (int) starts[sequences - 1];
        ids[tokens++] = id;
    }

    void clear() {
        tokens = 0;
        sequences = 0;
    }
}
