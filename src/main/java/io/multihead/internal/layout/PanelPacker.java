package io.multihead.internal.layout;

import static io.multihead.internal.kernel.Lanes.PANEL;
import static io.multihead.internal.kernel.Lanes.ROW;

/** Packs a block of B into F32 panels. It reads along the axis that is contiguous in memory. Belongs to one thread. */
public final class PanelPacker {
    /** Columns that are read at a time: long runs, because each run begins with a wait for its first cache line. */
    private static final int RUN_COLUMNS = 512;

    /** Rows of such runs that are packed at a time: they are still in L1 when they are packed, and evict nothing from L2. */
    private static final int RUN_ROWS = 16;

    /** Columns that are read at a time if columns are contiguous and are transposed. */
    private static final int TRANSPOSED_COLUMNS = 256;

    private final Scratch memory;
    private final boolean isCold;
    private float[] rows = new float[0];

    /** Allocates its buffer from {@code memory} on first use. */
    public PanelPacker(Scratch memory) {
        this(memory, false);
    }

    private PanelPacker(Scratch memory, boolean isCold) {
        this.memory = memory;
        this.isCold = isCold;
    }

    /** Returns a packer for weights. It uses no vectors, because weights are packed once, mostly before C2 has compiled anything. */
    public static PanelPacker ofWeights(Scratch memory) {
        return new PanelPacker(memory, true);
    }

    /**
     * Packs {@code depth} rows and {@code columns} columns into F32 panels {@code [panel][depth][32]}, which are stored from element {@code
     * p0} on.
     *
     * @param depth at most {@link io.multihead.internal.kernel.MicroKernel#MAX_DEPTH}
     */
    public void pack(Packer packer, StridedBlock b, int depth, int columns, PanelMemory panels, int p0) {
        if (b.rowStride() == 1 && b.columnStride() != 1) {
            rows = memory.atLeast(rows, TRANSPOSED_COLUMNS * ROW);
            for (int column = 0; column < columns; column += TRANSPOSED_COLUMNS) {
                int count = Math.min(TRANSPOSED_COLUMNS, columns - column);
                long from = b.at() + column * b.columnStride();
                packer.read(b.tensor(), from, b.columnStride(), 1, count, depth, rows, 0, ROW);
                panels.packColumns(rows, 0, depth, count, packer.panel(depth), p0 + column * depth);
            }
        } else {
            rows = memory.atLeast(rows, RUN_ROWS * RUN_COLUMNS);
            for (int column = 0; column < columns; column += RUN_COLUMNS) {
                int count = Math.min(RUN_COLUMNS, columns - column);
                packRuns(packer, b, column, depth, count, panels, p0 + column * depth);
            }
        }
    }

    private void packRuns(
            Packer packer, StridedBlock b, int column, int depth, int columns, PanelMemory panels, int p0) {
        for (int k = 0; k < depth; k += RUN_ROWS) {
            int count = Math.min(RUN_ROWS, depth - k);
            long from = b.at() + k * b.rowStride() + column * b.columnStride();
            packer.read(b.tensor(), from, b.rowStride(), b.columnStride(), count, columns, rows, 0, RUN_COLUMNS);
            if (isCold) {
                panels.copyRows(rows, RUN_COLUMNS, count, columns, packer.panel(count), p0 + k * PANEL, depth);
            } else {
                panels.packRows(rows, 0, RUN_COLUMNS, count, columns, p0 + k * PANEL, depth);
            }
        }
    }
}
