package io.multihead.cache;

import io.multihead.internal.kernel.Lanes;
import io.multihead.tensor.DType;
import java.util.Arrays;

/**
 * The memory of a cache: pages of equal size with all layers and heads of some tokens, in slabs that are made as pages are
 * first taken and never given back. A page belongs to as many sequences as share it.
 *
 * <p>A page is {@code [layer][head][keys, then values]}, each in the panels of {@code KeyValuePage}. Slabs are Java arrays,
 * because the micro-kernel reads those at the speed of memory (34 GB/s measured) and copies native memory first (21 GB/s).
 */
final class PagePool {
    private static final long SLAB_BYTES = 64L << 20;

    final KeyValueCache.Config config;
    final int pageTokens;
    final int pages;
    private final int headElements;
    private final int pageElements;
    private final int slabPages;
    private final Object[] slabs;
    private final float[][] scales;
    private final boolean[] notFinite;
    private final int[] owners;
    private int[] free = new int[16];
    private int freeCount;
    private int made;

    PagePool(KeyValueCache.Config config, int pageTokens, long pages) {
        this.config = config;
        this.pageTokens = pageTokens;
        this.pages = (int) Math.min(pages, Integer.MAX_VALUE - 8);
        headElements = pageTokens * (config.headDim() + Lanes.roundUp(config.valueDim(), Lanes.PANEL));
        pageElements = Math.multiplyExact(Math.multiplyExact(config.layers(), config.heads()), headElements);
        long bytes = (long) pageElements * config.dtype().bytes();
        slabPages = Math.clamp(SLAB_BYTES / Math.max(1, bytes), 1, Math.max(1, this.pages));
        int slabCount = Math.ceilDiv(this.pages, slabPages);
        slabs = new Object[slabCount];
        scales = new float[slabCount][];
        notFinite = new boolean[Math.multiplyExact(this.pages, config.layers() * config.heads())];
        owners = new int[this.pages];
    }

    /** Bytes of one token in all layers, scales included. */
    static long bytesPerToken(KeyValueCache.Config config) {
        long elements = config.headDim() + Lanes.roundUp(config.valueDim(), Lanes.PANEL);
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
        int page = freeCount > 0 ? free[--freeCount] : made++;
        reserve(page);
        owners[page] = 1;
        int flags = config.layers() * config.heads();
        Arrays.fill(notFinite, page * flags, (page + 1) * flags, false);
        return page;
    }

    /** Makes the slab of a page, so that appending to it later allocates nothing. */
    void reserve(int page) {
        int slab = page / slabPages;
        if (slabs[slab] == null) {
            int length = Math.multiplyExact(Math.min(slabPages, pages - slab * slabPages), pageElements);
            slabs[slab] = switch (config.dtype()) {
                case F32 -> new float[length];
                case BF16, F16 -> new short[length];
                default -> new byte[length];
            };
            boolean scaled = config.dtype() == DType.I8;
            scales[slab] = new float[scaled ? slabPages * config.layers() * config.heads() * 2 * pageTokens : 0];
        }
    }

    void share(int page) {
        owners[page]++;
    }

    boolean isShared(int page) {
        return owners[page] > 1;
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
        System.arraycopy(slab(page), at(page), slab(own), at(own), pageElements);
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

    private int at(int page) {
        return page % slabPages * pageElements;
    }

    /** Index of the first key element of a head. */
    int keyAt(int page, int layer, int head) {
        return at(page) + (layer * config.heads() + head) * headElements;
    }

    /** Index of the first value element of a head. */
    int valueAt(int page, int layer, int head) {
        return keyAt(page, layer, head) + pageTokens * config.headDim();
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
