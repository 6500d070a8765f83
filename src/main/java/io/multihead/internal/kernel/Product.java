package io.multihead.internal.kernel;

import static io.multihead.internal.kernel.Lanes.COUNT;
import static io.multihead.internal.kernel.Lanes.LOW_ROWS;
import static io.multihead.internal.kernel.Lanes.PANEL;
import static io.multihead.internal.kernel.Lanes.ROW;
import static io.multihead.internal.kernel.Lanes.TALL;
import static io.multihead.internal.kernel.Lanes.TALL_ROWS;

import org.jspecify.annotations.Nullable;

/**
 * A block product {@code C = A * B} or {@code C += A * B} in scratch: names its three operands, then covers C with tiles of
 * {@link MicroKernel}. One instance per thread.
 *
 * <p>It works on whole tiles: A and C must have room up to the next multiple of {@link Lanes#TALL_ROWS} rows, and C up to the
 * next multiple of {@link Lanes#PANEL} columns. What the spare rows of A hold reaches only spare rows of C.
 */
public final class Product {
    /** Products of one chain of {@link #accumulate}. */
    public static final int CHAIN = 64;

    private final float[] sum = new float[TALL_ROWS * PANEL];
    private final float[] part = new float[TALL_ROWS * PANEL];
    private float[] sums = new float[0];
    private float[] a = new float[0];
    private int a0;
    private float[] b = a;
    private int b0;
    private int panelStride;
    private @Nullable Runs runs;
    private float[] c = a;
    private int c0;
    private int ldc;

    /** A product whose operands are named before each use. */
    public Product() {}

    /** A: rows {@link Lanes#ROW} floats apart. */
    public Product left(float[] rows, int at) {
        a = rows;
        a0 = at;
        return this;
    }

    /** B: panels {@code [k][32]}, {@code stride} floats apart. */
    public Product right(float[] panels, int at, int stride) {
        b = panels;
        b0 = at;
        panelStride = stride;
        runs = null;
        return this;
    }

    /** B in pieces, for {@link #accumulate} alone. */
    public Product right(Runs pieces) {
        runs = pieces;
        return this;
    }

    /** Up to 256 rows in runs {@code [panel][64][32]} of {@link #CHAIN} rows, each of which may lie elsewhere. */
    public static final class Runs {
        private final float[][] arrays = new float[Lanes.DEPTH / CHAIN][];
        private final int[] starts = new int[Lanes.DEPTH / CHAIN];

        /** Names no memory yet. */
        public Runs() {}

        /** Where rows {@code run * CHAIN} on lie. */
        public void set(int run, float[] array, int at) {
            arrays[run] = array;
            starts[run] = at;
        }
    }

    /** C: rows {@code stride} floats apart. */
    public Product into(float[] rows, int at, int stride) {
        c = rows;
        c0 = at;
        ldc = stride;
        return this;
    }

    /**
     * {@code C = A * B}, or {@code C += A * B} with {@code add}.
     *
     * @param rows rows of A and C
     * @param columns columns of C; B has as many, rounded up to whole panels
     * @param depth columns of A, rows of B
     */
    public void multiply(int rows, int columns, int depth, boolean add) {
        for (int column = 0; column < columns; column += 2 * COUNT) {
            int panel = panel(column);
            for (int row = 0; row < rows; ) {
                int high = high(rows - row);
                int to = c0 + row * ldc + column;
                if (add) {
                    tile(high, a0 + row * ROW, panel, depth, sum, 0, PANEL);
                    MicroKernel.add(sum, c, to, ldc, high);
                } else {
                    tile(high, a0 + row * ROW, panel, depth, c, to, ldc);
                }
                row += high;
            }
        }
    }

    /**
     * {@code C += A * B} in chains of {@link #CHAIN} products, and the sum of the chains added with compensation: the error
     * stays that of short chains, however many products follow each other.
     *
     * @param lost how far behind each element of C lies what rounding has lost of it so far
     */
    public void accumulate(int rows, int columns, int depth, int lost) {
        if (runs != null && rows <= high(rows)) {
            accumulateInOrder(rows, columns, depth, lost);
            return;
        }
        for (int column = 0; column < columns; column += 2 * COUNT) {
            for (int row = 0; row < rows; ) {
                int high = high(rows - row);
                chain(high, a0 + row * ROW, column, 0, Math.min(CHAIN, depth), sum, 0);
                for (int k = CHAIN; k < depth; k += CHAIN) {
                    chain(high, a0 + row * ROW + k, column, k, Math.min(CHAIN, depth - k), part, 0);
                    MicroKernel.add(part, sum, 0, PANEL, high);
                }
                MicroKernel.addCompensated(sum, 0, c, c0 + row * ldc + column, ldc, lost, high);
                row += high;
            }
        }
    }

    /**
     * The same for one tile of rows, piece after piece of B, so that what is read once is read in the order of memory.
     */
    private void accumulateInOrder(int rows, int columns, int depth, int lost) {
        int high = high(rows);
        int step = TALL_ROWS * PANEL;
        sums = Scratch.atLeast(sums, Math.ceilDiv(columns, 2 * COUNT) * step);
        for (int k = 0; k < depth; k += CHAIN) {
            int at = 0;
            for (int column = 0; column < columns; column += 2 * COUNT) {
                int deep = Math.min(CHAIN, depth - k);
                if (k == 0) {
                    chain(high, a0, column, 0, deep, sums, at);
                } else {
                    chain(high, a0 + k, column, k, deep, part, 0);
                    MicroKernel.add(part, sums, at, PANEL, high);
                }
                at += step;
            }
        }
        for (int column = 0; column < columns; column += 2 * COUNT) {
            MicroKernel.addCompensated(sums, column / (2 * COUNT) * step, c, c0 + column, ldc, lost, high);
        }
    }

    /** {@code C += A * B} in one chain, added with compensation: faster than {@link #accumulate} and less accurate. */
    public void accumulateAtOnce(int rows, int columns, int depth, int lost) {
        for (int column = 0; column < columns; column += 2 * COUNT) {
            int panel = panel(column);
            for (int row = 0; row < rows; ) {
                int high = high(rows - row);
                tile(high, a0 + row * ROW, panel, depth, sum, 0, PANEL);
                MicroKernel.addCompensated(sum, 0, c, c0 + row * ldc + column, ldc, lost, high);
                row += high;
            }
        }
    }

    /** One chain of {@link #accumulate}, from row {@code k} of B. */
    private void chain(int high, int from, int column, int k, int depth, float[] to, int t0) {
        if (runs == null) {
            tile(high, from, panel(column) + k * PANEL, depth, to, t0, PANEL);
            return;
        }
        int run = k / CHAIN;
        b = runs.arrays[run];
        int panel = runs.starts[run] + column / PANEL * (CHAIN * PANEL) + column % PANEL;
        tile(high, from, panel, depth, to, t0, PANEL);
    }

    private int panel(int column) {
        return b0 + column / PANEL * panelStride + column % PANEL;
    }

    private static int high(int rows) {
        return rows == 1 ? 1 : TALL && rows > LOW_ROWS ? TALL_ROWS : LOW_ROWS;
    }

    private void tile(int high, int from, int panel, int depth, float[] to, int t0, int stride) {
        if (high == TALL_ROWS) {
            MicroKernel.tile8(a, from, b, panel, depth, to, t0, stride);
        } else if (high == 1) {
            MicroKernel.tile1(a, from, b, panel, depth, to, t0);
        } else {
            MicroKernel.tile4(a, from, b, panel, depth, to, t0, stride);
        }
    }
}
