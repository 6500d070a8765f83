package io.multihead.gemm;

import static io.multihead.internal.kernel.Lanes.DEPTH;
import static io.multihead.internal.kernel.Lanes.ROW;

import io.multihead.internal.kernel.Packer;
import io.multihead.internal.kernel.Panels;
import io.multihead.internal.kernel.Scratch;
import io.multihead.tensor.Tensor;

/** Packs part of a right operand into panels, reading along whichever axis lies contiguous. Belongs to one thread. */
final class PanelPacker {
    private float[] rows = new float[0];

    PanelPacker() {}

    /**
     * Packs {@code depth} rows and {@code columns} columns into panels {@code [panel][depth][32]}.
     *
     * @param matrix {@code [K, N]} in its last two axes
     * @param at position of the first packed element in the matrix's memory
     */
    void pack(Packer packer, Tensor matrix, long at, int depth, int columns, float[] panels, int p0) {
        rows = Scratch.atLeast(rows, DEPTH * ROW);
        long rowStride = matrix.stride(-2);
        long columnStride = matrix.stride(-1);
        boolean byColumn = rowStride == 1 && columnStride != 1;
        for (int column = 0; column < columns; column += DEPTH) {
            int wide = Math.min(DEPTH, columns - column);
            long from = at + column * columnStride;
            if (byColumn) {
                packer.read(matrix, from, columnStride, rowStride, wide, depth, rows, 0, ROW);
                Panels.fromColumns(rows, depth, wide, panels, p0 + column * depth);
            } else {
                packer.read(matrix, from, rowStride, columnStride, depth, wide, rows, 0, ROW);
                Panels.fromRows(rows, depth, wide, panels, p0 + column * depth);
            }
        }
    }
}
