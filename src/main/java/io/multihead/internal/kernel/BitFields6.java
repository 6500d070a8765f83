package io.multihead.internal.kernel;

import static io.multihead.internal.base.NativeMemory.ORDER;
import static io.multihead.internal.base.NativeMemory.WORD;
import static io.multihead.internal.kernel.Lanes.COUNT;
import static io.multihead.internal.kernel.Lanes.FLOATS;
import static io.multihead.internal.kernel.Lanes.HALF;
import static io.multihead.internal.kernel.Lanes.INTS;
import static io.multihead.internal.kernel.Lanes.PANEL;
import static io.multihead.internal.kernel.Lanes.ROW;

import io.multihead.internal.base.NativeMemory;
import java.lang.foreign.MemorySegment;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.VectorOperators;

/**
 * Five fields of 6 bits to a word, and the bits of one more field in the remaining bits of three words: 16 rows of k in 3 words, in
 * ascending order from the lowest bits up, with the split field last. The split field is a signed number, and 32 is added to the
 * others.
 */
public final class BitFields6 extends BitFields {
    /** Rows whose words are stored together, which form a chain. */
    private static final int BLOCK = 16;

    /** Fields of a word that are not split. */
    private static final int FIELDS = 5;

    /** Words of 16 rows of one column. */
    private static final int GROUPS = 3;

    private static final int BITS = 6;
    private static final int MASK = 63;

    /** The bits of a word that belong to the split field. */
    private static final int SPARE = 0xc0000000;

    /** The lowest bit of the split field after its bits were gathered. */
    private static final int FIRST = 26;

    public BitFields6() {
        super(BLOCK, new Words(GROUPS, FIELDS, BITS, 1, FIRST), offsets(BLOCK, 32, 0), factors());
    }

    private static float[] factors() {
        float[] factors = new float[ROWS];
        for (int k = 0; k < ROWS; k++) {
            int place = k % BLOCK;
            factors[k] = Math.scalb(1f, place == BLOCK - 1 ? -FIRST : -BITS * (place % FIELDS));
        }
        return factors;
    }

    @Override
    public void store(int[] fields, int f0, int[] words, int w0) {
        for (int block = 0; block < ROWS / BLOCK; block++) {
            int at = f0 + block * BLOCK;
            int split = 0;
            for (int i = 0; i < 1; i++) {
                split |= (fields[at + GROUPS * FIELDS + i] & MASK) << BITS * i;
            }
            for (int group = 0; group < GROUPS; group++) {
                int word = split >> 2 * group << 30;
                for (int field = 0; field < FIELDS; field++) {
                    word |= (fields[at + group * FIELDS + field] & MASK) << BITS * field;
                }
                words[w0 + (block * GROUPS + group) * PANEL] = word;
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
        int one = MicroKernel.unknownOne(depth);
        float[] a = rows.a;
        float[] sums = rows.sums;
        int a0 = row * ROW;
        int s0 = row * SUMS;
        long from = b0 + column * WORD;
        FloatVector zero = FloatVector.zero(FLOATS);
        FloatVector c00 = zero, c01 = zero;
        for (int block = 0; block < depth / BLOCK; block++) {
            FloatVector v0 = FloatVector.broadcast(FLOATS, sums[s0 + block]), v1 = v0;
            IntVector spare0 = IntVector.zero(INTS), spare1 = spare0;
            for (int group = 0; group < GROUPS; group += one) {
                long at = from + (block * GROUPS + group) * WORDS;
                int k = a0 + block * BLOCK + group * FIELDS;
                IntVector left = IntVector.fromMemorySegment(INTS, b, at, ORDER);
                IntVector right = IntVector.fromMemorySegment(INTS, b, at + HALF_BYTES, ORDER);
                spare0 = spare0.lanewise(VectorOperators.LSHR, 2).or(left.and(SPARE));
                spare1 = spare1.lanewise(VectorOperators.LSHR, 2).or(right.and(SPARE));
                for (int field = 0; field < FIELDS; field++) {
                    FloatVector x = FloatVector.broadcast(FLOATS, a[k + field]);
                    v0 = x.fma(
                            (FloatVector) left.and(MASK << BITS * field).convertShape(VectorOperators.I2F, FLOATS, 0),
                            v0);
                    v1 = x.fma(
                            (FloatVector) right.and(MASK << BITS * field).convertShape(VectorOperators.I2F, FLOATS, 0),
                            v1);
                }
            }
            FloatVector y = FloatVector.broadcast(FLOATS, a[a0 + block * BLOCK + GROUPS * FIELDS]);
            v0 = y.fma((FloatVector) spare0.and(MASK << FIRST).convertShape(VectorOperators.I2F, FLOATS, 0), v0);
            v1 = y.fma((FloatVector) spare1.and(MASK << FIRST).convertShape(VectorOperators.I2F, FLOATS, 0), v1);
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
        for (int block = 0; block < depth / BLOCK; block++) {
            FloatVector v00 = FloatVector.broadcast(FLOATS, sums[s0 + block]), v01 = v00;
            FloatVector v10 = FloatVector.broadcast(FLOATS, sums[s0 + block + SUMS]), v11 = v10;
            FloatVector v20 = FloatVector.broadcast(FLOATS, sums[s0 + block + 2 * SUMS]), v21 = v20;
            FloatVector v30 = FloatVector.broadcast(FLOATS, sums[s0 + block + 3 * SUMS]), v31 = v30;
            IntVector spare0 = IntVector.zero(INTS), spare1 = spare0;
            for (int group = 0; group < GROUPS; group++) {
                long at = from + (block * GROUPS + group) * WORDS;
                int k = a0 + block * BLOCK + group * FIELDS;
                IntVector left = IntVector.fromMemorySegment(INTS, b, at, ORDER);
                IntVector right = IntVector.fromMemorySegment(INTS, b, at + HALF_BYTES, ORDER);
                spare0 = spare0.lanewise(VectorOperators.LSHR, 2).or(left.and(SPARE));
                spare1 = spare1.lanewise(VectorOperators.LSHR, 2).or(right.and(SPARE));
                for (int field = 0; field < FIELDS; field++) {
                    FloatVector w0 =
                            (FloatVector) left.and(MASK << BITS * field).convertShape(VectorOperators.I2F, FLOATS, 0);
                    FloatVector w1 =
                            (FloatVector) right.and(MASK << BITS * field).convertShape(VectorOperators.I2F, FLOATS, 0);
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
            }
            for (int i = 0; i < 1; i++) {
                int k = a0 + block * BLOCK + GROUPS * FIELDS + i;
                FloatVector w0 =
                        (FloatVector) spare0.and(MASK << FIRST + BITS * i).convertShape(VectorOperators.I2F, FLOATS, 0);
                FloatVector w1 =
                        (FloatVector) spare1.and(MASK << FIRST + BITS * i).convertShape(VectorOperators.I2F, FLOATS, 0);
                FloatVector x0 = FloatVector.broadcast(FLOATS, a[k]);
                v00 = x0.fma(w0, v00);
                v01 = x0.fma(w1, v01);
                FloatVector x1 = FloatVector.broadcast(FLOATS, a[k + ROW]);
                v10 = x1.fma(w0, v10);
                v11 = x1.fma(w1, v11);
                FloatVector x2 = FloatVector.broadcast(FLOATS, a[k + 2 * ROW]);
                v20 = x2.fma(w0, v20);
                v21 = x2.fma(w1, v21);
                FloatVector x3 = FloatVector.broadcast(FLOATS, a[k + 3 * ROW]);
                v30 = x3.fma(w0, v30);
                v31 = x3.fma(w1, v31);
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
        if (depth < 0) { // see WarmUp.Trial
            for (int i = depth; i < 0; i++) {}
            return;
        }
        for (int block = 0; block < depth / BLOCK; block++) {
            for (int column = 0; column < PANEL; column += COUNT) {
                long from = b0 + block * GROUPS * WORDS + column * WORD;
                widenBlock(panels, from, to, block * BLOCK * WORDS + column * WORD);
            }
        }
    }

    private static void widenBlock(MemorySegment panels, long from, MemorySegment to, long at) {
        MemorySegment b = NativeMemory.known(panels);
        MemorySegment target = NativeMemory.known(to);
        IntVector spare = IntVector.zero(INTS);
        for (int group = 0; group < GROUPS; group++) {
            IntVector words = IntVector.fromMemorySegment(INTS, b, from + group * WORDS, ORDER);
            spare = spare.lanewise(VectorOperators.LSHR, 2).or(words.and(SPARE));
            for (int field = 0; field < FIELDS; field++) {
                FloatVector wide =
                        (FloatVector) words.and(MASK << BITS * field).convertShape(VectorOperators.I2F, FLOATS, 0);
                wide.intoMemorySegment(target, at + (group * FIELDS + field) * WORDS, ORDER);
            }
        }
        for (int i = 0; i < 1; i++) {
            FloatVector wide =
                    (FloatVector) spare.and(MASK << FIRST + BITS * i).convertShape(VectorOperators.I2F, FLOATS, 0);
            wide.intoMemorySegment(target, at + (GROUPS * FIELDS + i) * WORDS, ORDER);
        }
    }
}
