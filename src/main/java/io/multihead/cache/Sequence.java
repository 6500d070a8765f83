package io.multihead.cache;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** One sequence: its pages, from the first existing one on, and its length in each layer. */
final class Sequence {
    final long[] lengths;
    long firstKey;
    /** The number of pages that were dropped before the first page in {@link #pages}. */
    long dropped;

    int pageCount;
    private int[] pages = new int[4];
    /** Snapshots in ascending order of length; none in a cache without a window. */
    final List<Mark> marks = new ArrayList<>(0);

    /** A length to which a sequence can be truncated. Its pages also belong to the sequence, until the sequence drops them. */
    static final class Mark {
        final long length;
        /**
         * The number of the first page in {@link #pages}. These pages belong to the snapshot; there are none while the sequence has all of
         * them.
         */
        long first;

        int[] pages = {};

        Mark(long length) {
            this.length = length;
        }
    }

    Sequence(int layers) {
        lengths = new long[layers];
    }

    long longest() {
        long most = 0;
        for (long length : lengths) {
            most = Math.max(most, length);
        }
        return most;
    }

    long shortest() {
        long least = lengths[0];
        for (long length : lengths) {
            least = Math.min(least, length);
        }
        return least;
    }

    int page(long index) {
        return pages[(int) (index - dropped)];
    }

    /** Returns the last page, or -1 if there is none. */
    int last() {
        return pageCount == 0 ? -1 : pages[pageCount - 1];
    }

    void set(long index, int page) {
        pages[(int) (index - dropped)] = page;
    }

    void add(int page) {
        pages = pageCount == pages.length ? Arrays.copyOf(pages, 2 * pageCount) : pages;
        pages[pageCount++] = page;
    }

    int removeLast() {
        return pages[--pageCount];
    }

    int removeFirst() {
        int page = pages[0];
        System.arraycopy(pages, 1, pages, 0, --pageCount);
        dropped++;
        return page;
    }

    /** Returns another sequence with the same pages. */
    Sequence fork() {
        Sequence other = new Sequence(lengths.length);
        System.arraycopy(lengths, 0, other.lengths, 0, lengths.length);
        other.firstKey = firstKey;
        other.dropped = dropped;
        other.pageCount = pageCount;
        other.pages = pages.clone();
        return other;
    }
}
