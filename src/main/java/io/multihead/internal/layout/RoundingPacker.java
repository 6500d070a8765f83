package io.multihead.internal.layout;

import static io.multihead.internal.kernel.Lanes.HALF;
import static io.multihead.internal.kernel.Lanes.PANEL;

import io.multihead.internal.base.Checks;
import io.multihead.internal.kernel.MicroKernel;

/**
 * Packs a block of B into panels narrower than f32. It packs a few f32 panels at a time, and then rounds each of them. Belongs to one thread.
 */
public final class RoundingPacker {
    /** Columns that are packed at a time: 512 KiB. */
    private static final int COLUMNS = 8 * PANEL;

    private final Scratch memory;
    private final Packer packer;
    private final PanelPacker panelPacker;
    private final float[] rows = new float[MicroKernel.MAX_DEPTH * PANEL];
    private final int[] words = new int[MicroKernel.MAX_DEPTH * HALF];
    private PanelMemory wide = PanelMemory.NONE;

    /** Creates a packer that reads matrices through other packers, which belong to the same thread. */
    public RoundingPacker(Scratch memory, Packer packer, PanelPacker panelPacker) {
        this.memory = memory;
        this.packer = packer;
        this.panelPacker = panelPacker;
    }

    /**
     * Packs {@code depth} rows and {@code columns} columns into the panels of {@code to}, from its start.
     *
     * @param firstRow index of the first row, for errors
     * @throws IllegalArgumentException if the format is F16 and an element is not finite in it
     */
    public void pack(StridedBlock b, int depth, int columns, PanelMemory to, long firstRow) {
        wide = memory.atLeast(wide, COLUMNS * MicroKernel.MAX_DEPTH);
        long start = b.at();
        for (int column = 0; column < columns; column += COLUMNS) {
            int count = Math.min(COLUMNS, columns - column);
            b.set(b.tensor(), start + column * b.columnStride(), b.rowStride(), b.columnStride());
            panelPacker.pack(packer, b, depth, count, wide, 0);
            for (int panel = 0; panel < count; panel += PANEL) {
                wide.loadRows(panel * depth, depth, rows);
                if (to.format().needsFinite()) {
                    requireFinite(to.format(), depth, firstRow, column + panel);
                }
                to.storeRows(rows, depth, words, (column + panel) * depth);
            }
        }
    }

    private void requireFinite(PanelFormat format, int depth, long firstRow, int firstColumn) {
        for (int i = 0; i < depth * PANEL; i++) {
            if (!Float.isFinite(Float.float16ToFloat(Float.floatToFloat16(rows[i])))) {
                String place = "input " + (firstRow + i / PANEL) + ", output " + (firstColumn + i % PANEL);
                throw Checks.fail("matrix", rows[i] + " at " + place, "expected a number that is finite in " + format);
            }
        }
    }
}
