package io.multihead.internal.text.pairs;

import java.util.Arrays;

/**
 * Merges neighboring symbols until no pair of them merges. Each step merges the pair whose merge has the lowest rank, and the leftmost of
 * equal pairs (Sennrich et al. 2016, section 3.2). Short words are searched again for each merge; long words have a heap of pairs, so that
 * n symbols always take a time of n log n. The arrays are kept for the next word. Not thread-safe.
 */
public final class Merger {
    /** The length up to which a search of the whole word is faster than a heap. */
    static final int SHORT = 40;

    private static final int NO_RANK = Integer.MAX_VALUE;

    /** The symbols of a word, which the caller writes and {@link #merge} replaces. */
    public int[] symbols = new int[SHORT];

    private final int[] ranks = new int[SHORT];
    private final int[] merges = new int[SHORT];
    private int[] next = {};
    private int[] previous = {};
    /** A binary heap of the ranks and, in the lower bits, the positions of pairs, with the smallest first. */
    private long[] heap = {};

    private int heapSize;

    /** Makes room for symbols. Existing symbols stay. */
    public void reserve(int count) {
        if (count > symbols.length) {
            symbols =
                    Arrays.copyOf(symbols, (int) Math.min(Integer.MAX_VALUE - 8, Math.max(count, 2L * symbols.length)));
        }
    }

    /** Merges the first {@code count} symbols and returns the number of remaining symbols. */
    public int merge(MergeTable table, int count) {
        return count <= SHORT ? mergeShort(table, count) : mergeLong(table, count);
    }

    private int mergeShort(MergeTable table, int count) {
        int size = count;
        for (int i = 0; i + 1 < size; i++) {
            look(table, i);
        }
        while (size > 1) {
            int best = 0;
            for (int i = 1; i < size - 1; i++) {
                best = ranks[i] < ranks[best] ? i : best;
            }
            if (ranks[best] == NO_RANK) {
                break;
            }
            symbols[best] = table.result(merges[best]);
            size--;
            for (int i = best + 1; i < size; i++) {
                symbols[i] = symbols[i + 1];
                ranks[i] = ranks[i + 1];
                merges[i] = merges[i + 1];
            }
            if (best > 0) {
                look(table, best - 1);
            }
            if (best + 1 < size) {
                look(table, best);
            }
        }
        return size;
    }

    private void look(MergeTable table, int at) {
        int merge = table.find(symbols[at], symbols[at + 1]);
        merges[at] = merge;
        ranks[at] = merge < 0 ? NO_RANK : table.rank(merge);
    }

    private int mergeLong(MergeTable table, int count) {
        link(count);
        for (int i = 0; i + 1 < count; i++) {
            push(table, i);
        }
        while (heapSize > 0) {
            long least = pop();
            int left = (int) least;
            int right = next[left];
            int merge = right < count ? table.find(symbols[left], symbols[right]) : -1;
            // a pair that has changed since it was added may have the same rank as before; the changed pair has a
            // separate entry in the
            // heap
            if (merge < 0 || table.rank(merge) != (int) (least >>> Integer.SIZE)) {
                continue;
            }
            symbols[left] = table.result(merge);
            symbols[right] = -1;
            int after = next[right];
            next[left] = after;
            next[right] = count;
            if (after < count) {
                previous[after] = left;
                push(table, left);
            }
            if (previous[left] >= 0) {
                push(table, previous[left]);
            }
        }
        return compact(count);
    }

    private void link(int count) {
        if (count > next.length) {
            next = new int[symbols.length];
            previous = new int[symbols.length];
        }
        for (int i = 0; i < count; i++) {
            next[i] = i + 1;
            previous[i] = i - 1;
        }
    }

    /** Moves the remaining symbols together; a symbol without an id is also negative, and stays linked. */
    private int compact(int count) {
        int size = 0;
        for (int i = 0; i < count; i = next[i]) {
            symbols[size++] = symbols[i];
        }
        return size;
    }

    private void push(MergeTable table, int left) {
        int merge = table.find(symbols[left], symbols[next[left]]);
        if (merge < 0) {
            return;
        }
        if (heapSize == heap.length) {
            heap = Arrays.copyOf(heap, Math.max(2 * SHORT, 2 * heapSize));
        }
        long entry = (long) table.rank(merge) << Integer.SIZE | left;
        int at = heapSize++;
        while (at > 0 && heap[at - 1 >> 1] > entry) {
            heap[at] = heap[at - 1 >> 1];
            at = at - 1 >> 1;
        }
        heap[at] = entry;
    }

    private long pop() {
        long least = heap[0];
        long last = heap[--heapSize];
        int at = 0;
        for (int child = 1; child < heapSize; child = 2 * at + 1) {
            if (child + 1 < heapSize && heap[child + 1] < heap[child]) {
                child++;
            }
            if (heap[child] >= last) {
                break;
            }
            heap[at] = heap[child];
            at = child;
        }
        heap[at] = last;
        return least;
    }
}
