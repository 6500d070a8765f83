package io.multihead.internal.kernel;

import static io.multihead.internal.base.NativeMemory.ORDER;
import static io.multihead.internal.base.NativeMemory.WORD;
import static io.multihead.internal.kernel.Fields.HALF_BYTES;
import static io.multihead.internal.kernel.Fields.ROWS;
import static io.multihead.internal.kernel.Fields.SUMS;
import static io.multihead.internal.kernel.Fields.WORDS;
import static io.multihead.internal.kernel.Lanes.FLOATS;
import static io.multihead.internal.kernel.Lanes.HALF;
import static io.multihead.internal.kernel.Lanes.INTS;
import static io.multihead.internal.kernel.Lanes.PANEL;

import io.multihead.internal.base.NativeMemory;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.ShortVector;
import jdk.incubator.vector.VectorOperators;

/**
 * Tiles of {@link RoundedRows} by {@link Fields4}, by integer products as llama.cpp makes them. The sum of a block, of at most 16 products of
 * 4 and 8 bits in each half of a word, fits 16 bits; it is exact, so its order changes nothing.
 */
public final class NibbleTiles {
    private static final int GROUPS = 4;
    private static final int STEPS = 4;
    /** Gives the highest field of a word, a signed number, the offset of the others. */
    private static final int SIGN = 0x80000000;

    private NibbleTiles() {}

    /** Adds the sums of both halves of words. */
    private static FloatVector sum(ShortVector halves) {
        IntVector words = halves.reinterpretAsInts();
        IntVector low = words.lanewise(VectorOperators.LSHL, 16).lanewise(VectorOperators.ASHR, 16);
        IntVector sum = words.lanewise(VectorOperators.ASHR, 16).add(low);
        return (FloatVector) sum.convertShape(VectorOperators.I2F, FLOATS, 0);
    }

    /** Multiplies one row by two vectors, half a panel apart, of one panel, as {@link Fields#tile1} does. */
    public static void tile1(
            RoundedRows rows,
            int row,
            MemorySegment panels,
            long b0,
            float[] scales,
            int column,
            int depth,
            float[] c,
            int c0) {
        MemorySegment b = NativeMemory.known(panels);
        int[] a = rows.ints;
        int a0 = row * RoundedRows.INTS;
        int s0 = row * SUMS;
        long from = b0 + column * WORD;
        FloatVector zero = FloatVector.zero(FLOATS);
        FloatVector c00 = zero, c01 = zero;
        for (int block = 0; block < depth / ROWS; block++) {
            ShortVector v0 =
                    IntVector.broadcast(INTS, a[a0 + RoundedRows.STARTS + block]).reinterpretAsShorts();
            ShortVector v1 = v0;
            for (int group = 0; group < GROUPS; group++) {
                long at = from + (block * GROUPS + group) * WORDS;
                int k = a0 + (block * GROUPS + group) * STEPS;
                ShortVector left = IntVector.fromMemorySegment(INTS, b, at, ORDER)
                        .lanewise(VectorOperators.XOR, SIGN)
                        .reinterpretAsShorts();
                ShortVector right = IntVector.fromMemorySegment(INTS, b, at + HALF_BYTES, ORDER)
                        .lanewise(VectorOperators.XOR, SIGN)
                        .reinterpretAsShorts();
                for (int step = 0; step < STEPS; step++) {
                    ShortVector x = IntVector.broadcast(INTS, a[k + step]).reinterpretAsShorts();
                    v0 = left.mul(x).add(v0);
                    v1 = right.mul(x).add(v1);
                    left = left.lanewise(VectorOperators.LSHR, 4);
                    right = right.lanewise(VectorOperators.LSHR, 4);
                }
            }
            FloatVector d = FloatVector.broadcast(FLOATS, rows.sums[s0 + block]);
            c00 = FloatVector.fromArray(FLOATS, scales, column + block * PANEL)
                    .fma(sum(v0).mul(d), c00);
            c01 = FloatVector.fromArray(FLOATS, scales, column + HALF + block * PANEL)
                    .fma(sum(v1).mul(d), c01);
        }
        c00.intoArray(c, c0);
        c01.intoArray(c, c0 + HALF);
    }

    /** The same for four rows. */
    public static void tile4(
            RoundedRows rows,
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
        int[] a = rows.ints;
        float[] sums = rows.sums;
        int a0 = row * RoundedRows.INTS;
        int s0 = row * SUMS;
        long from = b0 + column * WORD;
        FloatVector zero = FloatVector.zero(FLOATS);
        FloatVector c00 = zero, c01 = zero;
        FloatVector c10 = zero, c11 = zero;
        FloatVector c20 = zero, c21 = zero;
        FloatVector c30 = zero, c31 = zero;
        for (int block = 0; block < depth / ROWS; block++) {
            int start = a0 + RoundedRows.STARTS + block;
            ShortVector v00 = IntVector.broadcast(INTS, a[start]).reinterpretAsShorts();
            ShortVector v01 = v00;
            ShortVector v10 = IntVector.broadcast(INTS, a[start + RoundedRows.INTS]).reinterpretAsShorts();
            ShortVector v11 = v10;
            ShortVector v20 = IntVector.broadcast(INTS, a[start + 2 * RoundedRows.INTS]).reinterpretAsShorts();
            ShortVector v21 = v20;
            ShortVector v30 = IntVector.broadcast(INTS, a[start + 3 * RoundedRows.INTS]).reinterpretAsShorts();
            ShortVector v31 = v30;
            for (int group = 0; group < GROUPS; group++) {
                long at = from + (block * GROUPS + group) * WORDS;
                int k = a0 + (block * GROUPS + group) * STEPS;
                ShortVector left = IntVector.fromMemorySegment(INTS, b, at, ORDER)
                        .lanewise(VectorOperators.XOR, SIGN)
                        .reinterpretAsShorts();
                ShortVector right = IntVector.fromMemorySegment(INTS, b, at + HALF_BYTES, ORDER)
                        .lanewise(VectorOperators.XOR, SIGN)
                        .reinterpretAsShorts();
                for (int step = 0; step < STEPS; step++) {
                    ShortVector x0 = IntVector.broadcast(INTS, a[k + step]).reinterpretAsShorts();
                    v00 = left.mul(x0).add(v00);
                    v01 = right.mul(x0).add(v01);
                    ShortVector x1 = IntVector.broadcast(INTS, a[k + step + RoundedRows.INTS]).reinterpretAsShorts();
                    v10 = left.mul(x1).add(v10);
                    v11 = right.mul(x1).add(v11);
                    ShortVector x2 = IntVector.broadcast(INTS, a[k + step + 2 * RoundedRows.INTS]).reinterpretAsShorts();
                    v20 = left.mul(x2).add(v20);
                    v21 = right.mul(x2).add(v21);
                    ShortVector x3 = IntVector.broadcast(INTS, a[k + step + 3 * RoundedRows.INTS]).reinterpretAsShorts();
                    v30 = left.mul(x3).add(v30);
                    v31 = right.mul(x3).add(v31);
                    left = left.lanewise(VectorOperators.LSHR, 4);
                    right = right.lanewise(VectorOperators.LSHR, 4);
                }
            }
            FloatVector left = FloatVector.fromArray(FLOATS, scales, column + block * PANEL);
            FloatVector right = FloatVector.fromArray(FLOATS, scales, column + HALF + block * PANEL);
            FloatVector d0 = FloatVector.broadcast(FLOATS, sums[s0 + block]);
            c00 = left.fma(sum(v00).mul(d0), c00);
            c01 = right.fma(sum(v01).mul(d0), c01);
            FloatVector d1 = FloatVector.broadcast(FLOATS, sums[s0 + block + SUMS]);
            c10 = left.fma(sum(v10).mul(d1), c10);
            c11 = right.fma(sum(v11).mul(d1), c11);
            FloatVector d2 = FloatVector.broadcast(FLOATS, sums[s0 + block + 2 * SUMS]);
            c20 = left.fma(sum(v20).mul(d2), c20);
            c21 = right.fma(sum(v21).mul(d2), c21);
            FloatVector d3 = FloatVector.broadcast(FLOATS, sums[s0 + block + 3 * SUMS]);
            c30 = left.fma(sum(v30).mul(d3), c30);
            c31 = right.fma(sum(v31).mul(d3), c31);
        }
        c00.intoArray(c, c0);
        c01.intoArray(c, c0 + HALF);
        c10.intoArray(c, c0 + ldc);
        c11.intoArray(c, c0 + ldc + HALF);
        c20.intoArray(c, c0 + 2 * ldc);
        c21.intoArray(c, c0 + 2 * ldc + HALF);
        c30.intoArray(c, c0 + 3 * ldc);
        c31.intoArray(c, c0 + 3 * ldc + HALF);
    }

    /** Multiplies a row by all columns of one panel without vectors, with the bits of the tiles ({@link Fields#multiplyPlain}). */
    public static void multiplyPlain(
            RoundedRows rows, int row, int[] words, int w0, float[] scales, int depth, float[] c, int c0) {
        int a0 = row * RoundedRows.INTS;
        Arrays.fill(c, c0, c0 + PANEL, 0f);
        for (int block = 0; block < depth / ROWS; block++) {
            int start = rows.ints[a0 + RoundedRows.STARTS + block];
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

    /** Adds, modulo 2^16, the halves of words, moved down by some bits, times those of {@code x}. */
    private static void addProducts(RoundedRows rows, int x, int[] words, int w0, int down) {
        short xLow = (short) x;
        int xHigh = x >> 16;
        for (int column = 0; column < PANEL; column++) {
            int word = words[w0 + column] ^ SIGN;
            rows.low[column] += ((word & 0xffff) >> down) * xLow;
            rows.high[column] += (word >>> 16 + down) * xHigh;
        }
    }
}
