package io.multihead.decoder;

import java.util.Arrays;

/** A growing list of token ids. */
final class TokenList {
    private int[] ids = new int[64];
    private int size;

    TokenList() {}

    void add(int id) {
        if (size == ids.length) {
            ids = Arrays.copyOf(ids, 2 * size);
        }
        ids[size++] = id;
    }

    int get(int index) {
        return ids[index];
    }

    int size() {
        return size;
    }

    /** Returns the internal array, whose first {@link #size} elements are the ids. */
    int[] array() {
        return ids;
    }

    void truncate(int newSize) {
        size = newSize;
    }

    int[] toArray(int from) {
        return Arrays.copyOfRange(ids, from, size);
    }
}
