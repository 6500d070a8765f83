package io.multihead.encoder;

import io.multihead.attention.PackedSequences;
import java.util.Arrays;

/** Sequences of token ids packed one after another. Reused; for one caller at a time. */
final class TokenBatch {
    private final int[] ids;
    private final int[] positions;
    private int tokens;
    private int sequences;
    private long[] starts = new long[8];

    TokenBatch(int capacity) {
        ids = new int[capacity];
        positions = new int[capacity];
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

    /** Returns the boundaries of the sequences. */
    PackedSequences packed() {
        long[] offsets = Arrays.copyOf(starts, sequences + 1);
        offsets[sequences] = tokens;
        return PackedSequences.of(offsets);
    }

    boolean hasRoom(int more) {
        return tokens + more <= ids.length;
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
