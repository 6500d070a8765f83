package io.multihead.cache;

import java.util.BitSet;

/**
 * Which pages of a pool are free, and which one a sequence gets. Attention reads pages that follow each other as one stream, so a
 * sequence gets the page after its last one; if that is taken, it begins a run of free pages, so that the next sequence that grows does
 * not get the page after it; and only if there is no such run, it gets any free page.
 */
final class FreePages {
    private final int pages;
    private final int run;
    private final BitSet taken;
    private int free;

    /**
     * Creates a pool of free pages.
     *
     * @param run pages of a run, at least 1; the last run may have fewer
     */
    FreePages(int pages, int run) {
        this.pages = pages;
        this.run = run;
        taken = new BitSet(pages);
        free = pages;
    }

    /** Returns how many pages are free. */
    int count() {
        return free;
    }

    /** Returns a free page, which must exist, for a sequence whose last page is {@code last}, or -1 if it has none. */
    int after(int last) {
        int next = last + 1;
        if (last >= 0 && next < pages && !taken.get(next)) {
            return next;
        }
        int start = firstRun();
        return start < pages ? start : taken.nextClearBit(0);
    }

    /** Returns the first page of the first free run; the number of pages if there is none. */
    private int firstRun() {
        int start = 0;
        while (start < pages) {
            int end = taken.nextSetBit(start);
            if (end < 0 || end - start >= run) {
                return start;
            }
            start = boundary(taken.nextClearBit(end));
        }
        return pages;
    }

    /** Returns where the next run begins, from a page on; at most the number of pages. */
    private int boundary(int page) {
        return (int) Math.min(pages, Math.ceilDiv(page, (long) run) * run);
    }

    void take(int page) {
        taken.set(page);
        free--;
    }

    void release(int page) {
        taken.clear(page);
        free++;
    }
}
