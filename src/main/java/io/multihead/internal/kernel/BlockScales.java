package io.multihead.internal.kernel;

import static io.multihead.internal.base.NativeMemory.ORDER;
import static io.multihead.internal.base.NativeMemory.WORD;
import static io.multihead.internal.kernel.Lanes.COUNT;
import static io.multihead.internal.kernel.Lanes.FLOATS;
import static io.multihead.internal.kernel.Lanes.HALF;
import static io.multihead.internal.kernel.Lanes.INTS;
import static io.multihead.internal.kernel.Lanes.PANEL;

import io.multihead.internal.base.NativeMemory;
import io.multihead.internal.base.WarmUp;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.VectorOperators;

/**
 * The storage of the scales of quantized elements in a panel, before all of its {@link BitFields}. They are widened to f32 once for each
 * panel: {@code d} alone, or the product of {@code d} and a small integer, which f32 holds exactly. Mins are widened in the same way, with
 * their sign.
 *
 * <p>The f16 of each column are stored as in {@link HalfPanels}; small integers of consecutive k of one column are the bytes of a word,
 * lowest first.
 */
public final class BlockScales {
    private static final WarmUp WARM_UP = new WarmUp(new WarmUp.Trial() {
        private final float[] to = new float[FLOATS_OF_PANEL];
        private final MemorySegment panels = Arena.ofAuto().allocate((HALF + EIGHT / 4 * PANEL) * WORD, 64);

        @Override
        public int operations() {
            return (14 + EIGHT * 5) * PANEL / COUNT;
        }

        @Override
        public void run(int lengthFactor, int calls) {
            for (int call = 0; call < calls; call++) {
                HalfPanels.F16.widen(panels, 0, 0, lengthFactor, to, 0);
                eight(panels, 0, 1f, HALF * WORD, lengthFactor * PANEL, to, 0);
            }
        }
    });

    /** One f16 for each 32 rows: Q8_0, Q4_0, Q5_0 and IQ4_NL. */
    public static final BlockScales F16_SCALES = new BlockScales(HalfPanels.F16, 32, 0, false);

    /** Two f16 for each 32 rows, of which the second is the minimum: Q4_1 and Q5_1. */
    public static final BlockScales F16_SCALES_AND_MINS = new BlockScales(HalfPanels.F16, 32, 0, true);

    /** Two f16 for each 256 rows, and for each 32 of them a scale and a minimum: Q4_K and Q5_K. */
    public static final BlockScales MINS = new BlockScales(HalfPanels.F16, 256, 16, true);

    /** One f16 for each 256 rows, and a scale for each 16 of them: Q6_K and Q3_K. */
    public static final BlockScales SIXTEEN_ROWS = new BlockScales(HalfPanels.F16, 256, 16, false);

    /** Two f16 for each 256 rows, and for each 16 of them a scale and a minimum: Q2_K. */
    public static final BlockScales SIXTEEN_ROWS_AND_MINS = new BlockScales(HalfPanels.F16, 256, 32, true);

    /** One f16 for each 256 rows, and a scale for each 32 of them: IQ4_XS. */
    public static final BlockScales EIGHTHS = new BlockScales(HalfPanels.F16, 256, 8, false);

    /** One bf16 for each 32 rows, which holds every power of two of E8M0: MXFP4. */
    public static final BlockScales POWERS = new BlockScales(HalfPanels.BF16, 32, 0, false);

    /** Floats of the scales of a panel: a row of 32 for each chain, then one for each minimum, then room for a row. */
    public static final int FLOATS_OF_PANEL = 65 * PANEL;

    /** Index at which mins begin. */
    static final int FIRST_MIN = 32 * PANEL;

    private static final int BUFFER = 64 * PANEL;
    /** Small integers of two words. */
    private static final int EIGHT = 8;

    /** The storage of the scales that rows share: f16, except for {@link #POWERS}. */
    private final HalfPanels format;

    private final int rows;
    /** Small integers of a column: scales, then mins. */
    private final int small;

    private final boolean hasMins;

    private BlockScales(HalfPanels format, int rows, int small, boolean hasMins) {
        this.format = format;
        this.rows = rows;
        this.small = small;
        this.hasMins = hasMins;
    }

    /** Returns the number of rows of k that share an f16. */
    public int rows() {
        return rows;
    }

    /** Returns the number of words of {@link #rows} rows of all 32 columns. */
    public int words() {
        return halfWords() + small / 4 * PANEL;
    }

    /** Returns the number of f16 of one column for {@link #rows} rows. */
    public int halves() {
        return hasMins ? 2 : 1;
    }

    private int halfWords() {
        return halves() * HALF;
    }

    public boolean hasMins() {
        return hasMins;
    }

    /** Returns whether C2 has compiled the widening of scales with vectors. */
    public static boolean isCompiled() {
        return WARM_UP.isOver();
    }

    /** Widens the scales of a panel of {@code depth} rows, which begin at an offset in bytes. */
    public void widen(MemorySegment panels, long at, int depth, float[] to) {
        if (small == 0) {
            long rowStride = words() * WORD;
            format.widen(panels, at, rowStride, depth / rows, to, 0);
            if (hasMins) {
                format.widen(panels, at + HALF * WORD, rowStride, depth / rows, to, FIRST_MIN);
            }
            return;
        }
        int scales = scales();
        for (int block = 0; block < depth / rows; block++) {
            long d = at + (long) block * words() * WORD;
            long bytes = d + halfWords() * WORD;
            int first = block * scales * PANEL;
            for (int i = 0; i < scales; i += EIGHT) {
                eight(panels, d, 1f, bytes + i * PANEL, PANEL, to, first + i * PANEL);
                if (hasMins) {
                    int minimum = FIRST_MIN + first + i * PANEL;
                    eight(panels, d + HALF * WORD, -1f, bytes + (scales + i) * PANEL, PANEL, to, minimum);
                }
            }
        }
    }

    /** Returns the number of small scales of a column. */
    private int scales() {
        return hasMins ? small / 2 : small;
    }

    /**
     * Multiplies eight signed bytes of each column by the f16 of the column, times a sign. The number of bytes is constant, so that C2
     * unrolls the loops, which halves the time.
     *
     * @param half offset of the f16 in bytes
     * @param bytes offset of the two words of bytes
     * @param columns all, or none ({@link WarmUp.Trial})
     */
    private static void eight(
            MemorySegment panels, long half, float sign, long bytes, int columns, float[] to, int t0) {
        MemorySegment b = NativeMemory.known(panels);
        if (columns < 0) { // see WarmUp.Trial
            for (int i = columns; i < 0; i += COUNT) {}
            return;
        }
        for (int column = 0; column < PANEL; column += COUNT) {
            FloatVector d = IntVector.fromMemorySegment(INTS, b, half + column % HALF * WORD, ORDER)
                    .lanewise(VectorOperators.LSHL, column / HALF * 16)
                    .lanewise(VectorOperators.ASHR, HalfPanels.F16_SHIFT)
                    .and(HalfPanels.F16_MASK)
                    .reinterpretAsFloats()
                    .mul(sign * HalfPanels.F16_FACTOR);
            for (int word = 0; word < EIGHT / 4; word++) {
                long at = bytes + (word * PANEL + column) * WORD;
                IntVector four = IntVector.fromMemorySegment(INTS, b, at, ORDER);
                for (int i = 0; i < 4; i++) {
                    IntVector one =
                            four.lanewise(VectorOperators.LSHL, 24 - 8 * i).lanewise(VectorOperators.ASHR, 24);
                    d.mul((FloatVector) one.convertShape(VectorOperators.I2F, FLOATS, 0))
                            .intoArray(to, t0 + (word * 4 + i) * PANEL + column);
                }
            }
        }
    }

    /** Widens the scales of a panel of {@code depth} rows without vectors, as the other method does. */
    public void widen(int[] words, int depth, float[] to) {
        int scales = scales();
        for (int block = 0; block < depth / rows; block++) {
            int at = block * words();
            if (small == 0) {
                format.widen(words, at, 1, HALF, to, block * PANEL);
                if (hasMins) {
                    format.widen(words, at + HALF, 1, HALF, to, FIRST_MIN + block * PANEL);
                }
                continue;
            }
            HalfPanels.F16.widen(words, at, 1, HALF, to, BUFFER);
            multiply(words, at + halfWords(), scales, 1f, to, block * scales * PANEL);
            if (hasMins) {
                HalfPanels.F16.widen(words, at + HALF, 1, HALF, to, BUFFER);
                int bytes = at + halfWords() + scales / 4 * PANEL;
                multiply(words, bytes, scales, -1f, to, FIRST_MIN + block * scales * PANEL);
            }
        }
    }

    private static void multiply(int[] words, int at, int count, float times, float[] to, int t0) {
        for (int i = 0; i < count; i++) {
            int down = 24 - 8 * (i % 4);
            for (int column = 0; column < PANEL; column++) {
                int one = words[at + i / 4 * PANEL + column] << down >> 24;
                to[t0 + i * PANEL + column] = one * (to[BUFFER + column] * times);
            }
        }
    }

    /**
     * Stores the scales of one column in the words of a panel.
     *
     * @param block number of the block of {@link #rows}
     * @param d bits of the scale, an f16 or a bf16
     * @param dmin bits of the f16 scale of mins, if there are any
     * @param bytes the small integers of the block: integers of scales, then integers of mins
     */
    public void store(int block, int column, short d, short dmin, byte[] bytes, int[] to) {
        int at = block * words();
        storeHalf(d, column, to, at);
        if (hasMins) {
            storeHalf(dmin, column, to, at + HALF);
        }
        int first = at + halfWords() + column;
        for (int i = 0; i < small; i += 4) {
            to[first + i / 4 * PANEL] =
                    bytes[i] & 255 | (bytes[i + 1] & 255) << 8 | (bytes[i + 2] & 255) << 16 | bytes[i + 3] << 24;
        }
    }

    private static void storeHalf(short bits, int column, int[] to, int w0) {
        int word = w0 + column % HALF;
        int up = column < HALF ? 16 : 0;
        to[word] = to[word] & ~(0xffff << up) | (bits & 0xffff) << up;
    }
}
