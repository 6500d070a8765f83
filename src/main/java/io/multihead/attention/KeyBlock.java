package io.multihead.attention;

import static io.multihead.internal.kernel.Lanes.DEPTH;
import static io.multihead.internal.kernel.Lanes.PANEL;
import static io.multihead.internal.kernel.Lanes.ROW;

import io.multihead.internal.kernel.Lanes;
import io.multihead.internal.kernel.Packer;
import io.multihead.internal.kernel.PanelStore;
import io.multihead.internal.kernel.Panels;
import io.multihead.internal.kernel.Product;
import io.multihead.internal.kernel.RowOps;
import io.multihead.internal.kernel.Scratch;
import io.multihead.internal.kernel.Widen;
import io.multihead.tensor.DType;
import java.util.Arrays;

/**
 * Up to 256 keys and values of one head as panels: keys as {@code [chunk of headDim][panel of keys][d][32 keys]}, values as
 * {@code [panel of valueDim][key][32]}. Belongs to one thread.
 *
 * <p>Rows of tensors are packed. Pages that are panels already are read where they lie, f32 by any number of rows and narrower
 * elements by a few, which widen them in registers. For many rows narrow pages are widened, in the order in which they lie, and
 * kept.
 *
 * <p>A value that is not finite would spoil, as {@code 0 * NaN}, the rows that do not see its key. Such elements are taken
 * out of the panels and kept aside; {@link #addStrays} gives them to exactly the rows that see them.
 */
final class KeyBlock {
    private static final long NOTHING = -1;
    private static final int MOST_PAGES = DEPTH / KeyValuePage.LEAST_KEYS;

    private final Scratch memory;
    private final KeyValuePage[] pages = new KeyValuePage[MOST_PAGES];
    private final Product.Runs runs = new Product.Runs();
    private int pageCount;
    /** Keys of one page of panels; the whole block when it is packed. */
    private int pageKeys;

    private ForwardCall call;
    private int sequence;
    private int head;
    private long firstKey = NOTHING;
    private int count;
    private boolean inPlace;
    /** Whether no value of the pages is infinite or NaN. */
    private boolean finite;

    private long keysOf = NOTHING;
    private long valuesOf = NOTHING;
    private int keyCount;
    private int valueCount;
    private float[] keyPanels = new float[0];
    private float[] valuePanels = new float[0];
    private float[] strayValues = new float[0];
    private final int[] strayKeys = new int[DEPTH];
    private int strayCount;

    KeyBlock(Scratch memory) {
        this.memory = memory;
        for (int i = 0; i < MOST_PAGES; i++) {
            pages[i] = new KeyValuePage();
        }
    }

    /**
     * Names the keys, and finds out where they lie.
     *
     * @param rows how many queries will read them: a few widen narrow panels in registers
     */
    void find(ForwardCall newCall, int newSequence, int newHead, long newFirstKey, int newCount, int rows) {
        call = newCall;
        sequence = newSequence;
        head = newHead;
        firstKey = newFirstKey;
        count = newCount;
        KeyValueView view = newCall.view();
        view.locate(newSequence, newHead, newFirstKey, pages[0]);
        finite = true;
        inPlace = pages[0].isPanels();
        pageCount = 1;
        if (inPlace) {
            pageKeys = (int) Math.min(DEPTH, pages[0].keys());
            for (int key = pageKeys; key < newCount; key += pageKeys) {
                view.locate(newSequence, newHead, newFirstKey + key, pages[pageCount++]);
            }
            for (int page = 0; page < pageCount; page++) {
                finite &= pages[page].finite();
            }
            inPlace = finite && (pages[0].dtype() == DType.F32 || rows <= Product.FEW);
            setRuns();
        }
        strayCount = inPlace ? 0 : strayCount;
    }

    private void setRuns() {
        int wide = Lanes.roundUp(call.arguments.valueDim, PANEL);
        for (int key = 0; key < count; key += Product.CHAIN) {
            KeyValuePage page = pages[key / pageKeys];
            int at = page.at(false) + key % pageKeys * wide;
            runs.set(key / Product.CHAIN, page.storage(), page.dtype(), at);
            if (page.dtype() == DType.I8) {
                runs.scale(key / Product.CHAIN, page.scales(), page.scaleAt(false) + key % pageKeys);
            }
        }
    }

    private long tag() {
        return call.arguments.tag(sequence * call.arguments.kvHeads + head);
    }

    /** Packs or widens the keys, unless they are read where they lie or still are from before. */
    void packKeys(Packer packer, float[] rows) {
        if (inPlace || (keysOf == tag() && keyCount >= count)) {
            return;
        }
        int headDim = call.arguments.headDim;
        keyPanels = memory.atLeast(keyPanels, Panels.size(DEPTH, Math.max(1, headDim)));
        for (int d = 0; d < headDim; d += DEPTH) {
            int depth = Math.min(DEPTH, headDim - d);
            if (pages[0].isPanels()) {
                for (int key = 0; key < count; key += PANEL) {
                    widenKeys(d, depth, key, keyPanels, d * DEPTH + key * depth);
                }
            } else {
                readRows(true, packer, d, depth, rows);
                Panels.fromColumns(rows, depth, count, keyPanels, d * DEPTH);
            }
        }
        keysOf = tag();
        keyCount = count;
    }

    /** Packs or widens the values, unless they are read where they lie or still are from before. */
    void packValues(Packer packer, float[] rows) {
        if (inPlace || (valuesOf == tag() && valueCount >= count)) {
            return;
        }
        int valueDim = call.arguments.valueDim;
        valuePanels = memory.atLeast(valuePanels, Panels.size(Math.max(1, valueDim), DEPTH));
        if (pages[0].isPanels()) {
            widenValues();
        } else {
            for (int d = 0; d < valueDim; d += DEPTH) {
                int wide = Math.min(DEPTH, valueDim - d);
                readRows(false, packer, d, wide, rows);
                finite &= Panels.fromRows(rows, ROW, count, wide, valuePanels, d * count, count);
            }
        }
        strayCount = 0;
        if (!finite) {
            takeStrays(valueDim);
        }
        valuesOf = tag();
        valueCount = count;
    }

    /** Reads rows of tensors, page after page. */
    private void readRows(boolean ofKeys, Packer packer, int d, int wide, float[] rows) {
        KeyValuePage page = pages[0];
        for (int row = 0; row < count; ) {
            call.view().locate(sequence, head, firstKey + row, page);
            int run = (int) Math.min(count - row, page.keys());
            long[] place = page.place(ofKeys);
            long at = place[0] + d * place[2];
            packer.read(page.tensor(ofKeys), at, place[1], place[2], run, wide, rows, row * ROW, ROW);
            row += run;
        }
    }

    /** One panel of narrow keys, without the scales of i8. */
    private void widenKeys(int d, int depth, int key, float[] to, int at) {
        KeyValuePage page = pages[key / pageKeys];
        int from = page.at(true) + d * pageKeys + key % pageKeys * PanelStore.depth(page.dtype(), depth);
        Widen.panel(page.storage(), page.dtype(), from, depth, to, at);
    }

    /** Values into panels of all keys, one run with all its dims after another: one stream from memory. */
    private void widenValues() {
        int wide = Lanes.roundUp(call.arguments.valueDim, PANEL);
        for (int key = 0; key < count; key += Product.CHAIN) {
            int rows = Math.min(Product.CHAIN, count - key);
            for (int d = 0; d < wide; d += PANEL) {
                runs.widen(key / Product.CHAIN, d / PANEL, rows, valuePanels, d * count + key * PANEL);
            }
        }
    }

    /**
     * {@code S = Q K^T} for the block's first {@code keys} keys.
     *
     * @param q0 where the first query lies, and {@code chunk} floats further the next 256 of its elements
     */
    void score(Product product, float[] queries, int q0, int chunk, int rows, int keys, float[] scores, int at) {
        int headDim = call.arguments.headDim;
        int run = inPlace ? pageKeys : DEPTH;
        for (int d = 0; d < headDim; d += DEPTH) {
            int depth = Math.min(DEPTH, headDim - d);
            product.left(queries, q0 + d / DEPTH * chunk);
            for (int key = 0; key < keys; key += run) {
                if (inPlace) {
                    KeyValuePage page = pages[key / pageKeys];
                    int stride = PanelStore.depth(page.dtype(), depth) * PANEL;
                    product.right(page.storage(), page.dtype(), page.at(true) + d * pageKeys, stride);
                } else {
                    product.right(keyPanels, d * DEPTH, depth * PANEL);
                }
                product.into(scores, at + key, ROW).multiply(rows, Math.min(run, keys - key), depth, d > 0);
            }
        }
        if (pages[0].isPanels() && pages[0].dtype() == DType.I8) {
            scaleScores(rows, keys, scores, at);
        }
        for (int r = 0; headDim == 0 && r < rows; r++) {
            Arrays.fill(scores, at + r * ROW, at + r * ROW + Lanes.roundUp(keys, PANEL), 0f);
        }
    }

    /** Each key in i8 has a scale, which is multiplied in once instead of for each of its elements. */
    private void scaleScores(int rows, int keys, float[] scores, int at) {
        for (int key = 0; key < keys; key += pageKeys) {
            KeyValuePage page = pages[key / pageKeys];
            int run = Lanes.roundUp(Math.min(pageKeys, keys - key), PANEL);
            for (int r = 0; r < rows; r++) {
                RowOps.multiply(scores, at + r * ROW + key, run, page.scales(), page.scaleAt(true));
            }
        }
    }

    /** {@code O = O + P V} for the block's first {@code keys} values; the product knows P. */
    void accumulate(Product product, int rows, int keys, OnlineSoftmax into, int tile) {
        int valueDim = call.arguments.valueDim;
        int at = into.at(tile);
        if (inPlace) {
            product.right(runs);
        } else {
            product.right(valuePanels, 0, valueCount * PANEL);
        }
        product.into(into.output(), at, into.stride()).accumulate(rows, valueDim, keys, Product.CHAIN, into.lost());
    }

    /** Whether the block was found for these keys last. */
    boolean holds(long key) {
        return firstKey == key;
    }

    /** Forgets what is packed, before the block is used for other keys of the same group. */
    void clear() {
        keysOf = NOTHING;
        valuesOf = NOTHING;
    }

    /** Forgets whose memory it is; what is packed stays. */
    void release() {
        call = null;
        runs.clear();
        for (KeyValuePage page : pages) {
            page.clear();
        }
    }

    private void takeStrays(int valueDim) {
        int wide = Lanes.roundUp(valueDim, PANEL);
        strayValues = memory.atLeast(strayValues, DEPTH * wide);
        for (int k = 0; k < count; k++) {
            boolean stray = false;
            for (int d = 0; d < wide; d++) {
                int at = (d / PANEL * count + k) * PANEL + d % PANEL;
                float v = valuePanels[at];
                strayValues[strayCount * wide + d] = Float.isFinite(v) ? 0f : v;
                if (!Float.isFinite(v)) {
                    valuePanels[at] = 0f;
                    stray = true;
                }
            }
            if (stray) {
                strayKeys[strayCount++] = k;
            }
        }
    }

    /** Adds the values kept aside to an output row, for every such key whose score is not minus infinity. */
    void addStrays(float[] scores, int s0, int visible, float[] output, int o0, int wide) {
        for (int i = 0; i < strayCount; i++) {
            if (strayKeys[i] < visible && scores[s0 + strayKeys[i]] != Float.NEGATIVE_INFINITY) {
                for (int d = 0; d < wide; d++) {
                    output[o0 + d] += strayValues[i * wide + d];
                }
            }
        }
    }

    boolean hasStrays() {
        return strayCount > 0;
    }
}
