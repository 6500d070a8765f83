package io.multihead.internal.text.pairs;

import io.multihead.internal.base.Checks;
import java.util.Arrays;

/**
 * The pairs of symbols that merge, their order, and the resulting symbols. A symbol is the id of a token, or a larger number for a part of
 * a token that is not a token itself. The pairs are in one open-addressed table with a long for each, so that a lookup reads one cache
 * line.
 */
public final class MergeTable {
    /** The largest number of symbols that fits in an entry together with the number of the merge. */
    public static final int MOST_SYMBOLS = (1 << 20) - 1;

    /** The largest number of merges that fits in an entry. */
    static final int MOST_MERGES = (1 << 24) - 1;

    private static final int SYMBOL_BITS = 20;
    private static final int MERGE_BITS = 24;
    private static final int MERGE_MASK = (1 << MERGE_BITS) - 1;
    private static final long EMPTY = -1;
    private static final int SMALLEST = 10;

    /** The rank of each merge. Merges of lower rank come first. */
    private final int[] ranks;
    /** The resulting symbol of each merge. */
    private final int[] results;

    private long[] entries = filled(SMALLEST);
    private int shift = Long.SIZE - SMALLEST;
    private int size;

    /** Creates a table of numbered merges, whose pairs are added with {@link #put}. */
    public MergeTable(int[] ranks, int[] results) {
        this.ranks = ranks;
        this.results = results;
    }

    /** Sets the number of the merge of two symbols, if they have none yet. */
    public void put(int left, int right, int merge) {
        Checks.index(left, MOST_SYMBOLS, "symbol");
        Checks.index(right, MOST_SYMBOLS, "symbol");
        Checks.index(merge, MOST_MERGES, "merge");
        if (find(left, right) >= 0) {
            return;
        }
        if (2 * size >= entries.length) {
            long[] old = entries;
            shift--;
            entries = filled(Long.SIZE - shift);
            for (long entry : old) {
                if (entry != EMPTY) {
                    entries[freeSlot(entry >>> MERGE_BITS)] = entry;
                }
            }
        }
        long pair = pair(left, right);
        entries[freeSlot(pair)] = pair << MERGE_BITS | merge;
        size++;
    }

    /** Returns the number of the merge of two symbols, or -1; a negative symbol merges with none. */
    int find(int left, int right) {
        if ((left | right) < 0) {
            return -1;
        }
        long pair = pair(left, right);
        int slot = slot(pair);
        for (long entry = entries[slot]; entry != EMPTY; entry = entries[slot]) {
            if (entry >>> MERGE_BITS == pair) {
                return (int) entry & MERGE_MASK;
            }
            slot = slot + 1 & entries.length - 1;
        }
        return -1;
    }

    int rank(int merge) {
        return ranks[merge];
    }

    int result(int merge) {
        return results[merge];
    }

    private int freeSlot(long pair) {
        int slot = slot(pair);
        while (entries[slot] != EMPTY) {
            slot = slot + 1 & entries.length - 1;
        }
        return slot;
    }

    private static long pair(int left, int right) {
        return (long) left << SYMBOL_BITS | right;
    }

    /** Returns the slot of a pair, with Fibonacci hashing (Knuth, The Art of Computer Programming 3, section 6.4). */
    private int slot(long pair) {
        return (int) (pair * 0x9E3779B97F4A7C15L >>> shift);
    }

    private static long[] filled(int bits) {
        long[] result = new long[1 << bits];
        Arrays.fill(result, EMPTY);
        return result;
    }
}
