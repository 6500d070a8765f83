package io.multihead.internal.gemm;

import static io.multihead.internal.gemm.Blocking.KC;
import static io.multihead.internal.kernel.Lanes.PANEL;

import io.multihead.internal.kernel.Transposition;
import io.multihead.internal.layout.Packer;
import io.multihead.internal.layout.PanelMemory;
import io.multihead.internal.layout.Scratch;
import java.util.Arrays;

/**
 * Packs blocks of the transpose of a packed matrix into F32 panels: each panel of the matrix is widened, and transposed in squares of 32 by
 * 32. Belongs to one thread.
 */
final class TransposedPanels {
    private final PlainBlocks quantized;
    private final float[] square = new float[PANEL * PANEL];

    TransposedPanels(Scratch memory) {
        quantized = new PlainBlocks(memory);
    }

    /**
     * Packs a block of B, whose transpose is {@code from}.
     *
     * @param pc first row of B, a multiple of {@link Blocking#KC}
     * @param kc rows
     * @param jc first column, a multiple of 32
     * @param n columns
     * @param to panels {@code [panel][kc][32]} from element {@code t0} on
     */
    void pack(PackedMatrix from, Packer packer, long pc, int kc, long jc, int n, PanelMemory to, int t0) {
        long end = jc + n;
        for (int row = 0; row < kc; row += PANEL) {
            int rows = Math.min(PANEL, kc - row);
            long next;
            for (long first = jc; first < end; first = next) {
                int block = (int) (first / KC);
                long start = (long) block * KC;
                next = Math.min(end, start + KC);
                float[] panel = from.widen(block, (int) pc + row, packer, quantized);
                for (long column = first; column < next; column += PANEL) {
                    int columns = (int) Math.min(PANEL, next - column);
                    transpose(panel, (int) (column - start), rows, columns);
                    to.copyRows(square, rows, t0 + (int) (column - jc) * kc + row * PANEL);
                }
            }
        }
    }

    /** Fills the square with some rows of a panel as columns, and with zeros after them. */
    private void transpose(float[] panel, int first, int rows, int columns) {
        if (columns < PANEL) {
            Arrays.fill(square, 0f);
        }
        Transposition.of(panel, first * PANEL, PANEL, columns, rows, square, 0, PANEL);
    }
}
