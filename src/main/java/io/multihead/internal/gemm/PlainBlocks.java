package io.multihead.internal.gemm;

import static io.multihead.internal.kernel.Lanes.PANEL;

import io.multihead.internal.kernel.BitFields;
import io.multihead.internal.kernel.BlockScales;
import io.multihead.internal.kernel.MicroKernel;
import io.multihead.internal.kernel.NibbleTiles;
import io.multihead.internal.layout.BlockPanels;
import io.multihead.internal.layout.Scratch;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * Products with a panel of quantized blocks without vectors. They have the same bits as the tiles, and are used until C2 has compiled the
 * tiles. Belongs to one thread.
 */
final class PlainBlocks {
    private final Scratch memory;
    private int[] words = {};
    private float[] wide = {};
    private float[] scales = {};
    private BlockPanels format = BlockPanels.Q8_0;
    private int depth;

    PlainBlocks(Scratch memory) {
        this.memory = memory;
    }

    /** Widens the scales of a panel that begins at a byte. */
    void widenScales(BlockPanels of, MemorySegment panels, long at, int rows, float[] to) {
        readWords(panels, at, of.scaleWords(rows));
        of.scales().widen(words, rows, to);
    }

    /**
     * Reads a panel that begins at a byte, for the next products.
     *
     * @param rounded whether these are products of rounded rows, which use the unchanged fields
     * @param newScales memory for its scales
     */
    void read(BlockPanels of, MemorySegment panels, long at, int rows, boolean rounded, float[] newScales) {
        format = of;
        depth = rows;
        scales = newScales;
        readWords(panels, at, rows / of.rows() * of.bytes() / Integer.BYTES);
        of.scales().widen(words, rows, scales);
        if (!rounded) {
            wide = memory.atLeast(wide, MicroKernel.MAX_DEPTH * PANEL);
            of.fields().widen(words, of.scaleWords(rows), rows, wide);
        }
    }

    /**
     * Stores the elements of a panel that begins at a byte.
     *
     * @param to rows of 32 floats
     */
    void unpack(BlockPanels of, MemorySegment panels, long at, int rows, float[] to) {
        scales = memory.atLeast(scales, BlockScales.FLOATS_OF_PANEL);
        read(of, panels, at, rows, true, scales);
        of.fields().widen(words, of.scaleWords(rows), rows, to);
        of.fields().unpack(to, scales, rows, of.scales().hasMins());
    }

    private void readWords(MemorySegment panels, long at, int count) {
        words = memory.atLeast(words, count);
        MemorySegment.copy(panels, ValueLayout.JAVA_INT, at, words, 0, count);
    }

    void multiply(BitFields.Rows a, int row, float[] to, int t0) {
        format.fields().multiplyPlain(a, row, wide, scales, depth, to, t0);
        addMins(a, row, to, t0);
    }

    /**
     * Multiplies one rounded row by the panel.
     *
     * @param a the rows with the sums of the row
     */
    void multiply(NibbleTiles.Rows rounded, BitFields.Rows a, int row, float[] to, int t0) {
        NibbleTiles.multiplyPlain(rounded, row, words, format.scaleWords(depth), scales, depth, to, t0);
        addMins(a, row, to, t0);
    }

    private void addMins(BitFields.Rows a, int row, float[] to, int t0) {
        if (format.scales().hasMins()) {
            BitFields.addMinimaPlain(a, row, scales, depth / format.fields().chain(), to, t0);
        }
    }
}
