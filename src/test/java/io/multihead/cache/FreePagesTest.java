package io.multihead.cache;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.Size;
import org.junit.jupiter.api.Test;

/** Tests which free pages a sequence gets. */
class FreePagesTest {
    private static final int RUN = 4;

    @Test
    void sequencesThatGrowInTurnsHaveRunsOfTheirOwn() {
        FreePages free = new FreePages(24, RUN);
        List<List<Integer>> sequences = grow(free, 3, 8);
        assertEquals(List.of(0, 1, 2, 3, 12, 13, 14, 15), sequences.get(0));
        assertEquals(List.of(4, 5, 6, 7, 16, 17, 18, 19), sequences.get(1));
        assertEquals(List.of(8, 9, 10, 11, 20, 21, 22, 23), sequences.get(2));
        assertEquals(0, free.count());
    }

    @Test
    void aSequenceThatGrowsAloneHasPagesThatFollowEachOther() {
        assertEquals(
                List.of(0, 1, 2, 3, 4, 5, 6, 7, 8, 9),
                grow(new FreePages(10, RUN), 1, 10).get(0));
    }

    @Test
    void withoutARunAnyFreePageIsTaken() {
        FreePages free = new FreePages(6, RUN);
        assertEquals(0, take(free, -1, 6));
        assertEquals(4, take(free, -1, 6));
        assertEquals(2, take(free, -1, 6)); // the middle of a run
        assertEquals(5, take(free, 4, 6));
        assertEquals(1, take(free, 5, 6));
        assertEquals(3, take(free, 2, 6));
    }

    @Test
    void moreMemoryIsTakenWhenHalfOfItIsUsed() {
        FreePages free = new FreePages(24, RUN);
        assertEquals(0, take(free, -1, 0)); // no page has memory yet
        assertEquals(4, take(free, -1, 8));
        assertEquals(2, take(free, -1, 8)); // the middle of a run, because only 2 of 8 pages are used
        assertEquals(6, take(free, -1, 8));
        assertEquals(8, take(free, -1, 8)); // a separate run
    }

    @Test
    void aSequenceThatSlidesTakesRunsThatItLeft() {
        FreePages free = new FreePages(24, RUN);
        int last = -1;
        for (int page = 0; page < 8; page++) {
            last = take(free, last, 8);
        }
        for (int page = 0; page < 4; page++) {
            free.release(page);
        }
        assertEquals(0, take(free, last, 8));
    }

    @Test
    void aRunThatWasReleasedIsTakenAgain() {
        FreePages free = new FreePages(8, RUN);
        grow(free, 2, 4);
        for (int page = 0; page < 4; page++) {
            free.release(page);
        }
        assertEquals(0, take(free, -1, 8));
    }

    @Test
    void withoutMoreMemoryAllOfItIsUsed() {
        FreePages free = new FreePages(24, RUN);
        List<Integer> taken = new ArrayList<>();
        for (int page = 0; page < 8; page++) {
            int next = free.after(-1, 8, false);
            free.take(next);
            taken.add(next);
        }
        assertEquals(List.of(0, 4, 2, 6, 1, 3, 5, 7), taken);
        assertEquals(8, free.after(-1, 8, false)); // no page with memory is free
    }

    /**
     * After any sequence of takes and releases, no page is given twice and each given page has memory. Every free page is given in the end.
     * Each given page is the page that a search from page 0 finds.
     */
    @Property
    void everyFreePageIsGivenOnce(
            @ForAll @IntRange(min = 1, max = 40) int pages,
            @ForAll @IntRange(min = 1, max = 50) int run,
            @ForAll @IntRange(min = 1, max = 40) int slab,
            @ForAll boolean grows,
            @ForAll @Size(max = 60) List<@IntRange(min = -3, max = 60) Integer> calls) {
        FreePages free = new FreePages(pages, run);
        List<Integer> held = new ArrayList<>();
        int ready = 0;
        for (int call : calls) {
            if (call < 0 && !held.isEmpty()) {
                free.release(held.removeFirst());
            } else if (free.count() > 0) {
                int last = held.isEmpty() ? -1 : held.get(Math.abs(call) % held.size());
                ready = takeNew(free, pages, run, slab, ready, grows, held, last);
            }
            assertEquals(pages, free.count() + held.size());
        }
        while (free.count() > 0) {
            ready = takeNew(free, pages, run, slab, ready, grows, held, -1);
        }
        assertEquals(pages, held.size());
    }

    /** Takes a page, with memory of another slab if the pool needs one. Returns the number of pages that have memory. */
    private static int takeNew(
            FreePages free, int pages, int run, int slab, int ready, boolean grows, List<Integer> held, int last) {
        int page = free.after(last, ready, grows);
        FreePages unsearched = new FreePages(pages, run);
        held.forEach(unsearched::take);
        assertEquals(unsearched.after(last, ready, grows), page);
        int now = page == ready ? Math.min(pages, ready + slab) : ready;
        assertTrue(now == ready || 2 * held.size() >= ready, held.size() + " of " + ready + " used");
        assertFalse(held.contains(page), held + " has page " + page);
        assertTrue(page >= 0 && page < now, page + " of " + now);
        free.take(page);
        held.add(page);
        return now;
    }

    private static int take(FreePages free, int last, int ready) {
        int page = free.after(last, ready, true);
        free.take(page);
        return page;
    }

    /** Sequences without pages take free pages in turn. All pages have memory. Returns the pages of each sequence. */
    private static List<List<Integer>> grow(FreePages free, int sequences, int pages) {
        int ready = free.count();
        List<List<Integer>> all = new ArrayList<>();
        for (int i = 0; i < sequences; i++) {
            all.add(new ArrayList<>());
        }
        for (int page = 0; page < pages; page++) {
            for (List<Integer> sequence : all) {
                sequence.add(take(free, sequence.isEmpty() ? -1 : sequence.getLast(), ready));
            }
        }
        return all;
    }
}
