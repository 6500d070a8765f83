package io.multihead.gemm;

import static io.multihead.internal.kernel.Lanes.DEPTH;
import static io.multihead.internal.kernel.Lanes.PANEL;
import static io.multihead.internal.kernel.Lanes.ROW;

import io.multihead.internal.kernel.Packer;
import io.multihead.internal.kernel.Panels;
import io.multihead.internal.kernel.Scratch;
import io.multihead.tensor.Tensor;

/** Packs part of a right operand into panels, reading along whichever axis lies contiguous. Belongs to one thread. */
final class PanelPacker {
    /** Columns that are read at a time: long runs, since each run's first cache line is waited for. */
    private static final int WIDE = 512;

    /** Rows of a run that are packed at a time: they are still in L1 then, and push nothing out of L2. */
    private static final int FEW = 16;

    private final Scratch memory;
    private float[] rows = new float[0];

    PanelPacker(Scratch memory) {
        this.memory = memory;
    }

    /**
     * Packs {@code depth} rows and {@code columns} columns into panels {@code [panel][depth][32]}.
     *
     * @param matrix {@code [K, N]} in its last two axes
     * @param at position of the first packed element in the matrix's memory
     */
    void pack(Packer packer, Tensor matrix, long at, int depth, int columns, float[] panels, int p0) {
        rows = memory.atLeast(rows, DEPTH * ROW);
        boolean byColumn = matrix.stride(-2) == 1 && matrix.stride(-1) != 1;
        int step = byColumn ? DEPTH : WIDE;
        for (int column = 0; column < columns; column += step) {
            int wide = Math.min(step, columns - column);
            long from = at + column * matrix.stride(-1);
            int to = p0 + column * depth;
            if (byColumn) {
                packer.read(matrix, from, matrix.stride(-1), 1, wide, depth, rows, 0, ROW);
                Panels.fromColumns(rows, depth, wide, panels, to);
            } else {
                packRows(packer, matrix, from, depth, wide, panels, to);
            }
        }
    }

    private void packRows(Packer packer, Tensor matrix, long at, int depth, int columns, float[] panels, int p0) {
        long rowStride = matrix.stride(-2);
        for (int k = 0; k < depth; k += FEW) {
            int count = Math.min(FEW, depth - k);
            packer.read(matrix, at + k * rowStride, rowStride, matrix.stride(-1), count, columns, rows, 0, WIDE);
            Panels.fromRows(rows, WIDE, count, columns, panels, p0 + k * PANEL, depth);
        }
    }
}
