package io.multihead.cache;

import static io.multihead.internal.kernel.Lanes.PANEL;

import io.multihead.internal.base.Checks;
import io.multihead.internal.base.TokenPositions;
import io.multihead.internal.call.Operation;
import io.multihead.internal.exec.FloatsKey;
import io.multihead.internal.exec.LoopBody;
import io.multihead.internal.exec.ScratchKey;
import io.multihead.internal.exec.Workspace;
import io.multihead.internal.kernel.Int8Panels;
import io.multihead.internal.layout.PanelFormat;
import io.multihead.internal.layout.PanelMemory;
import io.multihead.internal.layout.Positions;
import io.multihead.position.Rope;
import io.multihead.tensor.Tensor;
import org.jspecify.annotations.Nullable;

/** Writes new tokens into pages that have been taken already; a task is one head of one sequence. */
final class AppendCall extends Operation implements LoopBody {
    private static final FloatsKey ROWS = new FloatsKey();
    private static final FloatsKey COLUMN = new FloatsKey();
    private static final ScratchKey<StreamPositions> STREAMS = ScratchKey.of(StreamPositions::new);
    private static final int[] NONE = {};

    private @Nullable PagePool pages;
    private @Nullable Sequences sequences;
    private @Nullable Rope rope;
    private int layer;
    /** Numbers of the sequences that the new tokens belong to. */
    private int[] numbers = NONE;
    /** First token of each packed sequence, and the end of the last one; null if every batch is a sequence. */
    private long @Nullable [] offsets;

    /** The positions to which keys are rotated. Without an array, the position of a key is its index in the sequence. */
    private final TokenPositions positions = new TokenPositions();

    private @Nullable Tensor key;
    private @Nullable Tensor value;

    /** Binds the cache, in which pages for the new tokens have been taken. */
    void bind(PagePool newPages, Sequences newSequences, @Nullable Rope newRope, int newLayer) {
        pages = newPages;
        sequences = newSequences;
        rope = newRope;
        layer = newLayer;
    }

    /** Binds the new tokens and the sequences that they belong to. */
    void bindTokens(int[] newNumbers, long @Nullable [] newOffsets, Tensor newKey, Tensor newValue) {
        numbers = newNumbers;
        offsets = newOffsets;
        key = newKey;
        value = newValue;
    }

    /** Binds the positions to which keys are rotated, after the tokens. */
    void bindPositions(long @Nullable [] newPositions) {
        Tensor of = Checks.notNull(key, "key");
        positions.bind(newPositions, of.dim(0), of.dim(2));
    }

    void run() {
        run(this, (long) numbers.length * pool().layout.heads());
    }

    private PagePool pool() {
        return Checks.notNull(pages, "pages");
    }

    @Override
    public void run(long task, Workspace scratch) {
        PagePool pool = pool();
        Sequences to = Checks.notNull(sequences, "sequences");
        int heads = pool.layout.heads();
        int index = (int) (task / heads);
        int head = (int) (task % heads);
        Tensor k = Checks.notNull(key, "key");
        Tensor v = Checks.notNull(value, "value");
        long count = Sequences.count(offsets, index, k.dim(2));
        long first = to.get(numbers[index]).lengths[layer];
        for (long token = 0; token < count; ) {
            long position = first + token;
            int run = (int) Math.min(count - token, PANEL - position % PANEL);
            int part = pool.part(to.page(numbers[index], position), layer, head);
            float[] rows = readKeys(scratch, pool, k, Positions.ofToken(k, offsets, index, head, token), run);
            rotate(scratch, rows, run, index, token, position);
            int in = (int) (position % pool.pageTokens);
            keys(scratch, pool, rows, run, part, in);
            values(scratch, pool, v, Positions.ofToken(v, offsets, index, head, token), run, part, in);
            token += run;
        }
    }

    private static float[] readKeys(Workspace scratch, PagePool pool, Tensor from, long at, int run) {
        int ld = PageRows.ld(pool.layout.headDim());
        float[] rows = scratch.floats(ROWS, PANEL * ld);
        scratch.packer().read(from, at, from.stride(2), from.stride(3), run, pool.layout.headDim(), rows, 0, ld);
        return rows;
    }

    /** Rotates keys to the given positions of the tokens, or to their indices in the sequence. */
    private void rotate(Workspace scratch, float[] rows, int run, int index, long token, long firstIndex) {
        Rope rotation = rope;
        long[] given = positions.array();
        if (rotation == null) {
            return;
        }
        int ld = PageRows.ld(pool().layout.headDim());
        // a packed sequence starts at its boundary within the only batch
        int at = offsets == null ? positions.index(index, token) : positions.index(0, offsets[index] + token);
        int stride = positions.streamStride();
        for (int r = 0; r < run; r++) {
            if (given == null) {
                rotation.apply(rows, r * ld, firstIndex + r);
            } else if (stride == 0) {
                rotation.apply(rows, r * ld, given[at + r]);
            } else {
                rotation.apply(rows, r * ld, scratch.get(STREAMS).of(given, at + r, stride, rotation.streams()));
            }
        }
    }

    private static void keys(Workspace scratch, PagePool pool, float[] rows, int run, int part, int in) {
        int headDim = pool.layout.headDim();
        int ld = PageRows.ld(headDim);
        if (pool.format.needsFinite()) {
            noteFinite(pool, rows, ld, run, headDim, part);
        }
        int scales = pool.layout.keyScales();
        int block = scales > 1 ? Int8Panels.BLOCK : headDim;
        for (int i = 0; i < scales; i++) {
            int scaleIndex = pool.scaleIndex(part) + i * pool.pageTokens + in;
            scale(rows, i * block, ld, run, Math.min(block, headDim - i * block), pool.slabOf(part), scaleIndex);
        }
        PageRows.storeKeys(pool, part, in, run, rows, scratch.floats(COLUMN, PANEL));
    }

    private static void values(Workspace scratch, PagePool pool, Tensor from, long at, int run, int part, int in) {
        int valueDim = pool.layout.valueDim();
        int ld = PageRows.ld(valueDim);
        float[] rows = scratch.floats(ROWS, PANEL * ld);
        scratch.packer().read(from, at, from.stride(2), from.stride(3), run, valueDim, rows, 0, ld);
        noteFinite(pool, rows, ld, run, valueDim, part);
        if (pool.format.isScaled()) {
            scale(rows, 0, ld, run, valueDim, pool.slabOf(part), pool.valueScaleIndex(part) + in);
        }
        PageRows.storeValues(pool, part, in, run, rows);
    }

    /** Marks pages with non-finite elements. Attention must not multiply non-finite values and, in some formats, non-finite keys. */
    private static void noteFinite(PagePool pool, float[] rows, int ld, int run, int dim, int part) {
        for (int r = 0; r < run; r++) {
            if (!pool.format.isFinite(rows, r * ld, dim)) {
                pool.markNotFinite(part);
            }
        }
    }

    /** Divides {@code dim} elements of each row, from {@code from} on, by their scale, which is stored. */
    private static void scale(float[] rows, int from, int ld, int run, int dim, PanelMemory slab, int at) {
        for (int r = 0; r < run; r++) {
            slab.storeScale(at + r, PanelFormat.quantize(rows, r * ld + from, dim));
        }
    }

    /** Releases the caller's tensors. */
    @Override
    protected void clear() {
        pages = null;
        sequences = null;
        rope = null;
        key = null;
        value = null;
        offsets = null;
        positions.clear();
        numbers = NONE;
    }

    /** Positions of one token, gathered from all streams. */
    private static final class StreamPositions {
        private long[] gathered = new long[0];

        long[] of(long[] positions, int at, int stride, int streams) {
            gathered = gathered.length == streams ? gathered : new long[streams];
            for (int stream = 0; stream < streams; stream++) {
                gathered[stream] = positions[at + stream * stride];
            }
            return gathered;
        }
    }
}
