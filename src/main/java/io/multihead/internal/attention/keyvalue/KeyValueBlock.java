package io.multihead.internal.attention.keyvalue;

import static io.multihead.internal.attention.AttentionBlocking.DIM_CHUNK;
import static io.multihead.internal.kernel.Lanes.PANEL;
import static io.multihead.internal.kernel.Lanes.ROW;

import io.multihead.internal.attention.AttentionBlocking;
import io.multihead.internal.attention.HeadRows;
import io.multihead.internal.base.Checks;
import io.multihead.internal.gemm.MacroKernel;
import io.multihead.internal.gemm.SegmentedPanels;
import io.multihead.internal.kernel.F32Panels;
import io.multihead.internal.kernel.Int8Panels;
import io.multihead.internal.kernel.Lanes;
import io.multihead.internal.kernel.RowOps;
import io.multihead.internal.layout.Packer;
import io.multihead.internal.layout.PanelMemory;
import io.multihead.internal.layout.Panels;
import io.multihead.internal.layout.Scratch;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Up to 256 keys and values of one head as right operands: keys as {@code [chunk of headDim][panel of keys][d][32 keys]}, values as {@code
 * [panel of valueDim][key][32]}. Belongs to one thread.
 *
 * <p>Rows of tensors are packed. Spans that are already panels are read in place: f32 for any number of query rows, narrower elements for a
 * few rows, which widen them in registers. For many rows, narrow spans are widened, in the order in which they are stored, and kept.
 */
public final class KeyValueBlock {
    private static final int MAX_SPANS = AttentionBlocking.KEY_BLOCK / KeyValueSpan.MIN_PANEL_KEYS;

    private final Scratch memory;
    private final KeyValueSpan[] spans = new KeyValueSpan[MAX_SPANS];
    /** The panels that are multiplied next, unless these are {@link #valueRuns}. */
    private final Panels right = new Panels();

    private final SegmentedPanels valueRuns = new SegmentedPanels();
    private final PackedPanels packedKeys = new PackedPanels();
    private final PackedPanels packedValues = new PackedPanels();
    /**
     * The non-finite values that were moved out of {@link #packedValues}. They are valid as long as these panels, even while a task reads
     * the block in place.
     */
    private final NonFiniteValues nonFinite;
    /** Rows of this head, and of the next heads if the heads are adjacent in memory. */
    private final HeadRows keyRows;

    private final HeadRows valueRows;

    private final BlockScales scales;

    private @Nullable KeyValueSource source;
    private int sequence;
    private int head;
    private long tag;
    private int headDim;
    private int valueDim;
    private long firstKey;
    private int count;
    private int mostHeads;
    private int spanKeys;
    private boolean inPlace;
    /** Whether no value of the spans is infinite or NaN. */
    private boolean finite;

    KeyValueBlock(Scratch memory) {
        this.memory = memory;
        nonFinite = new NonFiniteValues(memory);
        keyRows = new HeadRows(memory);
        valueRows = new HeadRows(memory);
        scales = new BlockScales(memory);
        for (int i = 0; i < MAX_SPANS; i++) {
            spans[i] = new KeyValueSpan();
        }
    }

    /** Sets the head whose keys {@link #locate} finds. */
    void bind(KeyValueSource newSource, int newSequence, int newHead, long newTag, int newHeadDim, int newValueDim) {
        headDim = newHeadDim;
        valueDim = newValueDim;
        source = newSource;
        sequence = newSequence;
        head = newHead;
        tag = newTag;
    }

    /**
     * Determines where the keys are stored.
     *
     * @param rows the number of query rows that will read the keys; a few rows widen narrow panels in registers
     * @param newMostHeads the largest number of heads whose rows may be read together, including this one
     */
    void locate(long newFirstKey, int newCount, int rows, int newMostHeads) {
        mostHeads = newMostHeads;
        firstKey = newFirstKey;
        count = newCount;
        KeyValueSource from = source();
        from.locate(sequence, head, newFirstKey, spans[0]);
        finite = true;
        inPlace = spans[0].isPanels();
        if (inPlace) {
            finite = spans[0].isFinite();
            spanKeys = (int) Math.min(AttentionBlocking.KEY_BLOCK, spans[0].keys());
            for (int key = spanKeys; key < newCount; key += spanKeys) {
                KeyValueSpan span = spans[key / spanKeys];
                from.locate(sequence, head, newFirstKey + key, span);
                finite &= span.isFinite();
            }
            inPlace = finite && rows <= spans[0].panels().format().maxRowsInRegisters();
            setValueRuns();
        }
    }

    private void setValueRuns() {
        boolean scaled = spans[0].panels().format().isScaled();
        if (scaled) {
            copyScales();
        }
        int width = Lanes.roundUp(valueDim, PANEL);
        for (int key = 0; key < count; key += AttentionBlocking.VALUE_CHAIN) {
            KeyValueSpan span = spans[key / spanKeys];
            int at = span.value().panel + key % spanKeys * width;
            valueRuns
                    .set(key / AttentionBlocking.VALUE_CHAIN, span.panels(), at)
                    .scale(scaled ? scales.values() : Panels.UNSCALED, scaled ? scales.ofValues() + key : 0);
        }
    }

    private void copyScales() {
        for (int key = 0; key < count; key += spanKeys) {
            scales.load(spans[key / spanKeys], key, spanKeys);
        }
    }

    /** Packs or widens the keys, unless they are read in place or are still packed. */
    public void packKeys(Packer packer, float[] staging) {
        if (inPlace || packedKeys.holds(tag, firstKey, count)) {
            return;
        }
        PanelMemory panels =
                packedKeys.reserve(memory, F32Panels.size(AttentionBlocking.KEY_BLOCK, Math.max(1, headDim)));
        for (int d = 0; d < headDim; d += DIM_CHUNK) {
            int depth = Math.min(DIM_CHUNK, headDim - d);
            if (spans[0].isPanels()) {
                for (int key = 0; key < count; key += PANEL) {
                    widenKeys(d, depth, key, panels, d * AttentionBlocking.KEY_BLOCK + key * depth);
                }
            } else {
                float[] rows = readHeads(keyRows, spans[0].key(), packer, headDim)
                        ? keyRows.rows()
                        : readRows(true, packer, d, depth, staging);
                panels.packColumns(
                        rows, keyRows.column(), depth, count, packer.panel(depth), d * AttentionBlocking.KEY_BLOCK);
            }
        }
        packedKeys.packed(tag, firstKey, count);
    }

    /** Packs or widens the values, unless they are read in place or are still packed. */
    public void packValues(Packer packer, float[] staging) {
        if (inPlace || packedValues.holds(tag, firstKey, count)) {
            return;
        }
        PanelMemory panels =
                packedValues.reserve(memory, F32Panels.size(Math.max(1, valueDim), AttentionBlocking.KEY_BLOCK));
        if (spans[0].isPanels()) {
            widenValues(panels);
        } else {
            for (int d = 0; d < valueDim; d += DIM_CHUNK) {
                int depth = Math.min(DIM_CHUNK, valueDim - d);
                float[] rows = readHeads(valueRows, spans[0].value(), packer, valueDim)
                        ? valueRows.rows()
                        : readRows(false, packer, d, depth, staging);
                finite &= panels.packRows(rows, valueRows.column(), ROW, count, depth, d * count, count);
            }
        }
        nonFinite.clear();
        if (!finite) {
            nonFinite.moveFrom(panels, count, Lanes.roundUp(valueDim, PANEL));
        }
        packedValues.packed(tag, firstKey, count);
    }

    /**
     * Reads all rows of the sequence, of this head and of the adjacent heads, unless they were read with the rows of another head.
     *
     * @return false if no head is adjacent to this one, or the keys are more than a block
     */
    private boolean readHeads(HeadRows rows, KeyValueSpan.Side side, Packer packer, int dim) {
        if (rows.moveTo(tag, dim)) {
            return true;
        }
        int heads = Math.min(mostHeads, side.heads);
        if (heads == 1 || firstKey > 0 || spans[0].keys() != count) {
            return false;
        }
        float[] to = rows.reserve(count);
        packer.read(side.tensor(), side.position, side.rowStride, 1, count, heads * dim, to, 0, ROW);
        rows.hold(tag, heads);
        return true;
    }

    /** Reads a chunk of rows of tensors, span after span. */
    private float[] readRows(boolean ofKeys, Packer packer, int d, int depth, float[] staging) {
        KeyValueSpan span = spans[0];
        for (int row = 0; row < count; ) {
            source().locate(sequence, head, firstKey + row, span);
            int rows = (int) Math.min(count - row, span.keys());
            KeyValueSpan.Side side = ofKeys ? span.key() : span.value();
            long at = side.position + d * side.columnStride;
            packer.read(side.tensor(), at, side.rowStride, side.columnStride, rows, depth, staging, row * ROW, ROW);
            row += rows;
        }
        return staging;
    }

    /** Widens one panel of narrow keys, without the scales of i8. */
    private void widenKeys(int d, int depth, int key, PanelMemory to, int at) {
        KeyValueSpan span = spans[key / spanKeys];
        PanelMemory panels = span.panels();
        int from = span.key().panel
                + d * spanKeys
                + key % spanKeys * panels.format().rows(depth);
        panels.widen(from, depth, Panels.UNSCALED, 0, to, at);
    }

    /**
     * Widens values into panels of all keys. Runs of 64 keys, each with all dims, are widened in order, so that memory is read as one
     * stream.
     */
    private void widenValues(PanelMemory to) {
        int width = Lanes.roundUp(valueDim, PANEL);
        for (int key = 0; key < count; key += AttentionBlocking.VALUE_CHAIN) {
            int rows = Math.min(AttentionBlocking.VALUE_CHAIN, count - key);
            for (int d = 0; d < width; d += PANEL) {
                valueRuns.get(key / AttentionBlocking.VALUE_CHAIN).widen(d / PANEL, rows, to, d * count + key * PANEL);
            }
        }
    }

    /**
     * Computes {@code S = Q K^T} for the block's first {@code keys} keys.
     *
     * @param q0 index of the first query; each further chunk of 256 of its elements is {@code chunk} floats later
     */
    public void multiplyKeys(
            MacroKernel product, float[] queries, int q0, int chunk, int rows, int keys, float[] scores, int at) {
        boolean scaled = spans[0].isPanels() && spans[0].panels().format().isScaled();
        boolean inBlocks = scaled && scales.areBlocks();
        int step = inPlace ? spanKeys : AttentionBlocking.KEY_BLOCK;
        for (int d = 0; d < headDim; d += DIM_CHUNK) {
            int depth = Math.min(DIM_CHUNK, headDim - d);
            product.left(queries, q0 + d / DIM_CHUNK * chunk);
            for (int key = 0; key < keys; key += step) {
                if (inPlace) {
                    KeyValueSpan span = spans[key / spanKeys];
                    int stride = span.panels().format().panelSize(depth);
                    product.right(right.set(span.panels(), span.key().panel + d * spanKeys, stride));
                } else {
                    product.right(right.set(packedKeys.panels(), d * AttentionBlocking.KEY_BLOCK, depth * PANEL));
                }
                if (inBlocks) {
                    int of = d / Int8Panels.BLOCK * Int8Panels.SCALES_APART + key;
                    right.scaleColumns(scales.values(), of);
                }
                product.into(scores, at + key, ROW).multiply(rows, Math.min(step, keys - key), depth, d > 0);
            }
        }
        if (scaled && !inBlocks) {
            // the scale is applied once for each score, instead of once for each element of a key
            for (int r = 0; r < rows; r++) {
                RowOps.multiply(scores, at + r * ROW, Lanes.roundUp(keys, PANEL), scales.values(), 0);
            }
        }
        for (int r = 0; headDim == 0 && r < rows; r++) {
            Arrays.fill(scores, at + r * ROW, at + r * ROW + Lanes.roundUp(keys, PANEL), 0f);
        }
    }

    /**
     * Computes {@code O = O + P V} for the block's first {@code keys} values, compensated.
     *
     * @param product multiplies, with P as its left operand
     * @param compensation distance from an element of O to its compensation term, in floats
     */
    public void multiplyValues(
            MacroKernel product, int rows, int keys, float[] output, int at, int stride, int compensation) {
        if (inPlace) {
            product.right(valueRuns);
        } else {
            product.right(right.set(packedValues.panels(), 0, packedValues.count() * PANEL));
        }
        product.into(output, at, stride)
                .addCompensated(rows, valueDim, keys, AttentionBlocking.VALUE_CHAIN, compensation);
    }

    /** Returns whether V has non-finite elements that {@link #multiplyValues} omits. */
    public boolean leavesOutNonFinite() {
        return !inPlace && nonFinite.any();
    }

    /** Returns the omitted elements. */
    public NonFiniteValues nonFinite() {
        return nonFinite;
    }

    /** Drops every reference to the caller's memory; packed panels stay. */
    void release() {
        source = null;
        right.clear();
        valueRuns.clear();
        for (KeyValueSpan span : spans) {
            span.clear();
        }
    }

    private KeyValueSource source() {
        return Checks.notNull(source, "source");
    }
}
