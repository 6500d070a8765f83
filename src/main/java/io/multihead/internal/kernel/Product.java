package io.multihead.internal.kernel;

import static io.multihead.internal.kernel.Lanes.COUNT;
import static io.multihead.internal.kernel.Lanes.DEPTH;
import static io.multihead.internal.kernel.Lanes.HALF;
import static io.multihead.internal.kernel.Lanes.PANEL;
import static io.multihead.internal.kernel.Lanes.ROW;

import io.multihead.tensor.DType;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * A block product {@code C = A * B} or {@code C += A * B} in scratch: names its three operands, then covers C with tiles of
 * {@link MicroKernel}. One instance per thread.
 *
 * <p>It works on whole tiles: A and C must have room up to the next multiple of {@link Lanes#ROW_STEP} rows, and C up to the
 * next multiple of {@link Lanes#PANEL} columns. What the spare rows of A hold reaches only spare rows of C.
 */
public final class Product {
    /** Products of one chain of {@link #accumulate}. */
    public static final int CHAIN = 64;

    /** Rows that wait for memory rather than for multiplications: one tile of them reads pieces of B in the order of memory. */
    public static final int FEW = MicroKernel.LOW;

    private static final float[] NONE = {};
    private static final int[] NO_WORDS = {};
    private static final byte[] NO_BYTES = {};
    /** Scales of rows that have none of their own. */
    private static final float[] ONES = ones();

    private final Scratch memory;
    private final float[] sum = new float[MicroKernel.HIGH * PANEL];
    private final float[] part = new float[MicroKernel.HIGH * PANEL];

    private float[] sums = NONE;
    private float[] a = NONE;
    private int a0;
    /** B's type, which says which of the three arrays holds it. */
    private DType dtype = DType.F32;

    private float[] b = NONE;
    private int[] words = NO_WORDS;
    private byte[] bytes = NO_BYTES;
    private float[] scales = ONES;
    private int s0;
    private int b0;
    private int panelStride;
    private @Nullable Runs runs;
    private float[] c = NONE;
    private int c0;
    private int ldc;

    /** A product whose operands are named before each use. */
    public Product(Scratch memory) {
        this.memory = memory;
    }

    /** A: rows {@link Lanes#ROW} floats apart. */
    public Product left(float[] rows, int at) {
        a = rows;
        a0 = at;
        return this;
    }

    /** B: panels {@code [k][32]}, {@code stride} floats apart. */
    public Product right(float[] panels, int at, int stride) {
        return right(panels, DType.F32, at, stride);
    }

    /**
     * B: the same in f32, or for at most {@link #FEW} rows in {@link Halves} or {@link Quads}; {@code at} and {@code stride} count
     * elements.
     */
    public Product right(Object panels, DType type, int at, int stride) {
        runs = null;
        name(panels, type, at, stride);
        scales = ONES;
        s0 = 0;
        return this;
    }

    private void name(Object panels, DType type, int at, int stride) {
        dtype = type;
        b0 = at;
        panelStride = stride;
        switch (type) {
            case F32 -> b = (float[]) panels;
            case BF16, F16 -> words = (int[]) panels;
            case I8 -> bytes = (byte[]) panels;
            default -> throw new IllegalArgumentException("type: " + type + "; expected f32 or narrower");
        }
    }

    private static float[] ones() {
        float[] ones = new float[DEPTH];
        Arrays.fill(ones, 1f);
        return ones;
    }

    /** B in pieces, for {@link #accumulate} alone. */
    public Product right(Runs pieces) {
        runs = pieces;
        return this;
    }

    /** Forgets the operands, so that nobody's memory is kept alive. */
    public void release() {
        left(NONE, 0).right(NONE, 0, 0).into(NONE, 0, 0);
        words = NO_WORDS;
        bytes = NO_BYTES;
    }

    /** Up to 256 rows in runs {@code [panel][64][32]} of {@link #CHAIN} rows, each of which may lie elsewhere. */
    public static final class Runs {
        private final Object[] arrays = new Object[DEPTH / CHAIN];
        private final DType[] dtypes = new DType[DEPTH / CHAIN];
        private final int[] starts = new int[DEPTH / CHAIN];
        private final float[][] scales = new float[DEPTH / CHAIN][];
        private final int[] firstScales = new int[DEPTH / CHAIN];

        /** Names no memory yet. */
        public Runs() {}

        /** Where rows {@code run * CHAIN} on lie; another type than f32 is for at most {@link #FEW} rows of C. */
        public void set(int run, Object array, DType dtype, int at) {
            arrays[run] = array;
            dtypes[run] = dtype;
            starts[run] = at;
        }

        /** Forgets whose memory it is. */
        public void clear() {
            Arrays.fill(arrays, null);
            Arrays.fill(scales, NONE);
        }

        /** The scales of a run in i8, one for each of its rows. */
        public void scale(int run, float[] array, int at) {
            scales[run] = array;
            firstScales[run] = at;
        }

        /** Widens the first rows of one panel of a run. */
        public void widen(int run, int panel, int rows, float[] to, int at) {
            Widen.panel(arrays[run], dtypes[run], starts[run] + panel * (CHAIN * PANEL), rows, to, at);
            if (dtypes[run] == DType.I8) {
                Widen.scaleRows(to, at, rows, scales[run], firstScales[run]);
            }
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
        int done = rows == 1 && depth == DEPTH && dtype == DType.F32 ? multiplyPairs(columns, add) : 0;
        for (int column = done; column < columns; column = Lanes.nextTile(column)) {
            int panel = panel(column);
            for (int row = 0; row < rows; ) {
                int high = high(rows - row);
                int to = c0 + row * ldc + column;
                if (add) {
                    tile(high, a0 + row * ROW, panel, depth, depth, sum, 0, PANEL);
                    MicroKernel.add(sum, c, to, ldc, high);
                } else {
                    tile(high, a0 + row * ROW, panel, depth, depth, c, to, ldc);
                }
                row += high;
            }
        }
    }

    /**
     * A lone row times two panels at a time, but for the last of an odd number: 80 instead of 57 GB/s from L3, 24 instead of 20
     * from memory. With panels of less than 32 KiB two streams end too soon to gain, and lose a quarter.
     *
     * @return how many columns are done
     */
    private int multiplyPairs(int columns, boolean add) {
        int done = Math.ceilDiv(columns, PANEL) / 2 * 2 * PANEL;
        for (int pair = 0; pair < done; pair += 2 * PANEL) {
            for (int column = pair; column < pair + HALF; column += COUNT) {
                if (add) {
                    MicroKernel.tilePair(a, a0, b, panel(column), panelStride, DEPTH, sum, 0);
                    MicroKernel.add(sum, c, c0 + column, PANEL, 2);
                } else {
                    MicroKernel.tilePair(a, a0, b, panel(column), panelStride, DEPTH, c, c0 + column);
                }
            }
        }
        return done;
    }

    /**
     * {@code C += A * B} in chains of products, and their sum added with compensation: with chains of {@link #CHAIN} the error
     * stays that of short chains, however many products follow each other; one chain is a little faster.
     *
     * @param chain products of one chain; {@link #CHAIN} where B lies in pieces
     * @param lost how far behind each element of C lies what rounding has lost of it so far
     */
    public void accumulate(int rows, int columns, int depth, int chain, int lost) {
        if (runs != null && rows <= FEW) {
            accumulateInOrder(rows, columns, depth, lost);
            return;
        }
        for (int column = 0; column < columns; column = Lanes.nextTile(column)) {
            for (int row = 0; row < rows; ) {
                int high = high(rows - row);
                if (runs == null) {
                    tile(high, a0 + row * ROW, panel(column), depth, chain, sum, 0, PANEL);
                } else {
                    for (int k = 0; k < depth; k += CHAIN) {
                        addChain(high, a0 + row * ROW, column, k, depth, sum, 0);
                    }
                }
                MicroKernel.addCompensated(sum, 0, c, c0 + row * ldc + column, ldc, lost, high);
                row += high;
            }
        }
    }

    /**
     * The same for a few rows, which wait for memory: piece after piece of B, in the order in which it lies. Decode with four
     * queries a head is read at 19 instead of 8 GB/s.
     */
    private void accumulateInOrder(int rows, int columns, int depth, int lost) {
        int high = high(rows);
        int step = FEW * PANEL;
        sums = memory.atLeast(sums, Math.ceilDiv(columns, PANEL) * step);
        for (int k = 0; k < depth; k += CHAIN) {
            for (int column = 0; column < columns; column = Lanes.nextTile(column)) {
                addChain(high, a0, column, k, depth, sums, column / PANEL * step + column % PANEL);
            }
        }
        for (int column = 0; column < columns; column = Lanes.nextTile(column)) {
            MicroKernel.addCompensated(sums, column / PANEL * step + column % PANEL, c, c0 + column, ldc, lost, high);
        }
    }

    /** One chain of a tile, whose part of B lies in a piece of its own; the first one replaces what {@code to} holds. */
    private void addChain(int high, int from, int column, int k, int depth, float[] to, int at) {
        int run = k / CHAIN;
        int deep = Math.min(CHAIN, depth - k);
        name(runs.arrays[run], runs.dtypes[run], runs.starts[run], CHAIN * PANEL);
        if (dtype == DType.I8) {
            scales = runs.scales[run];
            s0 = runs.firstScales[run];
        }
        int panel = panel(column);
        if (k == 0) {
            tile(high, from, panel, deep, CHAIN, to, at, PANEL);
        } else {
            tile(high, from + k, panel, deep, CHAIN, part, 0, PANEL);
            MicroKernel.add(part, to, at, PANEL, high);
        }
    }

    private int panel(int column) {
        int at = b0 + column / PANEL * panelStride;
        return switch (dtype) {
            case F32 -> at + column % PANEL;
            case I8 -> at + column % PANEL * Quads.ROWS;
            default -> at / 2 + column % PANEL;
        };
    }

    /** Rows of the next tile; spare rows are never more than up to the next multiple of {@link Lanes#ROW_STEP}. */
    private static int high(int rows) {
        if (rows == 1) {
            return 1;
        }
        return rows <= MicroKernel.LOW || rows == 2 * MicroKernel.LOW ? MicroKernel.LOW : MicroKernel.HIGH;
    }

    private void tile(int high, int from, int panel, int depth, int chain, float[] to, int t0, int stride) {
        if (dtype == DType.I8) {
            MicroKernel.quads4(a, from, bytes, panel, scales, s0, depth, to, t0, stride);
        } else if (dtype != DType.F32 && high == 1) {
            MicroKernel.halves1(a, from, words, panel, Halves.of(dtype), depth, to, t0);
        } else if (dtype != DType.F32) {
            MicroKernel.halves4(a, from, words, panel, Halves.of(dtype), depth, to, t0, stride);
        } else if (high == MicroKernel.HIGH) {
            MicroKernel.tile6(a, from, b, panel, depth, chain, to, t0, stride);
        } else if (high == 1) {
            MicroKernel.tile1(a, from, b, panel, depth, chain, to, t0);
        } else {
            MicroKernel.tile4(a, from, b, panel, depth, chain, to, t0, stride);
        }
    }
}
