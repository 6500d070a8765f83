package io.multihead.internal.kernel;

import static io.multihead.internal.base.NativeMemory.ORDER;
import static io.multihead.internal.base.NativeMemory.WORD;
import static io.multihead.internal.kernel.BitFields.HALF_BYTES;
import static io.multihead.internal.kernel.BitFields.ROWS;
import static io.multihead.internal.kernel.BitFields.SUMS;
import static io.multihead.internal.kernel.BitFields.WORDS;
import static io.multihead.internal.kernel.Lanes.COUNT;
import static io.multihead.internal.kernel.Lanes.FLOATS;
import static io.multihead.internal.kernel.Lanes.HALF;
import static io.multihead.internal.kernel.Lanes.INTS;
import static io.multihead.internal.kernel.Lanes.PANEL;
import static io.multihead.internal.kernel.Lanes.ROW;
import static io.multihead.internal.kernel.MicroKernel.NEXT_BYTES;
import static jdk.incubator.vector.VectorOperators.ASHR;
import static jdk.incubator.vector.VectorOperators.LSHL;
import static jdk.incubator.vector.VectorOperators.LSHR;

import io.multihead.internal.base.NativeMemory;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.ShortVector;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorSpecies;

/**
 * Tiles of {@link Rows} by {@link BitFields4}, with integer products as in llama.cpp. The sum of a block has at most 16 products of 4 and 8
 * bits in each half of a word, and fits 16 bits. It is exact, so the order of its terms has no effect.
 *
 * <p>Methods of vectors are called on the result of an operation in the same iteration of a loop, whose class C2 knows; therefore the
 * result of a loop is first added to zero. No method of this class is called in a loop: if trials mostly end immediately, C2 does not
 * inline it.
 */
public final class NibbleTiles {
    /** Rows of a tile of {@link #tiles4}. */
    public static final int TILE_ROWS = 4;

    private static final int GROUPS = 4;
    private static final int STEPS = 4;
    private static final int STEPS_OF_BLOCK = GROUPS * STEPS;
    /** The bit that gives the highest field of a word, a signed number, the offset of the other fields. */
    private static final int SIGN = 0x80000000;

    private static final VectorSpecies<Short> SHORTS = INTS.withLanes(short.class);

    private NibbleTiles() {}

    /** Multiplies one row by two vectors, half a panel apart, of one panel, as {@link BitFields#tile1} does. */
    public static void tile1(
            Rows rows,
            int row,
            MemorySegment panels,
            long b0,
            float[] scales,
            int column,
            int depth,
            float[] c,
            int c0) {
        MemorySegment b = NativeMemory.known(panels);
        if (depth < 0) { // see WarmUp.Trial
            for (int i = depth; i < 0; i++) {}
            return;
        }
        int one = MicroKernel.unknownOne(depth);
        int[] a = rows.ints;
        float[] sums = rows.sums;
        int a0 = row * Rows.INTS;
        int s0 = row * SUMS;
        long from = b0 + column * WORD;
        ShortVector none = ShortVector.zero(SHORTS);
        FloatVector zero = FloatVector.zero(FLOATS);
        FloatVector c00 = zero, c01 = zero;
        for (int block = 0; block < depth / ROWS; block++) {
            int start = a0 + Rows.STARTS + block;
            ShortVector v00 = IntVector.broadcast(INTS, a[start]).reinterpretAsShorts(), v01 = v00;
            for (int group = 0; group < GROUPS; group += one) {
                long at = from + (block * GROUPS + group) * WORDS;
                int k = a0 + (block * GROUPS + group) * STEPS;
                ShortVector left = IntVector.fromMemorySegment(INTS, b, at, ORDER)
                        .lanewise(VectorOperators.XOR, SIGN)
                        .reinterpretAsShorts();
                ShortVector right = IntVector.fromMemorySegment(INTS, b, at + HALF_BYTES, ORDER)
                        .lanewise(VectorOperators.XOR, SIGN)
                        .reinterpretAsShorts();
                for (int step = 0; step < STEPS; step++) {
                    ShortVector l = left.lanewise(LSHR, 4 * step);
                    ShortVector r = right.lanewise(LSHR, 4 * step);
                    ShortVector x0 = IntVector.broadcast(INTS, a[k + step]).reinterpretAsShorts();
                    v00 = x0.mul(l).add(v00);
                    v01 = x0.mul(r).add(v01);
                }
            }
            FloatVector d0k = FloatVector.fromArray(FLOATS, scales, column + block * PANEL);
            FloatVector d1k = FloatVector.fromArray(FLOATS, scales, column + HALF + block * PANEL);
            FloatVector d0 = FloatVector.broadcast(FLOATS, sums[s0 + block]);
            IntVector w00 = none.add(v00).reinterpretAsInts();
            IntVector i00 = w00.lanewise(LSHL, 16).lanewise(ASHR, 16).add(w00.lanewise(ASHR, 16));
            c00 = d0k.fma(d0.mul((FloatVector) i00.convertShape(VectorOperators.I2F, FLOATS, 0)), c00);
            IntVector w01 = none.add(v01).reinterpretAsInts();
            IntVector i01 = w01.lanewise(LSHL, 16).lanewise(ASHR, 16).add(w01.lanewise(ASHR, 16));
            c01 = d1k.fma(d0.mul((FloatVector) i01.convertShape(VectorOperators.I2F, FLOATS, 0)), c01);
        }
        c00.intoArray(c, c0);
        c01.intoArray(c, c0 + HALF);
    }

    /** Multiplies two rows as {@link #tile1} multiplies one. */
    public static void tile2(
            Rows rows,
            int row,
            MemorySegment panels,
            long b0,
            float[] scales,
            int column,
            int depth,
            float[] c,
            int c0,
            int ldc) {
        MemorySegment b = NativeMemory.known(panels);
        if (depth < 0) { // see WarmUp.Trial
            for (int i = depth; i < 0; i++) {}
            return;
        }
        int one = MicroKernel.unknownOne(depth);
        int[] a = rows.ints;
        float[] sums = rows.sums;
        int a0 = row * Rows.INTS;
        int s0 = row * SUMS;
        long from = b0 + column * WORD;
        ShortVector none = ShortVector.zero(SHORTS);
        FloatVector zero = FloatVector.zero(FLOATS);
        FloatVector c00 = zero, c01 = zero;
        FloatVector c10 = zero, c11 = zero;
        for (int block = 0; block < depth / ROWS; block++) {
            int start = a0 + Rows.STARTS + block;
            ShortVector v00 = IntVector.broadcast(INTS, a[start]).reinterpretAsShorts(), v01 = v00;
            ShortVector v10 = IntVector.broadcast(INTS, a[start + Rows.INTS]).reinterpretAsShorts(), v11 = v10;
            for (int group = 0; group < GROUPS; group += one) {
                long at = from + (block * GROUPS + group) * WORDS;
                int k = a0 + (block * GROUPS + group) * STEPS;
                ShortVector left = IntVector.fromMemorySegment(INTS, b, at, ORDER)
                        .lanewise(VectorOperators.XOR, SIGN)
                        .reinterpretAsShorts();
                ShortVector right = IntVector.fromMemorySegment(INTS, b, at + HALF_BYTES, ORDER)
                        .lanewise(VectorOperators.XOR, SIGN)
                        .reinterpretAsShorts();
                for (int step = 0; step < STEPS; step++) {
                    ShortVector l = left.lanewise(LSHR, 4 * step);
                    ShortVector r = right.lanewise(LSHR, 4 * step);
                    ShortVector x0 = IntVector.broadcast(INTS, a[k + step]).reinterpretAsShorts();
                    v00 = x0.mul(l).add(v00);
                    v01 = x0.mul(r).add(v01);
                    ShortVector x1 =
                            IntVector.broadcast(INTS, a[k + step + Rows.INTS]).reinterpretAsShorts();
                    v10 = x1.mul(l).add(v10);
                    v11 = x1.mul(r).add(v11);
                }
            }
            FloatVector d0k = FloatVector.fromArray(FLOATS, scales, column + block * PANEL);
            FloatVector d1k = FloatVector.fromArray(FLOATS, scales, column + HALF + block * PANEL);
            FloatVector d0 = FloatVector.broadcast(FLOATS, sums[s0 + block]);
            IntVector w00 = none.add(v00).reinterpretAsInts();
            IntVector i00 = w00.lanewise(LSHL, 16).lanewise(ASHR, 16).add(w00.lanewise(ASHR, 16));
            c00 = d0k.fma(d0.mul((FloatVector) i00.convertShape(VectorOperators.I2F, FLOATS, 0)), c00);
            IntVector w01 = none.add(v01).reinterpretAsInts();
            IntVector i01 = w01.lanewise(LSHL, 16).lanewise(ASHR, 16).add(w01.lanewise(ASHR, 16));
            c01 = d1k.fma(d0.mul((FloatVector) i01.convertShape(VectorOperators.I2F, FLOATS, 0)), c01);
            FloatVector d1 = FloatVector.broadcast(FLOATS, sums[s0 + block + SUMS]);
            IntVector w10 = none.add(v10).reinterpretAsInts();
            IntVector i10 = w10.lanewise(LSHL, 16).lanewise(ASHR, 16).add(w10.lanewise(ASHR, 16));
            c10 = d0k.fma(d1.mul((FloatVector) i10.convertShape(VectorOperators.I2F, FLOATS, 0)), c10);
            IntVector w11 = none.add(v11).reinterpretAsInts();
            IntVector i11 = w11.lanewise(LSHL, 16).lanewise(ASHR, 16).add(w11.lanewise(ASHR, 16));
            c11 = d1k.fma(d1.mul((FloatVector) i11.convertShape(VectorOperators.I2F, FLOATS, 0)), c11);
        }
        c00.intoArray(c, c0);
        c01.intoArray(c, c0 + HALF);
        c10.intoArray(c, c0 + ldc);
        c11.intoArray(c, c0 + ldc + HALF);
    }

    /**
     * Multiplies {@code count} rows, four or more, by two adjacent vectors of one panel, which {@link #widen} has widened, in tiles of four
     * rows. The last tile ends at the last row, so rows that it shares with the tile above are computed twice, with the same bits.
     *
     * @param row the first row
     * @param column the first vector's first column
     */
    public static void tiles4(
            int count,
            Rows rows,
            int row,
            MemorySegment wide,
            float[] scales,
            int column,
            int depth,
            float[] c,
            int c0,
            int ldc) {
        MemorySegment b = NativeMemory.known(wide);
        if (count < 0) { // see WarmUp.Trial
            for (int i = count; i < 0; i++) {}
            return;
        }
        int[] a = rows.ints;
        final int lda = Rows.INTS;
        float[] sums = rows.sums;
        ShortVector none = ShortVector.zero(SHORTS);
        FloatVector zero = FloatVector.zero(FLOATS);
        for (int begin = 0; begin < count; begin += TILE_ROWS) {
            int first = Math.min(begin, count - TILE_ROWS);
            int a0 = (row + first) * Rows.INTS;
            int s0 = (row + first) * SUMS;
            int to = c0 + first * ldc;
            FloatVector c00 = zero, c01 = zero, c10 = zero, c11 = zero;
            FloatVector c20 = zero, c21 = zero, c30 = zero, c31 = zero;
            for (int block = 0; block < depth / ROWS; block++) {
                int at = a0 + block * STEPS_OF_BLOCK, start = a0 + Rows.STARTS + block;
                long from = (block * STEPS_OF_BLOCK * PANEL + column) * WORD;
                ShortVector v00 = IntVector.broadcast(INTS, a[start]).reinterpretAsShorts(), v01 = v00;
                ShortVector v10 = IntVector.broadcast(INTS, a[start + lda]).reinterpretAsShorts(), v11 = v10;
                ShortVector v20 = IntVector.broadcast(INTS, a[start + 2 * lda]).reinterpretAsShorts(), v21 = v20;
                ShortVector v30 = IntVector.broadcast(INTS, a[start + 3 * lda]).reinterpretAsShorts(), v31 = v30;
                for (int step = 0; step < STEPS_OF_BLOCK; step++) {
                    ShortVector b0 = ShortVector.fromMemorySegment(SHORTS, b, from + step * WORDS, ORDER);
                    ShortVector b1 = ShortVector.fromMemorySegment(SHORTS, b, from + NEXT_BYTES + step * WORDS, ORDER);
                    ShortVector x0 = IntVector.broadcast(INTS, a[at + step]).reinterpretAsShorts();
                    v00 = x0.mul(b0).add(v00);
                    v01 = x0.mul(b1).add(v01);
                    ShortVector x1 =
                            IntVector.broadcast(INTS, a[at + step + lda]).reinterpretAsShorts();
                    v10 = x1.mul(b0).add(v10);
                    v11 = x1.mul(b1).add(v11);
                    ShortVector x2 =
                            IntVector.broadcast(INTS, a[at + step + 2 * lda]).reinterpretAsShorts();
                    v20 = x2.mul(b0).add(v20);
                    v21 = x2.mul(b1).add(v21);
                    ShortVector x3 =
                            IntVector.broadcast(INTS, a[at + step + 3 * lda]).reinterpretAsShorts();
                    v30 = x3.mul(b0).add(v30);
                    v31 = x3.mul(b1).add(v31);
                }
                FloatVector d0 = FloatVector.fromArray(FLOATS, scales, column + block * PANEL);
                FloatVector d1 = FloatVector.fromArray(FLOATS, scales, column + COUNT + block * PANEL);
                FloatVector e0 = FloatVector.broadcast(FLOATS, sums[s0 + block]);
                IntVector w00 = none.add(v00).reinterpretAsInts();
                IntVector i00 = w00.lanewise(LSHL, 16).lanewise(ASHR, 16).add(w00.lanewise(ASHR, 16));
                c00 = d0.fma(e0.mul((FloatVector) i00.convertShape(VectorOperators.I2F, FLOATS, 0)), c00);
                IntVector w01 = none.add(v01).reinterpretAsInts();
                IntVector i01 = w01.lanewise(LSHL, 16).lanewise(ASHR, 16).add(w01.lanewise(ASHR, 16));
                c01 = d1.fma(e0.mul((FloatVector) i01.convertShape(VectorOperators.I2F, FLOATS, 0)), c01);
                FloatVector e1 = FloatVector.broadcast(FLOATS, sums[s0 + block + SUMS]);
                IntVector w10 = none.add(v10).reinterpretAsInts();
                IntVector i10 = w10.lanewise(LSHL, 16).lanewise(ASHR, 16).add(w10.lanewise(ASHR, 16));
                c10 = d0.fma(e1.mul((FloatVector) i10.convertShape(VectorOperators.I2F, FLOATS, 0)), c10);
                IntVector w11 = none.add(v11).reinterpretAsInts();
                IntVector i11 = w11.lanewise(LSHL, 16).lanewise(ASHR, 16).add(w11.lanewise(ASHR, 16));
                c11 = d1.fma(e1.mul((FloatVector) i11.convertShape(VectorOperators.I2F, FLOATS, 0)), c11);
                FloatVector e2 = FloatVector.broadcast(FLOATS, sums[s0 + block + 2 * SUMS]);
                IntVector w20 = none.add(v20).reinterpretAsInts();
                IntVector i20 = w20.lanewise(LSHL, 16).lanewise(ASHR, 16).add(w20.lanewise(ASHR, 16));
                c20 = d0.fma(e2.mul((FloatVector) i20.convertShape(VectorOperators.I2F, FLOATS, 0)), c20);
                IntVector w21 = none.add(v21).reinterpretAsInts();
                IntVector i21 = w21.lanewise(LSHL, 16).lanewise(ASHR, 16).add(w21.lanewise(ASHR, 16));
                c21 = d1.fma(e2.mul((FloatVector) i21.convertShape(VectorOperators.I2F, FLOATS, 0)), c21);
                FloatVector e3 = FloatVector.broadcast(FLOATS, sums[s0 + block + 3 * SUMS]);
                IntVector w30 = none.add(v30).reinterpretAsInts();
                IntVector i30 = w30.lanewise(LSHL, 16).lanewise(ASHR, 16).add(w30.lanewise(ASHR, 16));
                c30 = d0.fma(e3.mul((FloatVector) i30.convertShape(VectorOperators.I2F, FLOATS, 0)), c30);
                IntVector w31 = none.add(v31).reinterpretAsInts();
                IntVector i31 = w31.lanewise(LSHL, 16).lanewise(ASHR, 16).add(w31.lanewise(ASHR, 16));
                c31 = d1.fma(e3.mul((FloatVector) i31.convertShape(VectorOperators.I2F, FLOATS, 0)), c31);
            }
            c00.intoArray(c, to);
            c01.intoArray(c, to + COUNT);
            c10.intoArray(c, to + ldc);
            c11.intoArray(c, to + ldc + COUNT);
            c20.intoArray(c, to + 2 * ldc);
            c21.intoArray(c, to + 2 * ldc + COUNT);
            c30.intoArray(c, to + 3 * ldc);
            c31.intoArray(c, to + 3 * ldc + COUNT);
        }
    }

    /**
     * Widens {@code depth} rows of a panel for {@link #tiles4} to {@code [step][32 columns]} words. In each of four steps, both halves of
     * each word are shifted down by the number of the step, in fields.
     */
    public static void widen(MemorySegment panels, long b0, int depth, MemorySegment to) {
        MemorySegment b = NativeMemory.known(panels);
        MemorySegment target = NativeMemory.known(to);
        if (depth < 0) { // see WarmUp.Trial
            for (int i = depth; i < 0; i++) {}
            return;
        }
        for (int group = 0; group < depth / ROWS * GROUPS; group++) {
            for (int column = 0; column < PANEL; column += COUNT) {
                ShortVector words = IntVector.fromMemorySegment(INTS, b, b0 + group * WORDS + column * WORD, ORDER)
                        .lanewise(VectorOperators.XOR, SIGN)
                        .reinterpretAsShorts();
                long at = group * STEPS * WORDS + column * WORD;
                for (int step = 0; step < STEPS; step++) {
                    words.lanewise(LSHR, 4 * step).intoMemorySegment(target, at + step * WORDS, ORDER);
                }
            }
        }
    }

    /** Multiplies a row by all columns of one panel without vectors, with the bits of the tiles ({@link BitFields#multiplyPlain}). */
    public static void multiplyPlain(
            Rows rows, int row, int[] words, int w0, float[] scales, int depth, float[] c, int c0) {
        int a0 = row * Rows.INTS;
        Arrays.fill(c, c0, c0 + PANEL, 0f);
        for (int block = 0; block < depth / ROWS; block++) {
            int start = rows.ints[a0 + Rows.STARTS + block];
            Arrays.fill(rows.low, (short) start);
            Arrays.fill(rows.high, start >> 16);
            for (int step = 0; step < GROUPS * STEPS; step++) {
                int word = block * GROUPS + step / STEPS;
                int at = a0 + block * GROUPS * STEPS + step;
                addProducts(rows, rows.ints[at], words, w0 + word * PANEL, 4 * (step % STEPS));
            }
            float d = rows.sums[row * SUMS + block];
            for (int column = 0; column < PANEL; column++) {
                float sum = (short) rows.low[column] + (short) rows.high[column];
                c[c0 + column] = Math.fma(scales[block * PANEL + column], sum * d, c[c0 + column]);
            }
        }
    }

    /** Multiplies the halves of words, shifted down by some bits, by the halves of {@code x}, and adds the products modulo 2^16. */
    private static void addProducts(Rows rows, int x, int[] words, int w0, int down) {
        short xLow = (short) x;
        int xHigh = x >> 16;
        for (int column = 0; column < PANEL; column++) {
            int word = words[w0 + column] ^ SIGN;
            rows.low[column] += ((word & 0xffff) >> down) * xLow;
            rows.high[column] += (word >>> 16 + down) * xHigh;
        }
    }

    /**
     * Rows of A that are rounded to 8 bits: for each block of 32 elements a scale, the largest magnitude divided by 127, and the integers
     * {@code round(a / scale)}, ties to even. Belongs to one thread.
     *
     * <p>A tile multiplies a word of fields by these integers without a mask. With {@code v_i} a half of the word shifted down by i fields,
     * field i is {@code v_i - 16 v_(i + 1)}, so the sum of {@code q_i} times field i equals the sum of {@code v_i (q_i - 16 q_(i - 1))}.
     * These differences are stored, modulo 2^16, for both halves of a word in one int.
     */
    public static final class Rows {
        /** Ints of a row: a difference for each two elements, and the initial value of the sums of a block. */
        public static final int INTS = MicroKernel.MAX_DEPTH / 2 + MicroKernel.MAX_DEPTH / BitFields.ROWS;

        /** Index, in the ints of a row, of the first initial value of sums. */
        static final int STARTS = MicroKernel.MAX_DEPTH / 2;

        /** Elements of half a word. */
        private static final int FOUR = 4;

        /** A number that, added to a float below 2^22, makes the lowest bits equal to the nearest integer, ties to even. */
        private static final float TO_INTEGER = 0x1.8p23f;

        private static final int INTEGER_BITS = Float.floatToRawIntBits(TO_INTEGER);
        private static final int MOST = 127;
        private static final int[] NONE = {};

        int[] ints = NONE;
        float[] sums = {};
        /** A buffer for the plain loops of {@link NibbleTiles}. */
        final int[] low = new int[Lanes.PANEL];

        final int[] high = new int[Lanes.PANEL];

        /** The sums of the integers of a block that are multiplied by the lower and the upper halves of words. */
        private int sumOfLow;

        private int sumOfHigh;

        public Rows() {}

        /**
         * Sets the memory that {@link #prepare} fills.
         *
         * @param newInts {@link #INTS} for each row of a tile
         * @param newSums {@link BitFields#SUMS} for each row of a tile: scales, then scales times the sums of the integers
         */
        public void set(int[] newInts, float[] newSums) {
            ints = newInts;
            sums = newSums;
        }

        /**
         * Rounds the first {@code count} rows of A, {@link Lanes#ROW} floats apart.
         *
         * @param first the index of the first rounded row
         * @param depth a multiple of 32
         * @param offset the offset of the fields' elements
         */
        public void prepare(float[] a, int first, int count, int depth, int offset) {
            for (int row = first; row < first + count; row++) {
                for (int block = 0; block < depth / BitFields.ROWS; block++) {
                    int from = (row - first) * ROW + block * BitFields.ROWS;
                    float largest = largest(a, from);
                    float inverse = MOST / largest;
                    // all integers are 0 where the inverse is not finite
                    boolean isZero = Float.isInfinite(inverse);
                    float scale = isZero ? 0f : largest / MOST;
                    round(a, from, isZero ? 0f : inverse, row * INTS + block * BitFields.ROWS / 2);
                    ints[row * INTS + STARTS + block] = -offset * sumOfHigh << 16 | -offset * sumOfLow & 0xffff;
                    sums[row * BitFields.SUMS + block] = scale;
                    sums[row * BitFields.SUMS + BitFields.SUMS_OF_MINS + block] = scale * (sumOfLow + sumOfHigh);
                }
            }
        }

        /**
         * Returns the largest magnitude. It compares bits, which costs half as much as {@code Math.max} of floats; NaN is larger than all
         * numbers.
         */
        private static float largest(float[] a, int at) {
            int first = 0;
            int second = 0;
            for (int k = at; k < at + BitFields.ROWS; k += 2) {
                first = Math.max(first, Float.floatToRawIntBits(a[k]) & Integer.MAX_VALUE);
                second = Math.max(second, Float.floatToRawIntBits(a[k + 1]) & Integer.MAX_VALUE);
            }
            return Float.intBitsToFloat(Math.max(first, second));
        }

        /** Rounds a block and stores its differences, in one loop, since a separate loop for each step takes three times as long. */
        private void round(float[] a, int from, float inverse, int at) {
            int lows = 0;
            int highs = 0;
            for (int word = 0; word < BitFields.ROWS / (2 * FOUR); word++) {
                int lowBefore = 0;
                int highBefore = 0;
                for (int i = 0; i < FOUR; i++) {
                    int k = from + word * 2 * FOUR + i;
                    int lowNow = Float.floatToRawIntBits(a[k] * inverse + TO_INTEGER) - INTEGER_BITS;
                    int highNow = Float.floatToRawIntBits(a[k + FOUR] * inverse + TO_INTEGER) - INTEGER_BITS;
                    ints[at + word * FOUR + i] = highNow - 16 * highBefore << 16 | lowNow - 16 * lowBefore & 0xffff;
                    lows += lowNow;
                    highs += highNow;
                    lowBefore = lowNow;
                    highBefore = highNow;
                }
            }
            sumOfLow = lows;
            sumOfHigh = highs;
        }
    }
}
