package io.multihead.internal.kernel;

import static io.multihead.internal.base.NativeMemory.ORDER;
import static io.multihead.internal.base.NativeMemory.WORD;
import static io.multihead.internal.kernel.Lanes.COUNT;
import static io.multihead.internal.kernel.Lanes.FLOATS;
import static io.multihead.internal.kernel.Lanes.HALF;
import static io.multihead.internal.kernel.Lanes.INTS;
import static io.multihead.internal.kernel.Lanes.PANEL;
import static io.multihead.internal.kernel.Lanes.ROW;
import static jdk.incubator.vector.VectorOperators.I2F;
import static jdk.incubator.vector.VectorOperators.LSHR;

import io.multihead.internal.base.NativeMemory;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import jdk.incubator.vector.ByteVector;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.VectorSpecies;

/**
 * Eight codes of 4 bits to a word, each of which stands for one of 16 integers: the codes of k to k + 3 are the low halves of the bytes,
 * and the codes of k + 4 to k + 7 the high halves. Therefore one permutation of bytes converts the codes of four rows to fields of 8 bits,
 * which are then read in the same way as in {@link BitFields8}. A vector of 128 bits holds 16 bytes, the whole table; wider vectors repeat
 * it, so that the bits above a code, which a permutation may also use as an index, have no effect.
 *
 * <p>A field is the integer plus an offset, and is not signed: the highest field is shifted down, which costs as much as a mask.
 *
 * <p>Vectors of 512 bits need AVX-512 VBMI (Ice Lake, Zen 4 and later). Without it the warm-up never ends, and products are computed
 * without vectors.
 */
public final class BitFields4Table extends BitFields {
    /** The values of MXFP4, doubled: the values of E2M1, whose highest bit is the sign. */
    private static final int[] E2M1 = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

    /** The values of IQ4_NL and IQ4_XS. */
    private static final int[] IQ4 = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

    /** Codes of a word. */
    private static final int FIELDS = 8;

    /** Words of 32 rows of one column. */
    private static final int GROUPS = ROWS / FIELDS;

    /** Codes that one permutation looks up. */
    private static final int BYTES_OF_WORD = 4;

    private static final int CODES = 16;
    private static final int BITS = 8;
    private static final int MASK = 255;

    private static final VectorSpecies<Byte> BYTES = INTS.withLanes(byte.class);

    /** Fields by code, repeated to the length of a vector. */
    private final byte[] table = new byte[BYTES.length()];
    /** The first code of each field. */
    private final int[] codes = new int[1 << BITS];

    private BitFields4Table(int[] values, int offset) {
        super(ROWS, new Words(1, FIELDS, 4, 0, 0), offsets(BYTES_OF_WORD, offset, offset), factors());
        for (int i = 0; i < table.length; i++) {
            table[i] = (byte) (values[i % CODES] + offset);
        }
        Arrays.fill(codes, -1);
        for (int code = CODES - 1; code >= 0; code--) {
            codes[table[code] & MASK] = code;
        }
    }

    /** Returns the layout of elements that are doubled values of E2M1, -12 to 12. */
    public static BitFields4Table e2m1() {
        return new BitFields4Table(E2M1, 16);
    }

    /** Returns the layout of elements from the code book of IQ4_NL, -127 to 113. */
    public static BitFields4Table iq4() {
        return new BitFields4Table(IQ4, 128);
    }

    /** Returns the factors of {@link BitFields8}, except for the highest field of a word. */
    private static float[] factors() {
        float[] factors = factors(BYTES_OF_WORD, BITS);
        for (int k = BYTES_OF_WORD - 1; k < ROWS; k += BYTES_OF_WORD) {
            factors[k] = 1f;
        }
        return factors;
    }

    /** Stores the elements of 32 codes; byte i of 16 has the code of i in its low half and the code of i + 16 in its high half. */
    public void elements(byte[] from, int at, int[] to, int t0) {
        for (int i = 0; i < CODES; i++) {
            to[t0 + i] = (table[from[at + i] & CODES - 1] & MASK) - offset();
            to[t0 + CODES + i] = (table[from[at + i] >> 4 & CODES - 1] & MASK) - offset();
        }
    }

    @Override
    public void store(int[] fields, int f0, int[] words, int w0) {
        for (int group = 0; group < GROUPS; group++) {
            int word = 0;
            for (int field = 0; field < FIELDS; field++) {
                word |= codes[fields[f0 + group * FIELDS + field]] << shift(field);
            }
            words[w0 + group * PANEL] = word;
        }
    }

    /** Returns the lowest bit of a code in a word. */
    private static int shift(int field) {
        return field % BYTES_OF_WORD * BITS + field / BYTES_OF_WORD * 4;
    }

    @Override
    public void widen(int[] words, int w0, int depth, float[] to) {
        for (int k = 0; k < depth; k++) {
            int up = k % BYTES_OF_WORD == BYTES_OF_WORD - 1 ? 0 : k % BYTES_OF_WORD * BITS;
            for (int column = 0; column < PANEL; column++) {
                int code = words[w0 + k / FIELDS * PANEL + column] >>> shift(k % FIELDS) & CODES - 1;
                to[k * PANEL + column] = (table[code] & MASK) << up;
            }
        }
    }

    @Override
    public void tile1(
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
        ByteVector values = ByteVector.fromArray(BYTES, table, 0);
        int one = MicroKernel.unknownOne(depth);
        float[] a = rows.a;
        float[] sums = rows.sums;
        int a0 = row * ROW;
        int s0 = row * SUMS;
        long from = b0 + column * WORD;
        FloatVector zero = FloatVector.zero(FLOATS);
        FloatVector c00 = zero, c01 = zero;
        for (int block = 0; block < depth / ROWS; block++) {
            FloatVector v0 = FloatVector.broadcast(FLOATS, sums[s0 + block]), v1 = v0;
            for (int group = 0; group < GROUPS; group += one) {
                long at = from + (block * GROUPS + group) * WORDS;
                int k = a0 + block * ROWS + group * FIELDS;
                IntVector left = IntVector.fromMemorySegment(INTS, b, at, ORDER);
                IntVector right = IntVector.fromMemorySegment(INTS, b, at + HALF_BYTES, ORDER);
                IntVector left0 = left.reinterpretAsBytes().selectFrom(values).reinterpretAsInts();
                IntVector right0 = right.reinterpretAsBytes().selectFrom(values).reinterpretAsInts();
                IntVector left4 = left.lanewise(LSHR, 4)
                        .reinterpretAsBytes()
                        .selectFrom(values)
                        .reinterpretAsInts();
                IntVector right4 = right.lanewise(LSHR, 4)
                        .reinterpretAsBytes()
                        .selectFrom(values)
                        .reinterpretAsInts();
                FloatVector x0 = FloatVector.broadcast(FLOATS, a[k]);
                v0 = x0.fma((FloatVector) left0.and(MASK).convertShape(I2F, FLOATS, 0), v0);
                v1 = x0.fma((FloatVector) right0.and(MASK).convertShape(I2F, FLOATS, 0), v1);
                FloatVector x1 = FloatVector.broadcast(FLOATS, a[k + 1]);
                v0 = x1.fma((FloatVector) left0.and(MASK << BITS).convertShape(I2F, FLOATS, 0), v0);
                v1 = x1.fma((FloatVector) right0.and(MASK << BITS).convertShape(I2F, FLOATS, 0), v1);
                FloatVector x2 = FloatVector.broadcast(FLOATS, a[k + 2]);
                v0 = x2.fma((FloatVector) left0.and(MASK << 2 * BITS).convertShape(I2F, FLOATS, 0), v0);
                v1 = x2.fma((FloatVector) right0.and(MASK << 2 * BITS).convertShape(I2F, FLOATS, 0), v1);
                FloatVector x3 = FloatVector.broadcast(FLOATS, a[k + 3]);
                v0 = x3.fma((FloatVector) left0.lanewise(LSHR, 3 * BITS).convertShape(I2F, FLOATS, 0), v0);
                v1 = x3.fma((FloatVector) right0.lanewise(LSHR, 3 * BITS).convertShape(I2F, FLOATS, 0), v1);
                FloatVector x4 = FloatVector.broadcast(FLOATS, a[k + 4]);
                v0 = x4.fma((FloatVector) left4.and(MASK).convertShape(I2F, FLOATS, 0), v0);
                v1 = x4.fma((FloatVector) right4.and(MASK).convertShape(I2F, FLOATS, 0), v1);
                FloatVector x5 = FloatVector.broadcast(FLOATS, a[k + 5]);
                v0 = x5.fma((FloatVector) left4.and(MASK << BITS).convertShape(I2F, FLOATS, 0), v0);
                v1 = x5.fma((FloatVector) right4.and(MASK << BITS).convertShape(I2F, FLOATS, 0), v1);
                FloatVector x6 = FloatVector.broadcast(FLOATS, a[k + 6]);
                v0 = x6.fma((FloatVector) left4.and(MASK << 2 * BITS).convertShape(I2F, FLOATS, 0), v0);
                v1 = x6.fma((FloatVector) right4.and(MASK << 2 * BITS).convertShape(I2F, FLOATS, 0), v1);
                FloatVector x7 = FloatVector.broadcast(FLOATS, a[k + 7]);
                v0 = x7.fma((FloatVector) left4.lanewise(LSHR, 3 * BITS).convertShape(I2F, FLOATS, 0), v0);
                v1 = x7.fma((FloatVector) right4.lanewise(LSHR, 3 * BITS).convertShape(I2F, FLOATS, 0), v1);
            }
            c00 = FloatVector.fromArray(FLOATS, scales, column + block * PANEL).fma(v0, c00);
            c01 = FloatVector.fromArray(FLOATS, scales, column + HALF + block * PANEL)
                    .fma(v1, c01);
        }
        c00.intoArray(c, c0);
        c01.intoArray(c, c0 + HALF);
    }

    @Override
    public void tile4(
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
        ByteVector values = ByteVector.fromArray(BYTES, table, 0);
        float[] a = rows.a;
        float[] sums = rows.sums;
        int a0 = row * ROW;
        int s0 = row * SUMS;
        long from = b0 + column * WORD;
        FloatVector zero = FloatVector.zero(FLOATS);
        FloatVector c00 = zero, c01 = zero;
        FloatVector c10 = zero, c11 = zero;
        FloatVector c20 = zero, c21 = zero;
        FloatVector c30 = zero, c31 = zero;
        for (int block = 0; block < depth / ROWS; block++) {
            FloatVector v00 = FloatVector.broadcast(FLOATS, sums[s0 + block]), v01 = v00;
            FloatVector v10 = FloatVector.broadcast(FLOATS, sums[s0 + block + SUMS]), v11 = v10;
            FloatVector v20 = FloatVector.broadcast(FLOATS, sums[s0 + block + 2 * SUMS]), v21 = v20;
            FloatVector v30 = FloatVector.broadcast(FLOATS, sums[s0 + block + 3 * SUMS]), v31 = v30;
            for (int half = 0; half < 2 * GROUPS; half++) {
                long at = from + (block * GROUPS + half / 2) * WORDS;
                int k = a0 + block * ROWS + half * BYTES_OF_WORD;
                IntVector left = IntVector.fromMemorySegment(INTS, b, at, ORDER)
                        .lanewise(LSHR, half % 2 * 4)
                        .reinterpretAsBytes()
                        .selectFrom(values)
                        .reinterpretAsInts();
                IntVector right = IntVector.fromMemorySegment(INTS, b, at + HALF_BYTES, ORDER)
                        .lanewise(LSHR, half % 2 * 4)
                        .reinterpretAsBytes()
                        .selectFrom(values)
                        .reinterpretAsInts();
                for (int field = 0; field < BYTES_OF_WORD - 1; field++) {
                    FloatVector w0 =
                            (FloatVector) left.and(MASK << BITS * field).convertShape(I2F, FLOATS, 0);
                    FloatVector w1 =
                            (FloatVector) right.and(MASK << BITS * field).convertShape(I2F, FLOATS, 0);
                    FloatVector x0 = FloatVector.broadcast(FLOATS, a[k + field]);
                    v00 = x0.fma(w0, v00);
                    v01 = x0.fma(w1, v01);
                    FloatVector x1 = FloatVector.broadcast(FLOATS, a[k + field + ROW]);
                    v10 = x1.fma(w0, v10);
                    v11 = x1.fma(w1, v11);
                    FloatVector x2 = FloatVector.broadcast(FLOATS, a[k + field + 2 * ROW]);
                    v20 = x2.fma(w0, v20);
                    v21 = x2.fma(w1, v21);
                    FloatVector x3 = FloatVector.broadcast(FLOATS, a[k + field + 3 * ROW]);
                    v30 = x3.fma(w0, v30);
                    v31 = x3.fma(w1, v31);
                }
                FloatVector top0 = (FloatVector) left.lanewise(LSHR, 3 * BITS).convertShape(I2F, FLOATS, 0);
                FloatVector top1 = (FloatVector) right.lanewise(LSHR, 3 * BITS).convertShape(I2F, FLOATS, 0);
                FloatVector y0 = FloatVector.broadcast(FLOATS, a[k + 3]);
                v00 = y0.fma(top0, v00);
                v01 = y0.fma(top1, v01);
                FloatVector y1 = FloatVector.broadcast(FLOATS, a[k + 3 + ROW]);
                v10 = y1.fma(top0, v10);
                v11 = y1.fma(top1, v11);
                FloatVector y2 = FloatVector.broadcast(FLOATS, a[k + 3 + 2 * ROW]);
                v20 = y2.fma(top0, v20);
                v21 = y2.fma(top1, v21);
                FloatVector y3 = FloatVector.broadcast(FLOATS, a[k + 3 + 3 * ROW]);
                v30 = y3.fma(top0, v30);
                v31 = y3.fma(top1, v31);
            }
            FloatVector d0 = FloatVector.fromArray(FLOATS, scales, column + block * PANEL);
            FloatVector d1 = FloatVector.fromArray(FLOATS, scales, column + HALF + block * PANEL);
            c00 = d0.fma(v00, c00);
            c01 = d1.fma(v01, c01);
            c10 = d0.fma(v10, c10);
            c11 = d1.fma(v11, c11);
            c20 = d0.fma(v20, c20);
            c21 = d1.fma(v21, c21);
            c30 = d0.fma(v30, c30);
            c31 = d1.fma(v31, c31);
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

    @Override
    public void widen(MemorySegment panels, long b0, int depth, MemorySegment to) {
        MemorySegment b = NativeMemory.known(panels);
        MemorySegment target = NativeMemory.known(to);
        if (depth < 0) { // see WarmUp.Trial
            for (int i = depth; i < 0; i++) {}
            return;
        }
        ByteVector values = ByteVector.fromArray(BYTES, table, 0);
        for (int half = 0; half < depth / BYTES_OF_WORD; half++) {
            for (int column = 0; column < PANEL; column += COUNT) {
                IntVector four = IntVector.fromMemorySegment(INTS, b, b0 + half / 2 * WORDS + column * WORD, ORDER)
                        .lanewise(LSHR, half % 2 * 4)
                        .reinterpretAsBytes()
                        .selectFrom(values)
                        .reinterpretAsInts();
                long at = half * BYTES_OF_WORD * WORDS + column * WORD;
                for (int field = 0; field < BYTES_OF_WORD - 1; field++) {
                    FloatVector wide =
                            (FloatVector) four.and(MASK << BITS * field).convertShape(I2F, FLOATS, 0);
                    wide.intoMemorySegment(target, at + field * WORDS, ORDER);
                }
                FloatVector last = (FloatVector) four.lanewise(LSHR, 3 * BITS).convertShape(I2F, FLOATS, 0);
                last.intoMemorySegment(target, at + 3 * WORDS, ORDER);
            }
        }
    }
}
