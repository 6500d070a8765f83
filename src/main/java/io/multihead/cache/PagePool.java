package io.multihead.cache;

import io.multihead.internal.Checks;
import io.multihead.internal.Gate;
import io.multihead.internal.kernel.Halves;
import io.multihead.internal.kernel.Lanes;
import io.multihead.internal.kernel.PanelStore;
import io.multihead.tensor.DType;
import java.util.Arrays;

/**
 * The memory of a cache: pages of equal size with all layers and heads of some tokens, in slabs that are made as pages are
 * first taken and never given back. A page belongs to as many sequences as share it.
 *
 * <p>A slab is {@code [layer][head][keys of all pages, then values of all pages]}, each in the panels of {@code KeyValuePage}: a
 * head's keys, and its values, are one stream over the pages that follow each other, which a sequence takes unless others grow
 * at the same time. Attention reads 256 keys, then 256 values, and so on; where each of these 64 KiB began a stream of its own,
 * as with heads beside each other in a page, memory gave 15 instead of 21 GB/s. Slabs are Java arrays, because the micro-kernel
 * reads those at the speed of memory (34 GB/s measured) and copies native memory first (21 GB/s).
 */
final class PagePool {
    private static final long SLAB_BYTES = 64L << 20;
    /** A pool that is not taken at once grows by a sixteenth of what it may hold: streams are as long as slabs. */
    static final int STEPS = 16;

    private static final int MOST_ELEMENTS = 1 << 30;

    final KeyValueCache.Config config;
    final int pageTokens;
    final int pages;
    private final int keyElements;
    private final int valueElements;
    private final int pageElements;
    private final int slabPages;
    private final Object[] slabs;
    private final float[][] scales;
    private final boolean[] notFinite;
    private final int[] owners;
    /** Sequences of the append being planned that will write to a page; 0 otherwise. */
    private final int[] writers;

    private int[] free = new int[16];
    private int freeCount;
    private int made;

    /** At most {@code mostSlabs} slabs, unless an array cannot hold one of them. */
    PagePool(KeyValueCache.Config config, int pageTokens, long pages, int mostSlabs) {
        Gate.requireVectorModule();
        this.config = config;
        this.pageTokens = pageTokens;
        this.pages = Checks.fitsInt(pages, "pages");
        keyElements = pageTokens * PanelStore.depth(config.dtype(), config.headDim());
        valueElements = pageTokens * Lanes.roundUp(config.valueDim(), Lanes.PANEL);
        pageElements = config.layers() * config.heads() * (keyElements + valueElements);
        int flags = Checks.fitsInt(pages * config.layers() * config.heads(), "pages x layers x heads");
        long bytes = Math.max(1, (long) pageElements * config.dtype().bytes());
        long wanted = Math.max(SLAB_BYTES / bytes, Math.ceilDiv(this.pages, mostSlabs));
        long most = Math.max(1, MOST_ELEMENTS / Math.max(1, pageElements));
        slabPages = (int) Math.clamp(wanted, 1, Math.min(most, Math.max(1, this.pages)));
        int slabCount = Math.ceilDiv(this.pages, slabPages);
        slabs = new Object[slabCount];
        scales = new float[slabCount][];
        notFinite = new boolean[flags];
        owners = new int[this.pages];
        writers = new int[this.pages];
    }

    /** Bytes of one token in all layers, scales included. */
    static long bytesPerToken(KeyValueCache.Config config) {
        long elements = CacheChecks.elements(config.dtype(), config.headDim(), config.valueDim());
        long perHead = elements * config.dtype().bytes() + (config.dtype() == DType.I8 ? 2L * Float.BYTES : 0);
        return perHead * config.layers() * config.heads();
    }

    int available() {
        return freeCount + pages - made;
    }

    int used() {
        return made - freeCount;
    }

    /** A page of the caller's own; there must be one. */
    int take() {
        int page = freeCount > 0 ? free[freeCount - 1] : made;
        reserve(page); // may run out of memory, so the page counts as taken only now
        if (freeCount > 0) {
            freeCount--;
        } else {
            made++;
        }
        owners[page] = 1;
        int flags = config.layers() * config.heads();
        Arrays.fill(notFinite, page * flags, (page + 1) * flags, false);
        if (config.dtype() == DType.I8) {
            // what was not finite had NaN
            int at = scaleAt(page, 0, 0);
            Arrays.fill(scales(page), at, at + flags * 2 * pageTokens, 0f);
        }
        return page;
    }

    /** Makes the slab of a page, so that appending to it later allocates nothing. */
    void reserve(int page) {
        int slab = page / slabPages;
        if (slabs[slab] == null) {
            int length = Math.multiplyExact(slabPages(page), pageElements);
            slabs[slab] = switch (config.dtype()) {
                case F32 -> new float[length];
                case BF16, F16 -> new int[length / 2];
                default -> new byte[length];
            };
            boolean scaled = config.dtype() == DType.I8;
            scales[slab] = new float[scaled ? slabPages * config.layers() * config.heads() * 2 * pageTokens : 0];
        }
    }

    /** Pages of the slab that holds a page; the last may be shorter. */
    private int slabPages(int page) {
        return Math.min(slabPages, pages - page / slabPages * slabPages);
    }

    void share(int page) {
        owners[page]++;
    }

    boolean isShared(int page) {
        return owners[page] > 1;
    }

    /** Counts one more sequence that will write to a page; returns whether it needs a copy of its own. */
    boolean planWrite(int page) {
        return ++writers[page] < owners[page];
    }

    /** Ends the planning of writes to a page. */
    void clearPlan(int page) {
        writers[page] = 0;
    }

    void release(int page) {
        if (--owners[page] == 0) {
            free = freeCount == free.length ? Arrays.copyOf(free, 2 * freeCount) : free;
            free[freeCount++] = page;
        }
    }

    /** A page of the caller's own with the same content, in place of a shared one. */
    int copy(int page) {
        int own = take();
        for (int layer = 0; layer < config.layers(); layer++) {
            for (int head = 0; head < config.heads(); head++) {
                copy(page, keyAt(page, layer, head), own, keyAt(own, layer, head), keyElements);
                copy(page, valueAt(page, layer, head), own, valueAt(own, layer, head), valueElements);
            }
        }
        int flags = config.layers() * config.heads();
        System.arraycopy(notFinite, page * flags, notFinite, own * flags, flags);
        if (config.dtype() == DType.I8) {
            System.arraycopy(
                    scales(page), scaleAt(page, 0, 0), scales(own), scaleAt(own, 0, 0), flags * 2 * pageTokens);
        }
        release(page);
        return own;
    }

    Object slab(int page) {
        return slabs[page / slabPages];
    }

    private void copy(int page, int from, int own, int to, int elements) {
        int each = Halves.holds(config.dtype()) ? 2 : 1;
        System.arraycopy(slab(page), from / each, slab(own), to / each, elements / each);
    }

    /** Index of the first key element of a head, in elements. */
    int keyAt(int page, int layer, int head) {
        return headAt(page, layer, head) + page % slabPages * keyElements;
    }

    /** Index of the first value element of a head, in elements. */
    int valueAt(int page, int layer, int head) {
        return headAt(page, layer, head) + slabPages(page) * keyElements + page % slabPages * valueElements;
    }

    private int headAt(int page, int layer, int head) {
        return (layer * config.heads() + head) * slabPages(page) * (keyElements + valueElements);
    }

    float[] scales(int page) {
        return scales[page / slabPages];
    }

    /** Index of the scale of a head's first key; those of its values follow. */
    int scaleAt(int page, int layer, int head) {
        return ((page % slabPages * config.layers() + layer) * config.heads() + head) * 2 * pageTokens;
    }

    boolean isFinite(int page, int layer, int head) {
        return !notFinite[(page * config.layers() + layer) * config.heads() + head];
    }

    void markNotFinite(int page, int layer, int head) {
        notFinite[(page * config.layers() + layer) * config.heads() + head] = true;
    }
}
