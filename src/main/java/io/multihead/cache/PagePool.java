package io.multihead.cache;

import io.multihead.compute.Compute;
import io.multihead.internal.attention.AttentionBlocking;
import io.multihead.internal.base.Checks;
import io.multihead.internal.base.VectorApiCheck;
import io.multihead.internal.call.Operation;
import io.multihead.internal.layout.PanelFormat;
import io.multihead.internal.layout.PanelMemory;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * The memory of a cache: pages of equal size with all layers and heads of some tokens, in slabs that are allocated when their first
 * page is taken and freed by their arena. A page counts the sequences that share it.
 *
 * <p>A slab is {@code [layer][head][keys of all pages, then values of all pages, then scales of all pages]}, with keys and values in the
 * panels of {@code KeyValueSpan}. Only i8 has scales: the scales of a page's keys, block after block, and then the scales of its values.
 * Therefore a head's keys are one stream over consecutive pages, which a sequence takes in runs ({@link FreePages}), and so are its values
 * and its scales. The first slabs of a pool that grows are smaller: its memory grows fourfold until it has the size of a slab. Attention
 * reads 256 keys, then 256 values, and so on. If each of these reads of 64 KiB begins a new stream for the hardware prefetcher, as with
 * adjacent heads in a page, memory is read at 15 instead of 21 GB/s. Slabs are native memory of one arena.
 */
final class PagePool {
    private static final long SLAB_BYTES = 64L << 20;
    /**
     * The bytes of the first slab of a pool that grows. The slab is small, since memory is zeroed when it is allocated, and a short text
     * needs little of it.
     */
    private static final long FIRST_BYTES = 4L << 20;
    /** The number of full-size slabs in the budget. Each holds a sixteenth of the budget, because streams are as long as slabs. */
    private static final int STEPS = 16;

    /** Tokens of a page if all memory is allocated at once: the block of keys that attention reads together. */
    static final int CONTIGUOUS_PAGE = AttentionBlocking.KEY_BLOCK;

    /**
     * Pages of a run of a pool that grows. One step of eight sequences that grew alternately (4096 tokens, 8 heads of 128, four queries per
     * head) took 17.7 ms without runs, 12.4 to 13.9 ms with runs of 4 pages, 12.4 ms with 8, and 11.1 to 12.4 ms with 16. It took 11.8 to
     * 13.3 ms if the sequences grew sequentially (Zen 4, two JVMs each).
     */
    private static final int RUN = 8;

    private static final int MOST_ELEMENTS = 1 << 30;

    /** Scales of the keys, or of the values, of a head in a page that has just been taken. */
    private static final float[] NO_SCALES = new float[CONTIGUOUS_PAGE];

    private final Arena arena;
    /** Memory without elements, for checking which threads may use the arena. */
    private final PanelMemory probe;

    final PageLayout layout;
    /** The storage format of the panels of keys and values. */
    final PanelFormat format;

    final int pageTokens;
    final int pages;
    private final int keyElements;
    private final int valueElements;
    private final int scaleElements;
    private final int pageElements;
    /** First pages of the slabs, and the number of all pages. */
    private final int[] starts;
    /** Numbers of the slabs of pages. */
    private final int[] slabOf;

    private final @Nullable PanelMemory[] slabs;
    private final boolean[] notFinite;
    private final int[] owners;
    /** The number of sequences of the planned append that will write to a page; 0 otherwise. */
    private final int[] writers;

    private final FreePages free;
    /** The number of pages whose memory is allocated, which are the first pages: slabs are allocated in order. */
    private int ready;
    /**
     * Whether the allocation of another slab failed. After a failure, allocation is tried again only when no page is free in the existing
     * memory.
     */
    private boolean refused;

    /**
     * Divides the pages into at most {@code mostSlabs} slabs, or more if a slab would have more elements than an {@code int} position can
     * index, and divides the first slab into smaller ones if the pool grows.
     */
    private PagePool(
            Arena arena, PageLayout layout, int pageTokens, long pages, int mostSlabs, long run, boolean grows) {
        this.arena = arena;
        probe = PanelMemory.allocate(arena, layout.format(), 0);
        VectorApiCheck.requireVectorModule();
        this.layout = layout;
        format = layout.format();
        this.pageTokens = pageTokens;
        this.pages = Checks.fitsInt(pages, "pages");
        keyElements = layout.keyElements(pageTokens);
        valueElements = layout.valueElements(pageTokens);
        scaleElements = layout.scaleElements(pageTokens);
        pageElements = layout.allHeads() * headElements();
        int flags = Checks.fitsInt(pages * layout.layers() * layout.heads(), "pages x layers x heads");
        long bytes = Math.max(1, (long) pageElements * format.bytes());
        long wanted = Math.max(SLAB_BYTES / bytes, Math.ceilDiv(this.pages, mostSlabs));
        long most = Math.max(1, MOST_ELEMENTS / Math.max(1, pageElements));
        int slabPages = (int) Math.clamp(wanted, 1, Math.min(most, Math.max(1, this.pages)));
        // a run of contiguous pages must fit into one slab
        int first = grows ? (int) Math.clamp(FIRST_BYTES / bytes, Math.min(run, slabPages), slabPages) : slabPages;
        starts = starts(this.pages, first, slabPages);
        slabs = new PanelMemory[starts.length - 1];
        slabOf = new int[this.pages];
        for (int slab = 0; slab < slabs.length; slab++) {
            Arrays.fill(slabOf, starts[slab], starts[slab + 1], slab);
        }
        notFinite = new boolean[flags];
        owners = new int[this.pages];
        writers = new int[this.pages];
        free = new FreePages(this.pages, (int) run);
    }

    /** Returns the first pages of the slabs, and their end: memory grows fourfold until it has the size of a full slab. */
    private static int[] starts(int pages, int first, int slabPages) {
        IntStream.Builder starts = IntStream.builder().add(0);
        for (int at = 0; at < pages; ) {
            int size = at == 0 ? first : at < slabPages ? Math.min(3 * at, slabPages - at) : slabPages;
            at += Math.min(size, pages - at);
            starts.add(at);
        }
        return starts.build().toArray();
    }

    /** Creates a pool that allocates all pages immediately, {@code run} of them for each sequence. */
    static PagePool contiguous(Arena arena, PageLayout layout, int sequences, long run) {
        PagePool pool = new PagePool(arena, layout, CONTIGUOUS_PAGE, run * sequences, 1, run, false);
        pool.reserveAll();
        return pool;
    }

    /** Creates a pool that allocates pages as they are taken. */
    static PagePool growing(Arena arena, PageLayout layout, int pageTokens, long pages) {
        return new PagePool(arena, layout, pageTokens, pages, STEPS, RUN, true);
    }

    int available() {
        return free.count();
    }

    int used() {
        return pages - free.count();
    }

    /** Takes a free page, which must exist, for a sequence whose last page is {@code last}, or -1 if the sequence has no page. */
    int take(int last) {
        int page = allocateFor(free.after(last, ready, !refused));
        free.take(page); // taken only now, because the allocation may have failed
        owners[page] = 1;
        Arrays.fill(notFinite, part(page, 0, 0), part(page + 1, 0, 0), false);
        for (int part = part(page, 0, 0); format.isScaled() && part < part(page + 1, 0, 0); part++) {
            for (int i = 0; i <= layout.keyScales(); i++) {
                // earlier elements that were not finite left NaN in the scales
                slab(page).storeScales(scaleIndex(part) + i * pageTokens, NO_SCALES, pageTokens);
            }
        }
        return page;
    }

    /** Allocates all slabs at once, so that the call fails before any memory is used if the system has too little. */
    private void reserveAll() {
        // pages are whole cache lines, so each slab begins on one
        MemorySegment all = PanelMemory.segment(arena, (long) pages * pageElements * format.bytes());
        long from = 0;
        for (int slab = 0; slab < slabs.length; slab++) {
            long bytes = (long) pagesOfSlab(slab) * pageElements * format.bytes();
            put(slab, PanelMemory.of(format, all.asSlice(from, bytes), "arena"));
            from += bytes;
        }
    }

    /**
     * Allocates the slab of a page, unless it exists, so that appending to it later allocates nothing.
     *
     * @return the page, or a page in existing memory if no more memory is available
     */
    private int allocateFor(int page) {
        if (page < ready) {
            return page;
        }
        try {
            int slab = slabOf[page];
            put(slab, PanelMemory.allocate(arena, format, pagesOfSlab(slab) * pageElements));
            refused = false;
            return page;
        } catch (OutOfMemoryError e) {
            refused = true;
            int other = free.any(ready);
            if (other == ready) {
                throw e;
            }
            return other;
        }
    }

    private void put(int slab, PanelMemory memory) {
        slabs[slab] = memory;
        ready = starts[slab + 1];
    }

    private int pagesOfSlab(int slab) {
        return starts[slab + 1] - starts[slab];
    }

    void share(int page) {
        owners[page]++;
    }

    int owners(int page) {
        return owners[page];
    }

    boolean isShared(int page) {
        return owners[page] > 1;
    }

    /** Counts one more sequence that will write to a page; returns whether that sequence needs a separate copy. */
    boolean planWrite(int page) {
        return ++writers[page] < owners[page];
    }

    /** Ends the planning of writes to a page. */
    void clearPlan(int page) {
        writers[page] = 0;
    }

    void release(int page) {
        if (--owners[page] == 0) {
            free.release(page);
        }
    }

    /** Takes a page, copies the contents of a shared page to it, and releases the shared page. */
    int copy(int page) {
        int own = take(-1);
        int from = part(page, 0, 0);
        int to = part(own, 0, 0);
        int parts = layout.allHeads();
        for (int i = 0; i < parts; i++) {
            slab(page).copyTo(keyAt(from + i), slab(own), keyAt(to + i), keyElements);
            slab(page).copyTo(valueAt(from + i), slab(own), valueAt(to + i), valueElements);
            slab(page).copyTo(scalesAt(from + i), slab(own), scalesAt(to + i), scaleElements);
        }
        System.arraycopy(notFinite, from, notFinite, to, parts);
        release(page);
        return own;
    }

    /** Fails unless all threads of a Compute may use the pages. */
    void requireAccess(Compute cpu) {
        Operation.execution(cpu).requireAccess(probe.segment(), "cache");
    }

    PanelMemory slab(int page) {
        return Checks.notNull(slabs[slabOf[page]], "page");
    }

    /** Returns the number of the part of a page that belongs to one head of a layer; the parts of a page are consecutive. */
    int part(int page, int layer, int head) {
        return (page * layout.layers() + layer) * layout.heads() + head;
    }

    private int pageOf(int part) {
        return part / layout.allHeads();
    }

    PanelMemory slabOf(int part) {
        return slab(pageOf(part));
    }

    /** Returns the position of a part's first key element. */
    int keyAt(int part) {
        int page = pageOf(part);
        int slab = slabOf[page];
        return headAt(part, slab) + (page - starts[slab]) * keyElements;
    }

    /** Returns the position of a part's first value element. */
    int valueAt(int part) {
        int page = pageOf(part);
        int slab = slabOf[page];
        return headAt(part, slab) + pagesOfSlab(slab) * keyElements + (page - starts[slab]) * valueElements;
    }

    /** Returns the position of the first element of a part's head in its slab. */
    private int headAt(int part, int slab) {
        return part % layout.allHeads() * pagesOfSlab(slab) * headElements();
    }

    private int headElements() {
        return keyElements + valueElements + scaleElements;
    }

    /** Returns the position of a part's scales, in elements. */
    private int scalesAt(int part) {
        int page = pageOf(part);
        int slab = slabOf[page];
        return headAt(part, slab)
                + pagesOfSlab(slab) * (keyElements + valueElements)
                + (page - starts[slab]) * scaleElements;
    }

    /**
     * Returns the index of the scale of a part's first key, in floats; the scales of the other keys follow, then the scales of the keys'
     * next blocks, then the scales of the values.
     */
    int scaleIndex(int part) {
        return scalesAt(part) / (Float.BYTES / format.bytes());
    }

    /** Returns the index of the scale of a part's first value, in floats. */
    int valueScaleIndex(int part) {
        return scaleIndex(part) + layout.keyScales() * pageTokens;
    }

    boolean isFinite(int part) {
        return !notFinite[part];
    }

    void markNotFinite(int part) {
        notFinite[part] = true;
    }
}
