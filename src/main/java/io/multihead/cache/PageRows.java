package io.multihead.cache;

import static io.multihead.internal.attention.AttentionBlocking.DIM_CHUNK;
import static io.multihead.internal.attention.AttentionBlocking.VALUE_CHAIN;
import static io.multihead.internal.kernel.Lanes.PANEL;

import io.multihead.internal.kernel.Lanes;
import io.multihead.internal.layout.Packer;
import io.multihead.internal.layout.PanelMemory;

/**
 * Moves keys and values of one head between rows of f32 and the panels of a page, without scales. Rows are {@link #ld} floats apart;
 * {@code part} is the part of that head in the page, and {@code in} the index of a token in the page.
 */
final class PageRows {
    private PageRows() {}

    /** Returns the distance of rows with {@code dim} elements: whole panels. */
    static int ld(int dim) {
        return Lanes.roundUp(Math.max(1, dim), PANEL);
    }

    /** Returns the number of floats of the buffer that {@link #loadKeys} and {@link #loadValues} need. */
    static int bufferSize() {
        return DIM_CHUNK * PANEL;
    }

    /** Stores {@code run} keys, all in one panel; {@code column} holds at least {@code run} floats. */
    static void storeKeys(PagePool pool, int part, int in, int run, float[] rows, float[] column) {
        int headDim = pool.layout.headDim();
        for (int d = 0; d < headDim; d += DIM_CHUNK) {
            int depth = Math.min(DIM_CHUNK, headDim - d);
            int at = keyAt(pool, part, in, d) + in % PANEL;
            pool.slabOf(part).storeColumns(rows, d, ld(headDim), run, depth, column, at);
        }
    }

    /** Stores {@code run} values, all in one chain of values. */
    static void storeValues(PagePool pool, int part, int in, int run, float[] rows) {
        int valueDim = pool.layout.valueDim();
        int first = pool.valueAt(part);
        for (int d = 0; d < valueDim; d += PANEL) {
            for (int r = 0; r < run; r++) {
                int at = valueAt(pool, first, in + r, d);
                pool.slabOf(part).storeRow(rows, r * ld(valueDim) + d, Math.min(PANEL, valueDim - d), at);
            }
        }
    }

    /** Widens the 32 keys of one panel, of which {@code in} is the first. */
    static void loadKeys(PagePool pool, int part, int in, float[] rows, Packer packer, float[] buffer) {
        int headDim = pool.layout.headDim();
        int ld = ld(headDim);
        PanelMemory slab = pool.slabOf(part);
        for (int d = 0; d < headDim; d += DIM_CHUNK) {
            int depth = Math.min(DIM_CHUNK, headDim - d);
            packer.widen(slab, keyAt(pool, part, in, d), depth, buffer);
            for (int k = 0; k < depth; k++) {
                for (int t = 0; t < PANEL; t++) {
                    rows[t * ld + d + k] = buffer[k * PANEL + t];
                }
            }
        }
    }

    /** Widens the 32 values from token {@code in} on, a multiple of 32. */
    static void loadValues(PagePool pool, int part, int in, float[] rows, Packer packer, float[] buffer) {
        int valueDim = pool.layout.valueDim();
        int first = pool.valueAt(part);
        int ld = ld(valueDim);
        PanelMemory slab = pool.slabOf(part);
        for (int d = 0; d < valueDim; d += PANEL) {
            packer.widen(slab, valueAt(pool, first, in, d), PANEL, buffer);
            for (int r = 0; r < PANEL; r++) {
                System.arraycopy(buffer, r * PANEL, rows, r * ld + d, PANEL);
            }
        }
    }

    /** Returns the index of the first element of the panel of a token, in the chunk that begins at dim {@code d}. */
    private static int keyAt(PagePool pool, int part, int in, int d) {
        int depth = Math.min(DIM_CHUNK, pool.layout.headDim() - d);
        return pool.keyAt(part) + d * pool.pageTokens + in / PANEL * pool.format.panelSize(depth);
    }

    /**
     * Returns the index of element {@code d} of a token's value, in a part whose values begin at {@code first}; {@code d} is a multiple of
     * 32.
     */
    private static int valueAt(PagePool pool, int first, int in, int d) {
        int row = in % VALUE_CHAIN;
        int chain = first + (in - row) * ld(pool.layout.valueDim());
        return chain + d * VALUE_CHAIN + row * PANEL;
    }
}
