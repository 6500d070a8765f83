package io.multihead.internal.gemm;

import static io.multihead.internal.gemm.Blocking.CHAIN;
import static io.multihead.internal.gemm.Blocking.FEW_ROWS;
import static io.multihead.internal.gemm.Blocking.MR;
import static io.multihead.internal.gemm.Blocking.PAIR_DEPTH;
import static io.multihead.internal.kernel.Lanes.COUNT;
import static io.multihead.internal.kernel.Lanes.HALF;
import static io.multihead.internal.kernel.Lanes.PANEL;
import static io.multihead.internal.kernel.Lanes.ROW;
import static io.multihead.internal.kernel.MicroKernel.MR_SMALL;

import io.multihead.internal.kernel.Int8Panels;
import io.multihead.internal.kernel.Lanes;
import io.multihead.internal.kernel.MicroKernel;
import io.multihead.internal.kernel.TileSums;
import io.multihead.internal.layout.PanelFormat;
import io.multihead.internal.layout.Panels;
import io.multihead.internal.layout.Scratch;
import org.jspecify.annotations.Nullable;

/**
 * Loops 2 and 1 of the matrix multiplication: {@code C = A B} or {@code C += A B} for one packed block of A and one of B, covered with
 * tiles of {@link MicroKernel}. One instance per thread; its three operands are set before each use.
 *
 * <p>It works on whole tiles: A and C must have room up to the next multiple of {@link Lanes#ROW_STEP} rows, and C up to the
 * next multiple of {@link Lanes#PANEL} columns. The contents of A's spare rows only affect spare rows of C.
 */
public final class MacroKernel {
    private static final float[] NONE = {};

    /** Rows of C that are computed in a buffer before they are added to C: at most 12 KiB, so that they stay in L1. */
    private static final int SUM_ROWS = 16 * MR;

    private final Scratch memory;
    private final int walk;
    private final ScalarTile scalarTile;
    private final float[] sum = new float[SUM_ROWS * PANEL];
    private final float[] part = new float[SUM_ROWS * PANEL];
    private final Panels none = new Panels();

    private float[] sums = NONE;
    private float[] a = NONE;
    private int a0;

    private Panels b = none;
    private @Nullable SegmentedPanels segments;
    private float[] c = NONE;
    private int c0;
    private int ldc;
    /** Columns from a tile's first vector to its second. */
    private int vectorStride;

    /** Creates a macro-kernel without operands. */
    public MacroKernel(Scratch memory) {
        this(memory, Blocking.WALK);
    }

    /** Creates a kernel whose rows of A use {@code walk} rows of a panel at a time, a multiple of {@link MicroKernel#MAX_CHAIN}. */
    MacroKernel(Scratch memory, int walk) {
        this.memory = memory;
        this.walk = walk;
        scalarTile = new ScalarTile(memory);
    }

    /** Sets A: rows {@link Lanes#ROW} floats apart. */
    public MacroKernel left(float[] rows, int at) {
        a = rows;
        a0 = at;
        return this;
    }

    /**
     * Sets B, which must not change before it is multiplied. Formats other than F32 are for at most {@link PanelFormat#maxRowsInRegisters}
     * rows of A.
     */
    public MacroKernel right(Panels panels) {
        segments = null;
        b = panels;
        return this;
    }

    /** Sets B in segments, only for {@link #addCompensated}. */
    public MacroKernel right(SegmentedPanels panels) {
        segments = panels;
        return this;
    }

    /** Sets C: rows {@code stride} floats apart. */
    public MacroKernel into(float[] rows, int at, int stride) {
        c = rows;
        c0 = at;
        ldc = stride;
        return this;
    }

    /** Releases the operands, so that their memory is not kept alive. */
    public void release() {
        left(NONE, 0).right(none).into(NONE, 0, 0);
    }

    /**
     * Computes {@code C = A B}, or {@code C += A B} with {@code addToC}, in chains of {@link MicroKernel#MAX_CHAIN} multiplications, whose
     * sum is added to C without compensation.
     *
     * @param m rows of A and C
     * @param n columns of C; B has as many, rounded up to whole panels
     * @param k columns of A, rows of B; at most {@link MicroKernel#MAX_CHAIN} if B is INT8, whose tile has one chain
     */
    public void multiply(int m, int n, int k, boolean addToC) {
        if (b.hasColumnScales()) {
            multiplyScaled(m, n, k, addToC);
            return;
        }
        boolean isPaired = m == 1 && k >= PAIR_DEPTH && b.format() == PanelFormat.F32 && TileWarmUps.ONE_ROW.isOver();
        int paired = isPaired ? multiplyPairs(n, k, addToC) : 0;
        vectorStride = vectorStride(m, b.format());
        // loop 2: two vectors of each panel of NR columns
        for (int jr = paired; jr < n; jr = Lanes.nextTile(jr, vectorStride)) {
            long panel = b.tileOffset(jr);
            for (int ir = 0; ir < m; ir += SUM_ROWS) {
                int rows = Math.min(SUM_ROWS, m - ir);
                int at = c0 + ir * ldc + jr;
                if (addToC) {
                    walks(rows, a0 + ir * ROW, panel, k, sum, 0, PANEL);
                    TileSums.add(sum, c, at, ldc, rows, vectorStride);
                } else {
                    walks(rows, a0 + ir * ROW, panel, k, c, at, ldc);
                }
            }
        }
    }

    /**
     * Computes all tiles of some rows, with {@link Blocking#WALK} rows of the panel at a time. Sums of chains are added in the order in
     * which a tile adds them, so bits do not depend on the number of rows of the panel. A few rows of A use the whole panel, since they
     * read it once.
     */
    private void walks(int m, int from, long panel, int k, float[] to, int t0, int stride) {
        int depth = m > 2 * MR && b.format() == PanelFormat.F32 ? Math.min(k, walk) : k;
        tiles(m, from, panel, depth, MicroKernel.MAX_CHAIN, to, t0, stride);
        for (int first = depth; first < k; first += walk) {
            long rows = panel + b.format().offset(first * PANEL);
            tiles(m, from + first, rows, Math.min(walk, k - first), MicroKernel.MAX_CHAIN, part, 0, PANEL);
            TileSums.add(part, to, t0, stride, m, vectorStride);
        }
    }

    /**
     * Multiplies one row by two panels at a time, except the last panel of an odd number. This reads 80 instead of 57 GB/s from L3, and 24
     * instead of 20 GB/s from memory. With panels of less than 32 KiB, the two streams end too soon for a gain, and the speed is a quarter
     * lower.
     *
     * @return the number of computed columns
     */
    private int multiplyPairs(int n, int k, boolean addToC) {
        int done = Math.ceilDiv(n, PANEL) / 2 * 2 * PANEL;
        for (int pair = 0; pair < done; pair += 2 * PANEL) {
            for (int column = pair; column < pair + HALF; column += COUNT) {
                multiplyPair(column, k, addToC);
            }
        }
        return done;
    }

    /** Multiplies the row by a vector of columns of each half of two panels; chains are added in the order of the other tiles. */
    private void multiplyPair(int column, int k, boolean addToC) {
        float[] to = addToC ? sum : c;
        int at = addToC ? 0 : c0 + column;
        for (int first = 0; first < k; first += MicroKernel.MAX_CHAIN) {
            int depth = Math.min(MicroKernel.MAX_CHAIN, k - first);
            long rows = b.tileOffset(column) + b.format().offset(first * PANEL);
            if (first == 0) {
                MicroKernel.tilePair(a, a0, b.segment(), rows, b.strideBytes(), depth, to, at);
            } else {
                MicroKernel.tilePair(a, a0 + first, b.segment(), rows, b.strideBytes(), depth, part, 0);
                TileSums.add(part, to, at, PANEL, 2, HALF);
            }
        }
        if (addToC) {
            TileSums.add(sum, c, c0 + column, PANEL, 2, HALF);
        }
    }

    /** Multiplies as {@link #multiply} does if columns of B have scales, in chains of {@link Int8Panels#BLOCK}, each scaled once. */
    private void multiplyScaled(int m, int n, int k, boolean addToC) {
        vectorStride = vectorStride(m, b.format());
        for (int jr = 0; jr < n; jr = Lanes.nextTile(jr, vectorStride)) {
            for (int ir = 0; ir < m; ir += SUM_ROWS) {
                int rows = Math.min(SUM_ROWS, m - ir);
                int at = c0 + ir * ldc + jr;
                if (addToC) {
                    scaledTiles(rows, a0 + ir * ROW, jr, k, sum, 0, PANEL);
                    TileSums.add(sum, c, at, ldc, rows, vectorStride);
                } else {
                    scaledTiles(rows, a0 + ir * ROW, jr, k, c, at, ldc);
                }
            }
        }
    }

    private void scaledTiles(int m, int from, int column, int k, float[] to, int at, int stride) {
        long panel = b.tileOffset(column);
        int scaleAt = b.scaleAt() + column;
        if (b.format() == PanelFormat.INT8) {
            Int8Panels.tile4Blocks(a, from, b.segment(), panel, b.scales(), scaleAt, k, to, at, stride);
            return;
        }
        TileSums.zero(to, at, stride, m, vectorStride);
        for (int pc = 0; pc < k; pc += Int8Panels.BLOCK) {
            int depth = Math.min(Int8Panels.BLOCK, k - pc);
            tiles(m, from + pc, panel + b.format().offset(pc * PANEL), depth, Int8Panels.BLOCK, part, 0, PANEL);
            int block = scaleAt + pc / Int8Panels.BLOCK * Int8Panels.SCALES_APART;
            TileSums.addScaled(part, b.scales(), block, to, at, stride, m, vectorStride);
        }
    }

    /**
     * Computes {@code C += A B} in chains of multiplications, with a compensated sum of the chains. With chains of {@link Blocking#CHAIN},
     * the error is the error of short chains, for any number of chains. A single chain is slightly faster.
     *
     * @param m rows of A and C
     * @param n columns of C
     * @param k columns of A, rows of B
     * @param chain multiplications in one chain; {@link Blocking#CHAIN} if B is in segments
     * @param compensation distance in floats from an element of C to its compensation term
     */
    public void addCompensated(int m, int n, int k, int chain, int compensation) {
        vectorStride = vectorStride(m, (segments == null ? b : segments.get(0)).format());
        if (segments != null && m <= FEW_ROWS) {
            addInMemoryOrder(segments, m, n, k, compensation);
            return;
        }
        for (int jr = 0; jr < n; jr = Lanes.nextTile(jr, vectorStride)) {
            for (int ir = 0; ir < m; ir += SUM_ROWS) {
                int rows = Math.min(SUM_ROWS, m - ir);
                if (segments == null) {
                    tiles(rows, a0 + ir * ROW, b.tileOffset(jr), k, chain, sum, 0, PANEL);
                } else {
                    for (int pc = 0; pc < k; pc += CHAIN) {
                        addChain(segments, rows, a0 + ir * ROW, jr, pc, k, sum, 0);
                    }
                }
                TileSums.addCompensated(sum, 0, c, c0 + ir * ldc + jr, ldc, compensation, rows, vectorStride);
            }
        }
    }

    /**
     * Adds products as {@link #addCompensated} does, for a few rows, which are bandwidth-bound. B is read segment by segment, in memory
     * order. In this order, decode with four queries per head reads 19 instead of 8 GB/s.
     */
    private void addInMemoryOrder(SegmentedPanels panels, int m, int n, int k, int compensation) {
        int step = FEW_ROWS * PANEL;
        sums = memory.atLeast(sums, Math.ceilDiv(n, PANEL) * step);
        for (int pc = 0; pc < k; pc += CHAIN) {
            for (int jr = 0; jr < n; jr = Lanes.nextTile(jr, vectorStride)) {
                addChain(panels, m, a0, jr, pc, k, sums, jr / PANEL * step + jr % PANEL);
            }
        }
        for (int jr = 0; jr < n; jr = Lanes.nextTile(jr, vectorStride)) {
            TileSums.addCompensated(
                    sums, jr / PANEL * step + jr % PANEL, c, c0 + jr, ldc, compensation, m, vectorStride);
        }
    }

    /** Adds one chain of some rows, whose part of B is a separate segment, to {@code to}; the first chain overwrites it. */
    private void addChain(SegmentedPanels panels, int m, int from, int jr, int pc, int k, float[] to, int at) {
        int kc = Math.min(CHAIN, k - pc);
        b = panels.get(pc / CHAIN);
        long panel = b.tileOffset(jr);
        if (pc == 0) {
            tiles(m, from, panel, kc, CHAIN, to, at, PANEL);
        } else {
            tiles(m, from + pc, panel, kc, CHAIN, part, 0, PANEL);
            TileSums.add(part, to, at, PANEL, m, vectorStride);
        }
    }

    /**
     * Runs loop 1: computes all rows of one tile's columns. Full tiles ({@link Blocking#MR} rows) are one call, which checks access to the
     * panel once instead of once per tile: attention with 64 dims takes 1 to 2 % less time, and with 32 dims 4 % less.
     */
    private void tiles(int m, int from, long panel, int k, int chain, float[] to, int t0, int stride) {
        int ir = 0;
        if (tileRows(m) == MR && b.format() == PanelFormat.F32 && TileWarmUps.FULL_TILES.isOver()) {
            while (ir < m && tileRows(m - ir) == MR) {
                ir += MR;
            }
            fullTiles(ir / MR, from, panel, k, chain, to, t0, stride);
        }
        while (ir < m) {
            int mr = tileRows(m - ir);
            tile(mr, from + ir * ROW, panel, k, chain, to, t0 + ir * stride, stride);
            ir += mr;
        }
    }

    /**
     * Returns the rows of the next tile: four, if tiles of four hold all rows with the same number of tiles as full tiles would. Spare rows
     * never exceed the next multiple of {@link Lanes#ROW_STEP}.
     */
    private int tileRows(int rows) {
        if (rows == 1 && vectorStride == HALF) {
            return 1;
        }
        return inTilesOfFour(rows) || b.format() != PanelFormat.F32 ? MR_SMALL : MR;
    }

    private static boolean inTilesOfFour(int rows) {
        return rows <= MR_SMALL * Math.ceilDiv(rows, MR);
    }

    /**
     * Returns the columns from a tile's first vector to its second. In a tile of many rows the vectors are adjacent. With 8 lanes, the tile
     * then reads one cache line of each row of B, and half a panel, at most 32 KiB, stays in or near L1 for all rows of A. One or two tiles
     * of four rows, which are bandwidth-bound, read both lines together: 8 rows times 4096 x 4096 take 5.8 instead of 7.2 to 8.4 ms, and
     * products with matrices in the cache take up to 5 % longer (Zen 3).
     */
    private static int vectorStride(int m, PanelFormat format) {
        boolean isBoundByMemory = m <= 2 * MR_SMALL && inTilesOfFour(m);
        return isBoundByMemory || format != PanelFormat.F32 ? HALF : COUNT;
    }

    /** Computes one tile. From this method on, B is a segment and an offset. */
    private void tile(int mr, int from, long panel, int k, int chain, float[] to, int t0, int stride) {
        PanelFormat format = b.format();
        if (format == PanelFormat.INT8 && b.isScaled()) {
            Int8Panels.tile4(a, from, b.segment(), panel, b.scales(), b.scaleAt(), k, to, t0, stride);
        } else if (format == PanelFormat.INT8) {
            Int8Panels.tile4Unscaled(a, from, b.segment(), panel, k, to, t0, stride);
        } else if (!TileWarmUps.of(format, mr).isOver()) {
            scalarTile.read(format, b.segment(), panel, k, vectorStride);
            scalarTile.multiply(a, from, k, chain, mr, to, t0, stride, vectorStride);
        } else if (format == PanelFormat.F32) {
            floatTile(mr, from, panel, k, chain, to, t0, stride);
        } else if (mr == 1) {
            format.halves().tile1(a, from, b.segment(), panel, k, chain, to, t0);
        } else {
            format.halves().tile4(a, from, b.segment(), panel, k, chain, to, t0, stride);
        }
    }

    private void floatTile(int mr, int from, long panel, int k, int chain, float[] to, int t0, int stride) {
        if (mr == MR) {
            fullTiles(1, from, panel, k, chain, to, t0, stride);
        } else if (mr == 1) {
            MicroKernel.tile1(a, from, b.segment(), panel, k, chain, to, t0);
        } else {
            MicroKernel.tile4(a, from, b.segment(), panel, k, chain, to, t0, stride, vectorStride);
        }
    }

    private void fullTiles(int tiles, int from, long panel, int k, int chain, float[] to, int t0, int stride) {
        if (Lanes.FEW_REGISTERS) {
            MicroKernel.tiles5(tiles, a, from, b.segment(), panel, k, chain, to, t0, stride);
        } else {
            MicroKernel.tiles6(tiles, a, from, b.segment(), panel, k, chain, to, t0, stride);
        }
    }
}
