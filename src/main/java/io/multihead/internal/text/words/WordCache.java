package io.multihead.internal.text.words;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The ids of words that were seen before: at most {@code SLOTS} words, each in the slot of its hash, in which a newer word replaces it.
 * Therefore the cache takes at most 4 MiB. Thread-safe without locks: an entry is immutable, and a word that is divided twice has the
 * same ids.
 */
public final class WordCache {
    /** The length of the longest words that are kept, since longer words rarely occur twice. */
    public static final int LONGEST = 32;

    private static final int SLOTS = 1 << 15;

    private record Entry(char[] word, int[] ids) {}

    private final @Nullable Entry[] entries = new Entry[SLOTS];

    /** Returns the ids of a word, which must not be changed, or null. */
    public int @Nullable [] find(char[] text, int from, int end) {
        Entry entry = entries[slot(text, from, end)];
        if (entry == null || !Arrays.equals(entry.word, 0, entry.word.length, text, from, end)) {
            return null;
        }
        return entry.ids;
    }

    public void put(char[] text, int from, int end, int[] ids) {
        entries[slot(text, from, end)] = new Entry(Arrays.copyOfRange(text, from, end), ids);
    }

    private static int slot(char[] text, int from, int end) {
        int hash = 0;
        for (int i = from; i < end; i++) {
            hash = 31 * hash + text[i];
        }
        return hash * 0x9E3779B9 >>> Integer.SIZE - 15;
    }
}
