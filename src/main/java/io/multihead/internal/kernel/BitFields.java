package io.multihead.internal.kernel;

import static io.multihead.internal.base.NativeMemory.WORD;
import static io.multihead.internal.kernel.Lanes.FLOATS;
import static io.multihead.internal.kernel.Lanes.HALF;
import static io.multihead.internal.kernel.Lanes.PANEL;
import static io.multihead.internal.kernel.Lanes.ROW;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import jdk.incubator.vector.FloatVector;

/**
 * The storage of quantized elements in a panel: fields of a few bits, in words of consecutive k of one column, {@code [word][32 columns]}.
 * Scales are stored elsewhere ({@link BlockScales}).
 *
 * <p>No field is shifted when it is read. {@code word & mask} converts exactly to the field times a power of two, and the element of A by
 * which it is multiplied is divided by that power beforehand ({@link #prepare}). The field with the sign bit of the word is a signed
 * number, and the others are unsigned. A field is the element plus an offset that depends only on the place of the field.
 *
 * <p>A product sums {@link #chain} fields in one chain of fused multiply-adds in ascending k, which begins at the elements of A times the
 * negative offsets. The chain is multiplied by the scale when it is added to the sum of the chains, again in ascending k. Then the mins
 * times the sums of A are added. All tiles compute in this way, with fields in registers or with fields that {@link #widen} has stored with
 * their powers of two, so all tiles give the same bits.
 *
 * <p>Each width has a class that repeats the tiles: there, the loop over the fields of a word has a constant length and constant masks, so
 * that C2 unrolls it and keeps the masks and sums in registers.
 */
public abstract class BitFields {
    /** The number of rows whose words are stored together. */
    public static final int ROWS = 32;

    /** Floats from the sums of one row of A to the sums of the next row: the initial values of its chains, then its sums for mins. */
    public static final int SUMS = 64;

    /** Index in the sums of a row at which the sums for mins begin. */
    static final int SUMS_OF_MINS = 32;

    private static final int SIXTEEN = 16;

    /** Bytes of half a row of words, the distance to a tile's second vector. */
    static final long HALF_BYTES = HALF * WORD;

    /** Bytes of the words of all 32 columns. */
    static final long WORDS = PANEL * WORD;

    private final int chain;
    private final Words layout;

    /** The addend of the element of each of 32 rows: a power of two or 0. */
    private final int[] offsets;

    /** The negative offsets. */
    private final float[] negated = new float[ROWS];
    /** The factor of each of 32 elements of A: the inverse of its field's power of two. */
    private final float[] factors;

    BitFields(int chain, Words layout, int[] offsets, float[] factors) {
        this.chain = chain;
        this.layout = layout;
        this.offsets = offsets;
        this.factors = factors;
        for (int k = 0; k < ROWS; k++) {
            negated[k] = -offsets[k];
        }
    }

    /** Returns the number of multiply-adds of one chain: the number of elements that share a scale. */
    public final int chain() {
        return chain;
    }

    /** Returns the number of words of 32 rows of one column. */
    public final int words() {
        return ROWS / layout.rows() * layout.words;
    }

    /** Returns the addend of elements of all rows except the rows of the highest fields. */
    public final int offset() {
        return offsets[0];
    }

    /** Adds to the elements of 32 rows the offsets with which they are stored. */
    public final void addOffsets(int[] elements, int first) {
        int[] added = offsets;
        for (int k = 0; k < ROWS; k++) {
            elements[first + k] += added[k];
        }
    }

    /**
     * Prepares rows of A, in place: stores the sums of each row, and divides the row's elements by the powers of two of their fields.
     *
     * <p>A sum of 16 elements adds {@code k} and {@code k + 8} first, and a sum of 32 adds {@code k} and {@code k + 16} before that; the
     * eight resulting sums are added one after another. Therefore vectors of any width have the same bits, and one element takes half a
     * cycle instead of four.
     *
     * @param first the first of these rows
     * @param depth a multiple of 32
     * @param hasMins whether sums for mins are also stored
     */
    public final void prepare(Rows rows, int first, int count, int depth, boolean hasMins) {
        float[] buffer = rows.buffer;
        for (int row = first; row < first + count; row++) {
            scale(rows.a, row * ROW, depth, buffer, hasMins);
            int s0 = row * SUMS;
            for (int block = 0; block < depth / chain; block++) {
                rows.sums[s0 + block] = sixteen(buffer, block * SIXTEEN);
            }
            for (int block = 0; hasMins && block < depth / chain; block++) {
                rows.sums[s0 + SUMS_OF_MINS + block] = sixteen(buffer, MicroKernel.MAX_DEPTH + block * SIXTEEN);
            }
        }
    }

    /**
     * Scales a row, and stores its elements times the negative offsets: for a chain of 32, the sums of elements that are 16 apart, and the
     * same sums of the unscaled elements for mins.
     */
    private void scale(float[] a, int a0, int depth, float[] buffer, boolean hasMins) {
        for (int block = 0; block < depth / ROWS; block++) {
            if (chain == ROWS) {
                addHalves(a, a0 + block * ROWS, buffer, block * SIXTEEN);
            } else {
                multiply(a, a0 + block * ROWS, negated, buffer, block * ROWS);
                if (hasMins) {
                    System.arraycopy(a, a0 + block * ROWS, buffer, MicroKernel.MAX_DEPTH + block * ROWS, ROWS);
                }
            }
            multiply(a, a0 + block * ROWS, factors, a, a0 + block * ROWS);
        }
    }

    /** Stores the sums of elements that are 16 apart, times the negative offsets and without factors. */
    private void addHalves(float[] a, int at, float[] buffer, int to) {
        for (int i = 0; i < SIXTEEN; i++) {
            float x = a[at + i];
            float y = a[at + SIXTEEN + i];
            buffer[to + i] = y * negated[SIXTEEN + i] + x * negated[i];
            buffer[MicroKernel.MAX_DEPTH + to + i] = y + x;
        }
    }

    /** Multiplies elements by factors. C2 vectorizes this loop and the loop above. */
    private static void multiply(float[] a, int at, float[] by, float[] to, int t0) {
        for (int i = 0; i < ROWS; i++) {
            to[t0 + i] = a[at + i] * by[i];
        }
    }

    private static float sixteen(float[] from, int at) {
        float sum = 0f;
        for (int k = at; k < at + 8; k++) {
            sum += from[k] + from[k + 8];
        }
        return sum;
    }

    /**
     * Multiplies a prepared row by two vectors, half a panel apart, of one panel.
     *
     * @param row the index, among the prepared rows, of the multiplied row
     * @param b0 offset in bytes of the fields of the panel
     * @param scales the scales of the panel, a row of 32 for each chain
     * @param column the tile's first column in the panel
     * @param depth a multiple of 32
     */
    public abstract void tile1(
            Rows rows,
            int row,
            MemorySegment panels,
            long b0,
            float[] scales,
            int column,
            int depth,
            float[] c,
            int c0);

    /** Multiplies four prepared rows as {@link #tile1} multiplies one. */
    public abstract void tile4(
            Rows rows,
            int row,
            MemorySegment panels,
            long b0,
            float[] scales,
            int column,
            int depth,
            float[] c,
            int c0,
            int ldc);

    /** Widens {@code depth} rows of a panel to f32 rows of fields, with their powers of two. */
    public abstract void widen(MemorySegment panels, long b0, int depth, MemorySegment to);

    /** Stores 32 fields of one column, from {@code f0} on, in words {@link Lanes#PANEL} apart, from {@code w0} on. */
    public abstract void store(int[] fields, int f0, int[] words, int w0);

    /**
     * Adds mins to {@code count} rows of tiles: minimum times sum of A, in ascending k.
     *
     * @param minsOfColumn the number of mins: one for each chain
     * @param first the first of the prepared rows
     * @param column the tile's first column in the panel, whose scales these are
     * @param vectorStride columns from the tile's first vector to its second
     */
    public static void addMins(
            Rows rows,
            int first,
            float[] scales,
            int column,
            int minsOfColumn,
            float[] c,
            int c0,
            int ldc,
            int count,
            int vectorStride) {
        if (count < 0) { // see WarmUp.Trial
            for (int i = count * minsOfColumn; i < 0; i++) {}
            return;
        }
        float[] sums = rows.sums;
        int mins = BlockScales.FIRST_MIN + column;
        for (int row = 0; row < count; row++) {
            int s = (first + row) * SUMS + SUMS_OF_MINS;
            FloatVector left = FloatVector.fromArray(FLOATS, c, c0 + row * ldc);
            FloatVector right = FloatVector.fromArray(FLOATS, c, c0 + row * ldc + vectorStride);
            for (int block = 0; block < minsOfColumn; block++) {
                FloatVector x = FloatVector.broadcast(FLOATS, sums[s + block]);
                left = x.fma(FloatVector.fromArray(FLOATS, scales, mins + block * PANEL), left);
                right = x.fma(FloatVector.fromArray(FLOATS, scales, mins + block * PANEL + vectorStride), right);
            }
            left.intoArray(c, c0 + row * ldc);
            right.intoArray(c, c0 + row * ldc + vectorStride);
        }
    }

    /**
     * Widens {@code depth} rows of a panel without vectors, as {@link #widen(MemorySegment, long, int, MemorySegment)} does.
     *
     * @param words the words of the panel, from {@code w0} on
     */
    public void widen(int[] words, int w0, int depth, float[] to) {
        for (int block = 0; block < depth / layout.rows(); block++) {
            layout.widen(words, w0 + block * layout.words * PANEL, to, block * layout.rows() * PANEL);
        }
    }

    /**
     * Converts rows of widened fields to elements, in place: each element is its field without the power of two and the offset, times the
     * scale, plus the minimum. {@link io.multihead.tensor.BlockType} has the same bits.
     */
    public final void unpack(float[] wide, float[] scales, int depth, boolean hasMins) {
        BlockElements.of(wide, factors, negated, scales, chain, depth, hasMins);
    }

    /**
     * Multiplies a prepared row by all columns of one panel without vectors, with the bits of the tiles: until C2 has compiled a tile, each
     * operation on a vector is a call that allocates.
     *
     * @param row the index of the row among the prepared rows
     * @param wide rows of widened fields
     */
    public final void multiplyPlain(Rows rows, int row, float[] wide, float[] scales, int depth, float[] c, int c0) {
        Arrays.fill(c, c0, c0 + PANEL, 0f);
        float[] v = rows.panel;
        for (int block = 0; block < depth / chain; block++) {
            Arrays.fill(v, rows.sums[row * SUMS + block]);
            for (int k = block * chain; k < (block + 1) * chain; k++) {
                addProducts(rows.a[row * ROW + k], wide, k * PANEL, v, 0);
            }
            addProducts(scales, block * PANEL, v, c, c0);
        }
    }

    /** Adds mins to all columns of a row without vectors, as {@link #addMins} does. */
    public static void addMinimaPlain(Rows rows, int row, float[] scales, int minsOfColumn, float[] c, int c0) {
        for (int block = 0; block < minsOfColumn; block++) {
            float sum = rows.sums[row * SUMS + SUMS_OF_MINS + block];
            addProducts(sum, scales, BlockScales.FIRST_MIN + block * PANEL, c, c0);
        }
    }

    private static void addProducts(float x, float[] by, int at, float[] to, int t0) {
        for (int column = 0; column < PANEL; column++) {
            to[t0 + column] = Math.fma(x, by[at + column], to[t0 + column]);
        }
    }

    private static void addProducts(float[] x, int x0, float[] by, float[] to, int t0) {
        for (int column = 0; column < PANEL; column++) {
            to[t0 + column] = Math.fma(x[x0 + column], by[column], to[t0 + column]);
        }
    }

    /**
     * The layout of fields in a few consecutive words of one column.
     *
     * @param words number of words
     * @param fields the number of fields of each word
     * @param bits the number of bits of a field
     * @param split the number of additional fields, whose bits are the two highest of all words, the lowest first
     * @param first the lowest bit of the first additional field after its bits were gathered in a word
     */
    record Words(int words, int fields, int bits, int split, int first) {
        private static final int SPARE = 0xc0000000;

        int rows() {
            return words * fields + split;
        }

        private void widen(int[] from, int at, float[] to, int t0) {
            int mask = (1 << bits) - 1;
            for (int word = 0; word < words; word++) {
                for (int field = 0; field < fields; field++) {
                    mask(from, at + word * PANEL, mask << bits * field, to, t0 + (word * fields + field) * PANEL);
                }
            }
            for (int i = 0; i < split; i++) {
                for (int column = 0; column < PANEL; column++) {
                    int together = together(from, at + column) & mask << first + bits * i;
                    to[t0 + (words * fields + i) * PANEL + column] = together;
                }
            }
        }

        private static void mask(int[] from, int at, int mask, float[] to, int t0) {
            for (int column = 0; column < PANEL; column++) {
                to[t0 + column] = from[at + column] & mask;
            }
        }

        private int together(int[] from, int at) {
            int together = 0;
            for (int word = 0; word < words; word++) {
                together = together >>> 2 | from[at + word * PANEL] & SPARE;
            }
            return together;
        }
    }

    /**
     * Returns the offsets of rows whose words have {@code fields} fields, of which the highest has an offset of {@code top} less than the
     * others.
     */
    static int[] offsets(int fields, int low, int top) {
        int[] offsets = new int[ROWS];
        for (int k = 0; k < ROWS; k++) {
            offsets[k] = k % fields == fields - 1 ? top : low;
        }
        return offsets;
    }

    /** Returns the factors of rows whose words have {@code fields} fields of {@code bits} bits. */
    static float[] factors(int fields, int bits) {
        float[] factors = new float[ROWS];
        for (int k = 0; k < ROWS; k++) {
            factors[k] = Math.scalb(1f, -bits * (k % fields));
        }
        return factors;
    }

    /** Rows of A with their sums. Belongs to one thread. */
    public static final class Rows {
        private static final float[] NONE = {};

        /** Elements, {@link Lanes#ROW} floats from row to row. */
        float[] a = NONE;

        float[] sums = NONE;
        /** The first row of the depth block that is multiplied. */
        int first;

        private final float[] buffer = new float[2 * MicroKernel.MAX_DEPTH];
        private final float[] panel = new float[PANEL];

        public Rows() {}

        /** Sets the rows, and room for their sums, {@link #SUMS} floats for each row. */
        public void set(float[] rows, float[] roomOfSums) {
            a = rows;
            sums = roomOfSums;
            first = 0;
        }

        /** Sets the first row of the depth block that is multiplied. */
        public void begin(int row) {
            first = row;
        }

        /** Releases the rows. */
        public void clear() {
            set(NONE, NONE);
        }
    }
}
