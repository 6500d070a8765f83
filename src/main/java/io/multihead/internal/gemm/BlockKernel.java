package io.multihead.internal.gemm;

import static io.multihead.internal.kernel.Lanes.COUNT;
import static io.multihead.internal.kernel.Lanes.HALF;
import static io.multihead.internal.kernel.Lanes.PANEL;
import static io.multihead.internal.kernel.Lanes.ROW_STEP;

import io.multihead.internal.kernel.BitFields;
import io.multihead.internal.kernel.BlockScales;
import io.multihead.internal.kernel.BlockTiles;
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
 * Loops 2 and 1 for a B of quantized blocks. The scales of a panel are widened, and for tiles of many rows also the fields. Tiles of few
 * rows read the stored fields. With 16 vector registers, only rounded rows have widened fields. All variants give the same bits. Belongs
 * to one thread.
 */
final class BlockKernel {
    /** Rows of C that are computed in a buffer before they are added to C. */
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
    /** The memory of the panel in use, and the offset of its fields. */
    private MemorySegment panels = MemorySegment.NULL;

    private long fields;

    /** Creates a kernel that multiplies the rows in {@code left}. */
    BlockKernel(Scratch memory, LeftRows left) {
        this.memory = memory;
        this.left = left;
        plain = new PlainBlocks(memory);
    }

    /** Sets both operands: the first {@code count} of the rows that were read last, at most {@link Blocking#MC_NARROW}. */
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

    /** Computes {@code C = A B}, or {@code C += A B} with {@code addToC}, for {@code n} columns of C, rows {@code ldc} floats apart. */
    void multiply(int n, float[] c, int c0, int ldc, boolean addToC) {
        boolean isWide = left.isRounded()
                ? m > Blocking.ROUNDED_ROWS_IN_REGISTERS
                : m > Blocking.ROWS_IN_REGISTERS && !Lanes.FEW_REGISTERS;
        for (int jr = 0; jr < n; jr += PANEL) {
            long at = b.panelOffset(jr / PANEL);
            if (!isCompiled(isWide)) {
                multiplyPlain(at, c, c0 + jr, ldc, addToC);
                continue;
            }
            widenScales(at);
            fields = at + (long) format.scaleWords(k) * Integer.BYTES;
            if (isWide) {
                manyRows(c, c0 + jr, ldc, addToC);
            } else {
                fewRows(c, c0 + jr, ldc, addToC);
            }
        }
    }

    /**
     * Returns whether the tiles are compiled. The method is called for each panel: without vectors, the product of many rows with one
     * panel takes a millisecond, and trials that are more than a few milliseconds apart end late (192 rows times 1024 x 1024 ran without
     * vectors for more than 5 s when each task queried once).
     */
    private boolean isCompiled(boolean isWide) {
        return left.isRounded()
                ? BlockWarmUps.isOverForRounded(m, isWide)
                : BlockWarmUps.of(b.format()).isOver(m, isWide);
    }

    private void widenScales(long at) {
        if (BlockScales.isCompiled()) {
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

    /** Computes all rows with fields that are widened for them. */
    private void manyRows(float[] c, int c0, int ldc, boolean addToC) {
        wide = memory.atLeast(wide, MicroKernel.MAX_DEPTH * PANEL);
        if (left.isRounded()) {
            NibbleTiles.widen(panels, fields, k, wide.segment());
        } else {
            format.fields().widen(panels, fields, k, wide.segment());
        }
        for (int column = 0; column < PANEL; column = Lanes.nextTile(column, COUNT)) {
            float[] to = addToC ? tile : c;
            int t0 = addToC ? 0 : c0 + column;
            int stride = addToC ? PANEL : ldc;
            wideTiles(column, to, t0, stride);
            finish(column, COUNT, to, t0, stride);
            if (addToC) {
                TileSums.add(tile, c, c0 + column, ldc, m, COUNT);
            }
        }
    }

    private void wideTiles(int column, float[] to, int t0, int stride) {
        MemorySegment widened = wide.segment();
        if (left.isRounded()) {
            NibbleTiles.tiles4(m, left.rounded(), left.first(), widened, scales, column, k, to, t0, stride);
        } else {
            int chain = format.fields().chain();
            BlockTiles.tiles6(m, left.prepared(), widened, scales, column, chain, k, to, t0, stride);
        }
    }

    /** Computes rows in tiles of four and one, or of two and one if they are rounded. */
    private void fewRows(float[] c, int c0, int ldc, boolean addToC) {
        for (int column = 0; column < PANEL; column = Lanes.nextTile(column, HALF)) {
            float[] to = addToC ? tile : c;
            int t0 = addToC ? 0 : c0 + column;
            int stride = addToC ? PANEL : ldc;
            for (int row = 0; row < m; row += left.isRounded() ? 2 : MicroKernel.MR_SMALL) {
                fewTile(row, column, to, t0 + row * stride, stride);
            }
            finish(column, HALF, to, t0, stride);
            if (addToC) {
                TileSums.add(tile, c, c0 + column, ldc, m, HALF);
            }
        }
    }

    private void fewTile(int row, int column, float[] to, int t0, int stride) {
        if (left.isRounded()) {
            roundedTile(row, column, to, t0, stride);
            return;
        }
        BitFields kernel = format.fields();
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

    private void finish(int column, int vectorStride, float[] to, int t0, int stride) {
        if (format.scales().hasMins()) {
            int mins = k / format.fields().chain();
            BitFields.addMins(left.prepared(), left.first(), scales, column, mins, to, t0, stride, m, vectorStride);
        }
    }
}
