package io.multihead.cache;

import static io.multihead.internal.kernel.Lanes.PANEL;

import io.multihead.internal.base.Checks;
import io.multihead.internal.call.Operation;
import io.multihead.internal.exec.FloatsKey;
import io.multihead.internal.exec.LoopBody;
import io.multihead.internal.exec.ScratchKey;
import io.multihead.internal.exec.Workspace;
import io.multihead.internal.kernel.Int8Panels;
import io.multihead.internal.kernel.RowOps;
import io.multihead.internal.layout.PanelFormat;
import io.multihead.internal.layout.PanelMemory;
import io.multihead.internal.layout.Positions;
import io.multihead.tensor.Tensor;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Copies tokens of one layer between pages and tensors, as they are stored or widened. The copied tokens are a list of runs, each within
 * one page; a task is one head of one run. Tensors are {@code [heads, tokens, dim]}, scales {@code [heads, tokens]}, or {@code [heads,
 * tokens, blocks]}.
 */
final class PageCopy extends Operation implements LoopBody {
    static final ScratchKey<PageCopy> CALL = ScratchKey.of(PageCopy::new);
    private static final FloatsKey ROWS = new FloatsKey();
    private static final FloatsKey BUFFER = new FloatsKey();

    /** The direction of a copy and the representation of the copied elements. */
    enum Way {
        /** Copies stored elements and their scales from pages. */
        READ,
        /** Copies stored elements times their scales from pages. */
        WIDEN,
        /** Copies stored elements and their scales to pages. */
        RESTORE
    }

    /** Keys or values. */
    private enum Side {
        KEY,
        VALUE
    }

    private @Nullable PagePool pages;
    private Way way = Way.READ;
    private int layer;
    private @Nullable Tensor key;
    private @Nullable Tensor value;
    private @Nullable Tensor keyScale;
    private @Nullable Tensor valueScale;

    private int runs;
    private int[] page = new int[4];
    private int[] start = new int[4];
    private int[] count = new int[4];
    private long[] token = new long[4];

    /** Binds the cache, without runs. */
    void bind(PagePool newPages, int newLayer, Way newWay) {
        pages = newPages;
        layer = newLayer;
        way = newWay;
        runs = 0;
    }

    /** Binds elements; null for elements that are not copied. */
    void bindElements(@Nullable Tensor newKey, @Nullable Tensor newValue) {
        key = newKey;
        value = newValue;
    }

    /** Binds scales; null for scales that are not copied. */
    void bindScales(@Nullable Tensor newKeyScale, @Nullable Tensor newValueScale) {
        keyScale = newKeyScale;
        valueScale = newValueScale;
    }

    /**
     * Adds a run.
     *
     * @param of the page of the run
     * @param first the index of the first token in the page
     * @param tokens the number of tokens
     * @param at the index of the first token in the tensors
     */
    void add(int of, int first, int tokens, long at) {
        if (runs == page.length) {
            page = Arrays.copyOf(page, 2 * runs);
            start = Arrays.copyOf(start, 2 * runs);
            count = Arrays.copyOf(count, 2 * runs);
            token = Arrays.copyOf(token, 2 * runs);
        }
        page[runs] = of;
        start[runs] = first;
        count[runs] = tokens;
        token[runs++] = at;
    }

    /** Adds runs for consecutive tokens of a sequence; the first of them is the first token of the tensors. */
    void addRange(Sequence sequence, long from, long tokens) {
        int pageTokens = pool().pageTokens;
        for (long done = 0; done < tokens; ) {
            int first = (int) ((from + done) % pageTokens);
            int run = (int) Math.min(tokens - done, pageTokens - first);
            add(sequence.page((from + done) / pageTokens), first, run, done);
            done += run;
        }
    }

    void run() {
        run(this, (long) runs * pool().layout.heads());
    }

    private PagePool pool() {
        return Checks.notNull(pages, "pages");
    }

    @Override
    public void run(long task, Workspace scratch) {
        int heads = pool().layout.heads();
        int run = (int) (task / heads);
        int head = (int) (task % heads);
        int part = pool().part(page[run], layer, head);
        for (int done = 0; done < count[run]; ) {
            int in = start[run] + done;
            int tokens = Math.min(count[run] - done, PANEL - in % PANEL);
            copy(scratch, Side.KEY, key, keyScale, part, head, in, tokens, token[run] + done);
            copy(scratch, Side.VALUE, value, valueScale, part, head, in, tokens, token[run] + done);
            done += tokens;
        }
    }

    /** Copies tokens that are in one panel of keys. */
    private void copy(
            Workspace scratch,
            Side side,
            @Nullable Tensor elements,
            @Nullable Tensor scale,
            int part,
            int head,
            int in,
            int tokens,
            long at) {
        PagePool pool = pool();
        PanelMemory slab = pool.slabOf(part);
        int scales = side == Side.KEY ? pool.layout.keyScales() : 1;
        int scaleIndex = in + (side == Side.KEY ? pool.scaleIndex(part) : pool.valueScaleIndex(part));
        for (int i = 0; scale != null && i < scales * tokens; i++) {
            int t = i / scales;
            int block = i % scales;
            long position = scale.offset() + head * scale.stride(0) + (at + t) * scale.stride(1);
            position += block == 0 ? 0 : block * scale.stride(2);
            int index = scaleIndex + block * pool.pageTokens + t;
            if (way == Way.RESTORE) {
                slab.storeScale(index, (float) Positions.get(scale, position));
            } else {
                Positions.set(scale, slab.scale(index), position);
            }
        }
        if (elements == null) {
            return;
        }
        if (way == Way.RESTORE) {
            restore(scratch, side, elements, part, head, in, tokens, at);
            return;
        }
        int dim = (int) elements.dim(2);
        int ld = PageRows.ld(dim);
        float[] rows = scratch.floats(ROWS, PANEL * ld);
        float[] buffer = scratch.floats(BUFFER, PageRows.bufferSize());
        int first = in % PANEL;
        if (side == Side.KEY) {
            PageRows.loadKeys(pool, part, in - first, rows, scratch.packer(), buffer);
        } else {
            PageRows.loadValues(pool, part, in - first, rows, scratch.packer(), buffer);
        }
        int width = scales > 1 ? Int8Panels.BLOCK : ld;
        for (int i = 0; way == Way.WIDEN && pool.format.isScaled() && i < scales * tokens; i++) {
            int t = i / scales;
            int block = i % scales;
            float factor = slab.scale(scaleIndex + block * pool.pageTokens + t);
            RowOps.scale(rows, (first + t) * ld + block * width, width, factor);
        }
        long to = elements.offset() + head * elements.stride(0) + at * elements.stride(1);
        scratch.packer().write(rows, first * ld, ld, tokens, dim, elements, to, elements.stride(1), elements.stride(2));
    }

    private void restore(
            Workspace scratch, Side side, Tensor elements, int part, int head, int in, int tokens, long at) {
        PagePool pool = pool();
        int dim = (int) elements.dim(2);
        int ld = PageRows.ld(dim);
        float[] rows = scratch.floats(ROWS, PANEL * ld);
        long from = elements.offset() + head * elements.stride(0) + at * elements.stride(1);
        scratch.packer().read(elements, from, elements.stride(1), elements.stride(2), tokens, dim, rows, 0, ld);
        if (side == Side.KEY) {
            PageRows.storeKeys(pool, part, in, tokens, rows, scratch.floats(BUFFER, PageRows.bufferSize()));
        } else {
            PageRows.storeValues(pool, part, in, tokens, rows);
        }
        if (side == Side.VALUE || pool.format.needsFinite()) {
            noteFinite(pool, rows, ld, dim, part, in, tokens);
        }
    }

    /** Marks the page if an element, or in i8 the scale of a value, is not finite. */
    private void noteFinite(PagePool pool, float[] rows, int ld, int dim, int part, int in, int tokens) {
        int scaleIndex = pool.valueScaleIndex(part) + in;
        for (int t = 0; t < tokens; t++) {
            boolean finite = pool.format.isScaled()
                    ? PanelFormat.isFiniteScale(pool.slabOf(part).scale(scaleIndex + t))
                    : pool.format.isFinite(rows, t * ld, dim);
            if (!finite) {
                pool.markNotFinite(part);
            }
        }
    }

    /** Releases the caller's tensors. */
    @Override
    protected void clear() {
        pages = null;
        bindElements(null, null);
        bindScales(null, null);
        runs = 0;
    }
}
