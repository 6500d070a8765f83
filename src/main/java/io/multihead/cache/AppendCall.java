package io.multihead.cache;

import static io.multihead.internal.kernel.Lanes.PANEL;

import io.multihead.internal.base.Checks;
import io.multihead.internal.call.Operation;
import io.multihead.internal.exec.FloatsKey;
import io.multihead.internal.exec.LoopBody;
import io.multihead.internal.exec.Workspace;
import io.multihead.internal.layout.PanelFormat;
import io.multihead.internal.layout.Positions;
import io.multihead.position.Rope;
import io.multihead.tensor.Tensor;
import org.jspecify.annotations.Nullable;

/** Writes new tokens into pages that have been taken already; a task is one head of one sequence. */
final class AppendCall extends Operation implements LoopBody {
    private static final FloatsKey ROWS = new FloatsKey();
    private static final FloatsKey COLUMN = new FloatsKey();
    private static final int[] NONE = {};

    private @Nullable PagePool pages;
    private @Nullable Sequences open;
    private @Nullable Rope rope;
    private int layer;
    private int[] sequences = NONE;
    /** First token of each packed sequence, and the end of the last; null when every batch is a sequence. */
    private long @Nullable [] offsets;

    private @Nullable Tensor key;
    private @Nullable Tensor value;

    /** Binds the cache, in which pages for the new tokens have been taken. */
    void bind(PagePool newPages, Sequences newOpen, @Nullable Rope newRope, int newLayer) {
        pages = newPages;
        open = newOpen;
        rope = newRope;
        layer = newLayer;
    }

    /** Binds the new tokens and the sequences that they belong to. */
    void bindTokens(int[] newSequences, long @Nullable [] newOffsets, Tensor newKey, Tensor newValue) {
        sequences = newSequences;
        offsets = newOffsets;
        key = newKey;
        value = newValue;
    }

    void run() {
        run(this, (long) sequences.length * pool().layout.heads());
    }

    private PagePool pool() {
        return Checks.notNull(pages, "pages");
    }

    @Override
    public void run(long task, Workspace scratch) {
        PagePool pool = pool();
        Sequences to = Checks.notNull(open, "open");
        int heads = pool.layout.heads();
        int index = (int) (task / heads);
        int head = (int) (task % heads);
        Tensor k = Checks.notNull(key, "key");
        Tensor v = Checks.notNull(value, "value");
        long count = Sequences.count(offsets, index, k.dim(2));
        long first = to.get(sequences[index]).lengths[layer];
        for (long token = 0; token < count; ) {
            long position = first + token;
            int run = (int) Math.min(count - token, PANEL - position % PANEL);
            int page = to.page(sequences[index], position);
            keys(scratch, pool, k, Positions.ofToken(k, offsets, index, head, token), run, page, head, position);
            values(scratch, pool, v, Positions.ofToken(v, offsets, index, head, token), run, page, head, position);
            token += run;
        }
    }

    private void keys(
            Workspace scratch, PagePool pool, Tensor from, long at, int run, int page, int head, long position) {
        int headDim = pool.layout.headDim();
        int ld = PageRows.ld(headDim);
        float[] rows = scratch.floats(ROWS, PANEL * ld);
        scratch.packer().read(from, at, from.stride(2), from.stride(3), run, headDim, rows, 0, ld);
        Rope rotation = rope;
        for (int r = 0; rotation != null && r < run; r++) {
            rotation.apply(rows, r * ld, position + r);
        }
        if (pool.format.needsFinite()) {
            noteFinite(pool, rows, ld, run, headDim, page, head);
        }
        int in = (int) (position % pool.pageTokens);
        scale(pool, rows, ld, run, headDim, pool.scales(page), pool.scaleAt(page, layer, head) + in);
        PageRows.storeKeys(pool, page, layer, head, in, run, rows, scratch.floats(COLUMN, PANEL));
    }

    private void values(
            Workspace scratch, PagePool pool, Tensor from, long at, int run, int page, int head, long position) {
        int valueDim = pool.layout.valueDim();
        int ld = PageRows.ld(valueDim);
        float[] rows = scratch.floats(ROWS, PANEL * ld);
        scratch.packer().read(from, at, from.stride(2), from.stride(3), run, valueDim, rows, 0, ld);
        noteFinite(pool, rows, ld, run, valueDim, page, head);
        int in = (int) (position % pool.pageTokens);
        int scaleAt = pool.scaleAt(page, layer, head) + pool.pageTokens + in;
        scale(pool, rows, ld, run, valueDim, pool.scales(page), scaleAt);
        PageRows.storeValues(pool, page, layer, head, in, run, rows);
    }

    /** Marks pages with non-finite elements: those of values must not be multiplied, nor those of keys in some formats. */
    private void noteFinite(PagePool pool, float[] rows, int ld, int run, int dim, int page, int head) {
        for (int r = 0; r < run; r++) {
            if (!pool.format.isFinite(rows, r * ld, dim)) {
                pool.markNotFinite(page, layer, head);
            }
        }
    }

    private static void scale(PagePool pool, float[] rows, int ld, int run, int dim, float[] scales, int at) {
        for (int r = 0; pool.format.isScaled() && r < run; r++) {
            scales[at + r] = PanelFormat.quantise(rows, r * ld, dim);
        }
    }

    /** Releases the caller's tensors. */
    @Override
    protected void clear() {
        pages = null;
        open = null;
        rope = null;
        key = null;
        value = null;
        offsets = null;
        sequences = NONE;
    }
}
