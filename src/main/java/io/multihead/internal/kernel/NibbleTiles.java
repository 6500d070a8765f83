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
import jdk.incubator.vector.VectorSpecies;

/**
 * Tiles of {@link RoundedRows} by {@link Fields4}, by integer products as llama.cpp makes them. The sum of a block, of at most 16 products of
 * 4 and 8 bits in each half of a word, fits 16 bits; it is exact, so its order changes nothing.
 *
 * <p>Methods of vectors are called on what an operation has made in the same turn of a loop, whose class C2 knows; so what a loop leaves is
 * added to zero first. No method of this class is called in a loop: where trials mostly end at once, C2 does not inline it.
 */
public final class NibbleTiles {
    private static final int GROUPS = 4;
    private static final int STEPS = 4;
    /** Gives the highest field of a word, a signed number, the offset of the others. */
    private static final int SIGN = 0x80000000;

    private static final VectorSpecies<Short> SHORTS = VectorSpecies.of(short.class, INTS.vectorShape());

    private NibbleTiles() {}

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
        float[] sums = rows.sums;
        int a0 = row * RoundedRows.INTS;
        int s0 = row * SUMS;
        long from = b0 + column * WORD;
        ShortVector none = ShortVector.zero(SHORTS);
        FloatVector zero = FloatVector.zero(FLOATS);
        FloatVector c00 = zero, c01 = zero;
        for (int block = 0; block < depth / ROWS; block++) {
            int start = a0 + RoundedRows.STARTS + block;
            ShortVector v00 = IntVector.broadcast(INTS, a[start]).reinterpretAsShorts(), v01 = v00;
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
                    ShortVector l = left.lanewise(VectorOperators.LSHR, 4 * step);
                    ShortVector r = right.lanewise(VectorOperators.LSHR, 4 * step);
                    ShortVector x0 = IntVector.broadcast(INTS, a[k + step]).reinterpretAsShorts();
                    v00 = x0.mul(l).add(v00);
                    v01 = x0.mul(r).add(v01);
                }
            }
            FloatVector d0k = FloatVector.fromArray(FLOATS, scales, column + block * PANEL);
            FloatVector d1k = FloatVector.fromArray(FLOATS, scales, column + HALF + block * PANEL);
            FloatVector d0 = FloatVector.broadcast(FLOATS, sums[s0 + block]);
            IntVector w00 = none.add(v00).reinterpretAsInts();
            IntVector i00 = w00.lanewise(VectorOperators.LSHL, 16)
                    .lanewise(VectorOperators.ASHR, 16)
                    .add(w00.lanewise(VectorOperators.ASHR, 16));
            c00 = d0k.fma(d0.mul((FloatVector) i00.convertShape(VectorOperators.I2F, FLOATS, 0)), c00);
            IntVector w01 = none.add(v01).reinterpretAsInts();
            IntVector i01 = w01.lanewise(VectorOperators.LSHL, 16)
                    .lanewise(VectorOperators.ASHR, 16)
                    .add(w01.lanewise(VectorOperators.ASHR, 16));
            c01 = d1k.fma(d0.mul((FloatVector) i01.convertShape(VectorOperators.I2F, FLOATS, 0)), c01);
        }
        c00.intoArray(c, c0);
        c01.intoArray(c, c0 + HALF);
    }

    /** The same for two rows. */
    public static void tile2(
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
        ShortVector none = ShortVector.zero(SHORTS);
        FloatVector zero = FloatVector.zero(FLOATS);
        FloatVector c00 = zero, c01 = zero;
        FloatVector c10 = zero, c11 = zero;
        for (int block = 0; block < depth / ROWS; block++) {
            int start = a0 + RoundedRows.STARTS + block;
            ShortVector v00 = IntVector.broadcast(INTS, a[start]).reinterpretAsShorts(), v01 = v00;
            ShortVector v10 = IntVector.broadcast(INTS, a[start + RoundedRows.INTS]).reinterpretAsShorts(), v11 = v10;
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
                    ShortVector l = left.lanewise(VectorOperators.LSHR, 4 * step);
                    ShortVector r = right.lanewise(VectorOperators.LSHR, 4 * step);
                    ShortVector x0 = IntVector.broadcast(INTS, a[k + step]).reinterpretAsShorts();
                    v00 = x0.mul(l).add(v00);
                    v01 = x0.mul(r).add(v01);
                    ShortVector x1 = IntVector.broadcast(INTS, a[k + step + RoundedRows.INTS]).reinterpretAsShorts();
                    v10 = x1.mul(l).add(v10);
                    v11 = x1.mul(r).add(v11);
                }
            }
            FloatVector d0k = FloatVector.fromArray(FLOATS, scales, column + block * PANEL);
            FloatVector d1k = FloatVector.fromArray(FLOATS, scales, column + HALF + block * PANEL);
            FloatVector d0 = FloatVector.broadcast(FLOATS, sums[s0 + block]);
            IntVector w00 = none.add(v00).reinterpretAsInts();
            IntVector i00 = w00.lanewise(VectorOperators.LSHL, 16)
                    .lanewise(VectorOperators.ASHR, 16)
                    .add(w00.lanewise(VectorOperators.ASHR, 16));
            c00 = d0k.fma(d0.mul((FloatVector) i00.convertShape(VectorOperators.I2F, FLOATS, 0)), c00);
            IntVector w01 = none.add(v01).reinterpretAsInts();
            IntVector i01 = w01.lanewise(VectorOperators.LSHL, 16)
                    .lanewise(VectorOperators.ASHR, 16)
                    .add(w01.lanewise(VectorOperators.ASHR, 16));
            c01 = d1k.fma(d0.mul((FloatVector) i01.convertShape(VectorOperators.I2F, FLOATS, 0)), c01);
            FloatVector d1 = FloatVector.broadcast(FLOATS, sums[s0 + block + SUMS]);
            IntVector w10 = none.add(v10).reinterpretAsInts();
            IntVector i10 = w10.lanewise(VectorOperators.LSHL, 16)
                    .lanewise(VectorOperators.ASHR, 16)
                    .add(w10.lanewise(VectorOperators.ASHR, 16));
            c10 = d0k.fma(d1.mul((FloatVector) i10.convertShape(VectorOperators.I2F, FLOATS, 0)), c10);
            IntVector w11 = none.add(v11).reinterpretAsInts();
            IntVector i11 = w11.lanewise(VectorOperators.LSHL, 16)
                    .lanewise(VectorOperators.ASHR, 16)
                    .add(w11.lanewise(VectorOperators.ASHR, 16));
            c11 = d1k.fma(d1.mul((FloatVector) i11.convertShape(VectorOperators.I2F, FLOATS, 0)), c11);
        }
        c00.intoArray(c, c0);
        c01.intoArray(c, c0 + HALF);
        c10.intoArray(c, c0 + ldc);
        c11.intoArray(c, c0 + ldc + HALF);
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
