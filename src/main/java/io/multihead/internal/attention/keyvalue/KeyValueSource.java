package io.multihead.internal.attention.keyvalue;

import io.multihead.compute.Compute;
import io.multihead.tensor.Tensor;

/**
 * A storage of the keys and values of a batch of sequences: tensors, packed sequences, pages, or a cache. Several threads read it at the
 * same time while attention runs; it must not change during that time.
 */
public interface KeyValueSource {
    int sequences();

    /** Returns the number of key/value heads. */
    int heads();

    /** Returns the number of elements of a key. */
    int headDim();

    int valueDim();

    /** Returns the number of keys of a sequence, including the keys before {@link #firstKey}: the position of its next token. */
    long keys(int sequence);

    /** Returns the size of the key axis of masks and weights: the largest {@link #keys} of a sequence, or more. */
    default long maxKeys() {
        long most = 0;
        for (int sequence = 0; sequence < sequences(); sequence++) {
            most = Math.max(most, keys(sequence));
        }
        return most;
    }

    /** Returns the first key that still exists: 0 unless older keys were dropped. */
    default long firstKey(int sequence) {
        return 0;
    }

    /**
     * Returns the number of keys of every sequence that precede the stored keys and are stored elsewhere: a multiple of the keys of a
     * split.
     */
    default long start() {
        return 0;
    }

    /**
     * Locates a key and its value, and the keys and values that are stored next to them.
     *
     * @param key a multiple of {@link KeyValueSpan#MIN_PANEL_KEYS}, or the first key after a span that was located before
     * @param span receives the location
     */
    void locate(int sequence, int head, long key, KeyValueSpan span);

    /**
     * Fails if a tensor that will be written overlaps the memory.
     *
     * @param written a result of the call
     * @param argument the name of the tensor in errors
     */
    void requireApart(Tensor written, String argument);

    /** Fails unless all threads can read the memory. */
    void requireAccess(Compute cpu);
}
