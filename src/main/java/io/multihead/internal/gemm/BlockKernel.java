package io.multihead.internal.gemm;

import static io.multihead.internal.kernel.Lanes.COUNT;
import static io.multihead.internal.kernel.Lanes.HALF;
import static io.multihead.internal.kernel.Lanes.PANEL;
import static io.multihead.internal.kernel.Lanes.ROW_STEP;

import io.multihead.internal.kernel.BlockScales;
import io.multihead.internal.kernel.BlockTiles;
import io.multihead.internal.kernel.Fields;
import io.multihead.internal.kernel.Lanes;
import io.multihead.internal.kernel.MicroKernel;
import io.multihead.internal.kernel.NibbleTiles;
import io.multihead.internal.kernel.TileSums;
import io.multihead.internal.layout.BlockPanels;
import io.multihead.internal.layout.PanelMemory;
import io.multihead.internal.layout.Panels;
import io.multihead.internal.layout.Scratch;
import java.lang.foreign.MemorySegment;

/**
 * Loops 2 and 1 where B is quantised blocks: a panel's scales are widened, and its fields too where full tiles of many rows read them;
 * few rows, and those that are left of many, read the fields as they are stored. The bits are the same. Belongs to one thread.
 */
final class BlockKernel {
    /** Rows of C that are computed beside it before they are added to it. */
    private static final int SUM_ROWS = Lanes.roundUp(Blocking.MC_NARROW, ROW_STEP);

    private final Scratch memory;
    private final LeftRows left;
    private final PlainBlocks plain;
    private final Panels none = new Panels();
    private float[] tile = {};
    private float[] scales = {};
    private PanelMemory wide = PanelMemory.NONE;

    private int m;
    private int k;
    private Panels b = none;
    private BlockPanels format = BlockPanels.Q8_0;
    /** Of the panel in use: its memory, and the offset of its fields. */
    private MemorySegment panels = MemorySegment.NULL;

    private long fields;

    /** Multiplies rows that others read. */
    BlockKernel(Scratch memory, LeftRows left) {
        this.memory = memory;
        this.left = left;
        plain = new PlainBlocks(memory);
    }

    /** Sets both operands: the first {@code count} rows, at most {@link Blocking#MC_NARROW}, of those that were read last. */
    BlockKernel operands(int count, int depth, Panels right) {
        m = count;
        k = depth;
        b = right;
        format = right.format().blocks();
        panels = right.segment();
        scales = memory.atLeast(scales, BlockScales.FLOATS_OF_PANEL);
        tile = memory.atLeast(tile, SUM_ROWS * PANEL);
        return this;
    }

    /** Releases the right operand, so that its memory is not kept alive. */
    void release() {
        b = none;
        panels = MemorySegment.NULL;
    }

    /** {@code C = A B}, or {@code C += A B} with {@code addToC}, for {@code n} columns of C, rows {@code ldc} floats apart. */
    void multiply(int n, float[] c, int c0, int ldc, boolean addToC) {
        int full = fullRows();
        boolean hasScales = BlockScales.isCompiled();
        boolean isCompiled = left.isRounded()
                ? BlockWarmUps.isOverForRounded(m)
                : BlockWarmUps.of(b.format()).isOver(full, m - full);
        for (int jr = 0; jr < n; jr += PANEL) {
            long at = b.panelOffset(jr / PANEL);
            if (!isCompiled) {
                multiplyPlain(at, c, c0 + jr, ldc, addToC);
                continue;
            }
            widenScales(at, hasScales);
            fields = at + (long) format.scaleWords(k) * Integer.BYTES;
            if (full > 0) {
                wide = memory.atLeast(wide, MicroKernel.MAX_DEPTH * PANEL);
                format.fields().widen(panels, fields, k, wide.segment());
            }
            fullTiles(full, c, c0 + jr, ldc, addToC);
            fewRows(full, c, c0 + jr, ldc, addToC);
        }
    }

    private void widenScales(long at, boolean isCompiled) {
        if (isCompiled) {
            format.scales().widen(panels, at, k, scales);
        } else {
            plain.widenScales(format, panels, at, k, scales);
        }
    }

    /** Multiplies by one panel without vectors. */
    private void multiplyPlain(long at, float[] c, int c0, int ldc, boolean addToC) {
        plain.read(format, panels, at, k, left.isRounded(), scales);
        for (int row = 0; row < m; row++) {
            int to = c0 + row * ldc;
            if (!addToC) {
                multiplyPlain(row, c, to);
                continue;
            }
            multiplyPlain(row, tile, 0);
            for (int column = 0; column < PANEL; column++) {
                c[to + column] += tile[column];
            }
        }
    }

    private void multiplyPlain(int row, float[] to, int t0) {
        if (left.isRounded()) {
            plain.multiply(left.rounded(), left.prepared(), left.first() + row, to, t0);
        } else {
            plain.multiply(left.prepared(), left.first() + row, to, t0);
        }
    }

    /** Returns how many rows are in full tiles, whose panels are widened first. With 16 vector registers there are none, nor of rounded rows. */
    private int fullRows() {
        if (left.isRounded() || m <= Blocking.ROWS_IN_REGISTERS || Lanes.FEW_REGISTERS) {
            return 0;
        }
        int full = 0;
        while (!MacroKernel.inTilesOfFour(m - full)) {
            full += BlockTiles.ROWS;
        }
        return full;
    }

    private void fullTiles(int rows, float[] c, int c0, int ldc, boolean addToC) {
        int tiles = rows / BlockTiles.ROWS;
        for (int column = 0; tiles > 0 && column < PANEL; column = Lanes.nextTile(column, COUNT)) {
            float[] to = addToC ? tile : c;
            int t0 = addToC ? 0 : c0 + column;
            int stride = addToC ? PANEL : ldc;
            int chain = format.fields().chain();
            BlockTiles.tiles6(tiles, left.prepared(), wide.segment(), scales, column, chain, k, to, t0, stride);
            finish(0, rows, column, COUNT, to, t0, stride);
            if (addToC) {
                TileSums.add(tile, c, c0 + column, ldc, rows, COUNT);
            }
        }
    }

    /** Computes the rows from {@code from} on in tiles of four rows and one. */
    private void fewRows(int from, float[] c, int c0, int ldc, boolean addToC) {
        int rows = m - from;
        for (int column = 0; rows > 0 && column < PANEL; column = Lanes.nextTile(column, HALF)) {
            int at = c0 + from * ldc + column;
            float[] to = addToC ? tile : c;
            int t0 = addToC ? 0 : at;
            int stride = addToC ? PANEL : ldc;
            for (int row = 0; row < rows; row += left.isRounded() ? 2 : MicroKernel.MR_SMALL) {
                fewTile(from + row, column, to, t0 + row * stride, stride);
            }
            finish(from, rows, column, HALF, to, t0, stride);
            if (addToC) {
                TileSums.add(tile, c, at, ldc, rows, HALF);
            }
        }
    }

    private void fewTile(int row, int column, float[] to, int t0, int stride) {
        if (left.isRounded()) {
            roundedTile(row, column, to, t0, stride);
            return;
        }
        Fields kernel = format.fields();
        if (row + 1 == m) {
            kernel.tile1(left.prepared(), left.first() + row, panels, fields, scales, column, k, to, t0);
        } else {
            kernel.tile4(left.prepared(), left.first() + row, panels, fields, scales, column, k, to, t0, stride);
        }
    }

    private void roundedTile(int row, int column, float[] to, int t0, int stride) {
        if (row + 1 == m) {
            NibbleTiles.tile1(left.rounded(), left.first() + row, panels, fields, scales, column, k, to, t0);
        } else {
            NibbleTiles.tile2(left.rounded(), left.first() + row, panels, fields, scales, column, k, to, t0, stride);
        }
    }

    private void finish(int from, int rows, int column, int apart, float[] to, int t0, int stride) {
        if (format.scales().hasMinima()) {
            Fields.addMinima(left.prepared(), left.first() + from, scales, column, k, to, t0, stride, rows, apart);
        }
    }
}
