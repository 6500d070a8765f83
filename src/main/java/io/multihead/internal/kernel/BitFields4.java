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

/** Eight fields of 4 bits to a word, of k to k + 7 from the lowest bits up. The highest field is a signed number. */
public final class BitFields4 extends BitFields {
    /** Fields of a word. */
    private static final int FIELDS = 8;

    /** Words of 32 rows of one column. */
    private static final int GROUPS = ROWS / FIELDS;

    private static final int BITS = 4;
    private static final int MASK = 15;

    /**
     * Creates a layout.
     *
     * @param offset the addend of the elements of all fields but the highest: 8 if they are signed, else 0
     */
    public BitFields4(int offset) {
        super(ROWS, new Words(1, FIELDS, BITS, 0, 0), offsets(FIELDS, offset, offset - 8), factors(FIELDS, BITS));
    }

    @Override
    public void store(int[] fields, int f0, int[] words, int w0) {
        for (int group = 0; group < GROUPS; group++) {
            int word = 0;
            for (int field = 0; field < FIELDS; field++) {
                word |= (fields[f0 + group * FIELDS + field] & MASK) << BITS * field;
            }
            words[w0 + group * PANEL] = word;
        }
    }

    /**
     * The fields of a word are written out: in a loop that C2 unrolls itself, bounds checks of the row remain between the fields. One
     * row times 4096 x 4096 from memory takes 10.3 cycles for 64 weights with the loop and 9.5 cycles without (Zen 4).
     */
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
        for (int block = 0; block < depth / ROWS; block++) {
            FloatVector v0 = FloatVector.broadcast(FLOATS, sums[s0 + block]), v1 = v0;
            for (int group = 0; group < GROUPS; group += one) {
                long at = from + (block * GROUPS + group) * WORDS;
                int k = a0 + block * ROWS + group * FIELDS;
                IntVector left = IntVector.fromMemorySegment(INTS, b, at, ORDER);
                IntVector right = IntVector.fromMemorySegment(INTS, b, at + HALF_BYTES, ORDER);
                FloatVector x0 = FloatVector.broadcast(FLOATS, a[k]);
                v0 = x0.fma((FloatVector) left.and(MASK).convertShape(VectorOperators.I2F, FLOATS, 0), v0);
                v1 = x0.fma((FloatVector) right.and(MASK).convertShape(VectorOperators.I2F, FLOATS, 0), v1);
                FloatVector x1 = FloatVector.broadcast(FLOATS, a[k + 1]);
                v0 = x1.fma((FloatVector) left.and(MASK << BITS).convertShape(VectorOperators.I2F, FLOATS, 0), v0);
                v1 = x1.fma((FloatVector) right.and(MASK << BITS).convertShape(VectorOperators.I2F, FLOATS, 0), v1);
                FloatVector x2 = FloatVector.broadcast(FLOATS, a[k + 2]);
                v0 = x2.fma((FloatVector) left.and(MASK << 2 * BITS).convertShape(VectorOperators.I2F, FLOATS, 0), v0);
                v1 = x2.fma((FloatVector) right.and(MASK << 2 * BITS).convertShape(VectorOperators.I2F, FLOATS, 0), v1);
                FloatVector x3 = FloatVector.broadcast(FLOATS, a[k + 3]);
                v0 = x3.fma((FloatVector) left.and(MASK << 3 * BITS).convertShape(VectorOperators.I2F, FLOATS, 0), v0);
                v1 = x3.fma((FloatVector) right.and(MASK << 3 * BITS).convertShape(VectorOperators.I2F, FLOATS, 0), v1);
                FloatVector x4 = FloatVector.broadcast(FLOATS, a[k + 4]);
                v0 = x4.fma((FloatVector) left.and(MASK << 4 * BITS).convertShape(VectorOperators.I2F, FLOATS, 0), v0);
                v1 = x4.fma((FloatVector) right.and(MASK << 4 * BITS).convertShape(VectorOperators.I2F, FLOATS, 0), v1);
                FloatVector x5 = FloatVector.broadcast(FLOATS, a[k + 5]);
                v0 = x5.fma((FloatVector) left.and(MASK << 5 * BITS).convertShape(VectorOperators.I2F, FLOATS, 0), v0);
                v1 = x5.fma((FloatVector) right.and(MASK << 5 * BITS).convertShape(VectorOperators.I2F, FLOATS, 0), v1);
                FloatVector x6 = FloatVector.broadcast(FLOATS, a[k + 6]);
                v0 = x6.fma((FloatVector) left.and(MASK << 6 * BITS).convertShape(VectorOperators.I2F, FLOATS, 0), v0);
                v1 = x6.fma((FloatVector) right.and(MASK << 6 * BITS).convertShape(VectorOperators.I2F, FLOATS, 0), v1);
                FloatVector x7 = FloatVector.broadcast(FLOATS, a[k + 7]);
                v0 = x7.fma((FloatVector) left.and(MASK << 7 * BITS).convertShape(VectorOperators.I2F, FLOATS, 0), v0);
                v1 = x7.fma((FloatVector) right.and(MASK << 7 * BITS).convertShape(VectorOperators.I2F, FLOATS, 0), v1);
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
            for (int group = 0; group < GROUPS; group++) {
                long at = from + (block * GROUPS + group) * WORDS;
                int k = a0 + block * ROWS + group * FIELDS;
                IntVector left = IntVector.fromMemorySegment(INTS, b, at, ORDER);
                IntVector right = IntVector.fromMemorySegment(INTS, b, at + HALF_BYTES, ORDER);
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
        for (int group = 0; group < depth / FIELDS; group++) {
            for (int column = 0; column < PANEL; column += COUNT) {
                IntVector words = IntVector.fromMemorySegment(INTS, b, b0 + group * WORDS + column * WORD, ORDER);
                long at = group * FIELDS * WORDS + column * WORD;
                for (int field = 0; field < FIELDS; field++) {
                    FloatVector wide =
                            (FloatVector) words.and(MASK << BITS * field).convertShape(VectorOperators.I2F, FLOATS, 0);
                    wide.intoMemorySegment(target, at + field * WORDS, ORDER);
                }
            }
        }
    }
}
