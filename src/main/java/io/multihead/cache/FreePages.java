package io.multihead.cache;

import java.util.BitSet;

/**
 * The free pages of a pool, and the choice of the page that a sequence gets.
 *
 * <p>Attention reads consecutive pages as one stream, so a sequence gets the page after its last page. If that page is taken, the sequence
 * begins a run of free pages, so that the next sequence that grows does not get the page after it. Pages whose memory exists are used
 * first. If they have no free run, and at least half of them are taken, memory for another run is allocated. If fewer are taken, the
 * sequence gets half a run, a quarter of a run, or any page. Therefore a sequence that slides stays within the memory that it has, and a
 * pool has at most twice the memory of its pages and a slab.
 */
final class FreePages {
    private final int pages;
    private final int run;
    private final BitSet taken;
    private int free;
    /**
     * For each size of runs, a page before which no run of this size is free; the index is the number of times that the largest size is
     * halved.
     */
    private final int[] noRunBefore = new int[Integer.SIZE];

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

    /** Returns the number of free pages. */
    int count() {
        return free;
    }

    /**
     * Returns a free page, which must exist, for a sequence.
     *
     * @param last the last page of the sequence, or -1 if it has none
     * @param ready pages whose memory exists, the first ones of the pool; {@code ready} is returned if another slab is to be allocated
     * @param grows whether more memory may be allocated before all of these pages are taken
     */
    int after(int last, int ready, boolean grows) {
        int next = last + 1;
        if (last >= 0 && next < ready && !taken.get(next)) {
            return next;
        }
        int used = pages - free;
        boolean mayGrow = ready < pages && (used == ready || grows && 2L * used >= ready);
        for (int halvings = 0; run >> halvings > 0; halvings++) {
            int start = firstRun(halvings, ready);
            if (start < ready || mayGrow) {
                return start;
            }
        }
        throw new IllegalStateException("no free page");
    }

    /** Returns the first free page whose memory exists, or {@code ready} if there is none. */
    int any(int ready) {
        return Math.min(taken.nextClearBit(0), ready);
    }

    /**
     * Returns the first page of the first free run of this size, or of a shorter run at the end; {@code ready} if there is none before it.
     * The search begins where the previous search ended, or at a page that was released since then. When it began at page 0, the first
     * pages of 40,000 sequences took 10 s.
     */
    private int firstRun(int halvings, int ready) {
        int size = run >> halvings;
        long start = noRunBefore[halvings];
        while (start < ready) {
            int end = taken.nextSetBit((int) start);
            if (end < 0 || end - start >= size) {
                break;
            }
            start = Math.ceilDiv(taken.nextClearBit(end), (long) size) * size;
        }
        noRunBefore[halvings] = (int) Math.min(start, pages);
        return (int) Math.min(start, ready);
    }

    void take(int page) {
        taken.set(page);
        free--;
    }

    void release(int page) {
        taken.clear(page);
        free++;
        for (int halvings = 0; run >> halvings > 0; halvings++) {
            int size = run >> halvings;
            noRunBefore[halvings] = Math.min(noRunBefore[halvings], page / size * size);
        }
    }
}
