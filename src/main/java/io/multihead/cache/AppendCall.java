package io.multihead.cache;

import static io.multihead.internal.kernel.Lanes.DEPTH;
import static io.multihead.internal.kernel.Lanes.PANEL;

import io.multihead.internal.Checks;
import io.multihead.internal.call.Operation;
import io.multihead.internal.exec.FloatsKey;
import io.multihead.internal.exec.LoopBody;
import io.multihead.internal.exec.Workspace;
import io.multihead.internal.kernel.Lanes;
import io.multihead.internal.kernel.PanelStore;
import io.multihead.internal.kernel.Product;
import io.multihead.position.Rope;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import org.jspecify.annotations.Nullable;

/** Writes new tokens into pages that are there already; a unit is one head of one sequence. */
final class AppendCall extends Operation implements LoopBody {
    private static final FloatsKey ROWS = new FloatsKey();
    private static final FloatsKey TURNED = new FloatsKey();
    private static final int[] NONE = {};

    private @Nullable KeyValueCache cache;
    private @Nullable Tensor key;
    private @Nullable Tensor value;
    private int[] sequences = NONE;
    /** Where packed sequences start; null when every batch is one. */
    private long @Nullable [] offsets;

    private int layer;

    void bind(KeyValueCache newCache, int newLayer, int[] newSequences, long @Nullable [] newOffsets) {
        cache = newCache;
        layer = newLayer;
        sequences = newSequences;
        offsets = newOffsets;
    }

    void bindTensors(Tensor newKey, Tensor newValue) {
        key = newKey;
        value = newValue;
    }

    void run() {
        run(
                this,
                (long) sequences.length
                        * Checks.notNull(cache, "cache").config().heads());
    }

    @Override
    public void run(long unit, Workspace scratch) {
        KeyValueCache to = Checks.notNull(cache, "cache");
        int heads = to.config().heads();
        int index = (int) (unit / heads);
        int head = (int) (unit % heads);
        Tensor k = Checks.notNull(key, "key");
        Tensor v = Checks.notNull(value, "value");
        long count = offsets == null ? k.dim(2) : offsets[index + 1] - offsets[index];
        long first = to.length(layer, sequences[index]);
        for (long token = 0; token < count; ) {
            long position = first + token;
            int run = (int) Math.min(count - token, PANEL - position % PANEL);
            int page = to.page(sequences[index], position);
            keys(scratch, to, k, start(k, index, head, token), run, page, head, position);
            values(scratch, to, v, start(v, index, head, token), run, page, head, position);
            token += run;
        }
    }

    private long start(Tensor tensor, int index, int head, long token) {
        return tensor.offset()
                + (offsets == null ? index * tensor.stride(0) : offsets[index] * tensor.stride(2))
                + head * tensor.stride(1)
                + token * tensor.stride(2);
    }

    private void keys(
            Workspace scratch, KeyValueCache to, Tensor from, long at, int run, int page, int head, long position) {
        PagePool pool = to.pool();
        int headDim = to.config().headDim();
        int ld = Lanes.roundUp(Math.max(1, headDim), PANEL);
        float[] rows = scratch.floats(ROWS, PANEL * ld);
        scratch.packer().read(from, at, from.stride(2), from.stride(3), run, headDim, rows, 0, ld);
        Rope rope = to.config().rope(layer);
        for (int r = 0; rope != null && r < run; r++) {
            rope.apply(rows, r * ld, position + r);
        }
        if (pool.config.dtype() == DType.F16) {
            noteFinite(pool, rows, ld, run, headDim, page, head);
        }
        int in = (int) (position % pool.pageTokens);
        scale(pool, rows, ld, run, headDim, pool.scales(page), pool.scaleAt(page, layer, head) + in);
        int keyAt = pool.keyAt(page, layer, head);
        float[] turned = scratch.floats(TURNED, PANEL);
        for (int d = 0; d < headDim; d += DEPTH) {
            int depth = Math.min(DEPTH, headDim - d);
            int stored = PanelStore.depth(pool.config.dtype(), depth);
            int column = keyAt + d * pool.pageTokens + in / PANEL * PANEL * stored + in % PANEL;
            PanelStore.columns(rows, d, ld, run, depth, turned, pool.slab(page), pool.config.dtype(), column);
        }
    }

    private void values(
            Workspace scratch, KeyValueCache to, Tensor from, long at, int run, int page, int head, long position) {
        PagePool pool = to.pool();
        DType dtype = pool.config.dtype();
        int valueDim = to.config().valueDim();
        int ld = Lanes.roundUp(Math.max(1, valueDim), PANEL);
        float[] rows = scratch.floats(ROWS, PANEL * ld);
        scratch.packer().read(from, at, from.stride(2), from.stride(3), run, valueDim, rows, 0, ld);
        noteFinite(pool, rows, ld, run, valueDim, page, head);
        int in = (int) (position % pool.pageTokens);
        int scaleAt = pool.scaleAt(page, layer, head) + pool.pageTokens + in;
        scale(pool, rows, ld, run, valueDim, pool.scales(page), scaleAt);
        int first = in % Product.CHAIN;
        int valueAt = pool.valueAt(page, layer, head) + (in - first) * ld;
        for (int d = 0; d < valueDim; d += PANEL) {
            for (int r = 0; r < run; r++) {
                int target = valueAt + d * Product.CHAIN + (first + r) * PANEL;
                PanelStore.row(rows, r * ld + d, Math.min(PANEL, valueDim - d), pool.slab(page), dtype, target);
            }
        }
    }

    /** Infinity and NaN must be taken out of values before they are multiplied; in F16, keys too are read as if all were finite. */
    private void noteFinite(PagePool pool, float[] rows, int ld, int run, int dim, int page, int head) {
        for (int r = 0; r < run; r++) {
            if (!PanelStore.isFinite(rows, r * ld, dim, pool.config.dtype())) {
                pool.markNotFinite(page, layer, head);
            }
        }
    }

    private static void scale(PagePool pool, float[] rows, int ld, int run, int dim, float[] scales, int at) {
        for (int r = 0; pool.config.dtype() == DType.I8 && r < run; r++) {
            scales[at + r] = PanelStore.quantise(rows, r * ld, dim);
        }
    }

    /** Forgets the caller's tensors. */
    @Override
    protected void clear() {
        cache = null;
        key = null;
        value = null;
        offsets = null;
        sequences = NONE;
    }
}
