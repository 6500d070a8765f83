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
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.VectorOperators;

/** Four fields of 8 bits to a word, of k to k + 3 from the lowest bits up: int8, plus 128 in all but the highest field. */
public final class BitFields8 extends BitFields {
    /** Fields of a word. */
    private static final int FIELDS = 4;

    /** Words of 32 rows of one column. */
    private static final int GROUPS = ROWS / FIELDS;

    private static final int BITS = 8;
    private static final int MASK = 255;
    /** The bits that are flipped to add 128: one for each field except the highest. */
    private static final int FLIPPED = 0x00808080;

    private static final VarHandle FOUR_BYTES =
            MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);

    public BitFields8() {
        super(ROWS, new Words(1, FIELDS, BITS, 0, 0), offsets(FIELDS, 128, 0), factors(FIELDS, BITS));
    }

    /** Stores 32 rows of a column that are consecutive bytes: a word has four of them, and adding 128 flips one bit. */
    public static void storeBytes(byte[] bytes, int at, int[] words, int w0) {
        for (int group = 0; group < GROUPS; group++) {
            words[w0 + group * PANEL] = (int) FOUR_BYTES.get(bytes, at + group * FIELDS) ^ FLIPPED;
        }
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
     * There is one loop over the words of all chains, so that two loads read the panel, each with one stride. One row times 4096 x 4096 from
     * memory takes 1.12 to 1.40 ms with a loop for each chain, and 0.79 to 0.91 ms with one loop (Zen 5). Other widths are not faster with one
     * loop.
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
        FloatVector v0 = FloatVector.broadcast(FLOATS, sums[s0]), v1 = v0;
        for (int group = 0; group < depth / FIELDS; group += one) {
            long at = from + group * WORDS;
            int k = a0 + group * FIELDS;
            IntVector left = IntVector.fromMemorySegment(INTS, b, at, ORDER);
            IntVector right = IntVector.fromMemorySegment(INTS, b, at + HALF_BYTES, ORDER);
            for (int field = 0; field < FIELDS; field++) {
                FloatVector x = FloatVector.broadcast(FLOATS, a[k + field]);
                v0 = x.fma(
                        (FloatVector) left.and(MASK << BITS * field).convertShape(VectorOperators.I2F, FLOATS, 0), v0);
                v1 = x.fma(
                        (FloatVector) right.and(MASK << BITS * field).convertShape(VectorOperators.I2F, FLOATS, 0), v1);
            }
            if (group % GROUPS == GROUPS - 1) {
                int block = group / GROUPS;
                c00 = FloatVector.fromArray(FLOATS, scales, column + block * PANEL)
                        .fma(v0, c00);
                c01 = FloatVector.fromArray(FLOATS, scales, column + HALF + block * PANEL)
                        .fma(v1, c01);
                v0 = FloatVector.broadcast(FLOATS, sums[s0 + block + 1]);
                v1 = v0;
            }
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
