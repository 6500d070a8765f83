package io.multihead.internal.attention.keyvalue;

import io.multihead.compute.Compute;
import io.multihead.tensor.Tensor;

/**
 * A storage of the keys and values of a batch of sequences: tensors, packed sequences, pages, or a cache. Read by several
 * threads at once while attention runs; must not change then.
 */
public interface KeyValueSource {
    int sequences();

    /** Returns the number of key/value heads. */
    int heads();

    /** Returns the elements of a key. */
    int headDim();

    int valueDim();

    /** Returns the number of keys of a sequence, those before {@link #firstKey} included: the position of its next token. */
    long keys(int sequence);

    /** Returns the size of the key axis of masks and weights: the most {@link #keys} of a sequence, or more. */
    default long maxKeys() {
        long most = 0;
        for (int sequence = 0; sequence < sequences(); sequence++) {
            most = Math.max(most, keys(sequence));
        }
        return most;
    }

    /** Returns the first key that still exists: 0 unless older keys were given up. */
    default long firstKey(int sequence) {
        return 0;
    }

    /** Returns how many keys of all sequences come before the ones stored here and are stored elsewhere: whole splits. */
    default long start() {
        return 0;
    }

    /**
     * Locates a key and its value, and those stored next to them.
     *
     * @param key a multiple of {@link KeyValueSpan#MIN_PANEL_KEYS}, or the first key after a span that was located before
     * @param span receives the location
     */
    void locate(int sequence, int head, long key, KeyValueSpan span);

    /**
     * Fails if a tensor that will be written overlaps the memory.
     *
     * @param written a result of the call
     * @param argument its name
     */
    void requireApart(Tensor written, String argument);

    /** Fails unless all threads can read the memory. */
    void requireAccess(Compute cpu);
}
