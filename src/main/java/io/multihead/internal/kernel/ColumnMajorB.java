package io.multihead.internal.kernel;

import static io.multihead.internal.base.NativeMemory.ORDER;
import static io.multihead.internal.base.NativeMemory.WORD;
import static io.multihead.internal.kernel.Lanes.ROW;

import io.multihead.internal.base.NativeMemory;
import io.multihead.internal.base.WarmUp;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.VectorSpecies;

/**
 * One row of A times columns of f32 of B as they lie in native memory, each column contiguous, as in weights {@code [outputs, inputs]}.
 *
 * <p>A dot product in lanes would add in another order than a tile of {@link MicroKernel}, whose lanes are columns of B. So blocks of eight
 * elements of eight columns are transposed in registers, in three steps, each of which interleaves pairs of vectors, and the rows are
 * multiplied at once. Vectors of eight lanes also where there are 16: such a processor shuffles two of them in the time of one of 16
 * (Zen 4), and each column is a stream that it prefetches: 8 or 16 are read at the speed of memory, 32 at half of it. One row by
 * 4096 x 4096 takes 3.5 ms; transposing into panels first, which stay in L2, 4.7; a loop of dot products 17 (Zen 4, one thread).
 */
public final class ColumnMajorB {
    /** Columns that are multiplied at a time. */
    public static final int COLUMNS = 8;

    /** Whether there are vectors of eight lanes. */
    private static final boolean HAS_VECTORS = Lanes.COUNT >= COLUMNS;

    private static final VectorSpecies<Integer> INTS = IntVector.SPECIES_256;
    private static final VectorSpecies<Float> FLOATS = FloatVector.SPECIES_256;

    /** Elements 0 to 3 of two vectors in turns. */
    private static final int[] LOW = {0, 8, 1, 9, 2, 10, 3, 11};

    /** Elements 4 to 7 of two vectors in turns. */
    private static final int[] HIGH = {4, 12, 5, 13, 6, 14, 7, 15};

    private static final WarmUp WARM_UP = new WarmUp(new WarmUp.Trial() {
        private static final int DEPTH = 16 * COLUMNS;
        private final float[] a = new float[DEPTH];
        private final float[] c = new float[COLUMNS];
        private final MemorySegment b = Arena.ofAuto().allocate(DEPTH * COLUMNS * WORD);

        @Override
        public int operations() {
            return DEPTH / COLUMNS * 56;
        }

        @Override
        public void run(int lengthFactor, int calls) {
            for (int call = 0; call < calls; call++) {
                chain(a, 0, b, 0, DEPTH * WORD, lengthFactor * DEPTH, c, 0);
            }
        }
    });

    private ColumnMajorB() {}

    /** Returns whether {@link #chain} is fast. */
    public static boolean isCompiled() {
        return HAS_VECTORS && WARM_UP.isOver();
    }

    /**
     * Multiplies a part of a row of A by as long parts of eight columns of B, in one chain of multiply-adds each, in ascending order.
     *
     * @param b0 offset in bytes of the first column
     * @param ld bytes from column to column
     * @param depth elements, a multiple of eight
     * @param c where the eight sums are stored
     */
    public static void chain(float[] a, int a0, MemorySegment columns, long b0, long ld, int depth, float[] c, int c0) {
        MemorySegment b = NativeMemory.known(columns);
        IntVector low = IntVector.fromArray(INTS, LOW, 0);
        IntVector high = IntVector.fromArray(INTS, HIGH, 0);
        FloatVector sum = FloatVector.zero(FLOATS);
        for (int p = 0; p < depth; p += COLUMNS) {
            long from = b0 + p * WORD;
            IntVector b0p = IntVector.fromMemorySegment(INTS, b, from, ORDER);
            IntVector b1p = IntVector.fromMemorySegment(INTS, b, from + ld, ORDER);
            IntVector b2p = IntVector.fromMemorySegment(INTS, b, from + 2 * ld, ORDER);
            IntVector b3p = IntVector.fromMemorySegment(INTS, b, from + 3 * ld, ORDER);
            IntVector b4p = IntVector.fromMemorySegment(INTS, b, from + 4 * ld, ORDER);
            IntVector b5p = IntVector.fromMemorySegment(INTS, b, from + 5 * ld, ORDER);
            IntVector b6p = IntVector.fromMemorySegment(INTS, b, from + 6 * ld, ORDER);
            IntVector b7p = IntVector.fromMemorySegment(INTS, b, from + 7 * ld, ORDER);
            IntVector u0 = low.selectFrom(b0p, b4p), u1 = high.selectFrom(b0p, b4p);
            IntVector u2 = low.selectFrom(b1p, b5p), u3 = high.selectFrom(b1p, b5p);
            IntVector u4 = low.selectFrom(b2p, b6p), u5 = high.selectFrom(b2p, b6p);
            IntVector u6 = low.selectFrom(b3p, b7p), u7 = high.selectFrom(b3p, b7p);
            IntVector v0 = low.selectFrom(u0, u4), v1 = high.selectFrom(u0, u4);
            IntVector v2 = low.selectFrom(u1, u5), v3 = high.selectFrom(u1, u5);
            IntVector v4 = low.selectFrom(u2, u6), v5 = high.selectFrom(u2, u6);
            IntVector v6 = low.selectFrom(u3, u7), v7 = high.selectFrom(u3, u7);
            int at = a0 + p;
            sum = FloatVector.broadcast(FLOATS, a[at])
                    .fma(low.selectFrom(v0, v4).reinterpretAsFloats(), sum);
            sum = FloatVector.broadcast(FLOATS, a[at + 1])
                    .fma(high.selectFrom(v0, v4).reinterpretAsFloats(), sum);
            sum = FloatVector.broadcast(FLOATS, a[at + 2])
                    .fma(low.selectFrom(v1, v5).reinterpretAsFloats(), sum);
            sum = FloatVector.broadcast(FLOATS, a[at + 3])
                    .fma(high.selectFrom(v1, v5).reinterpretAsFloats(), sum);
            sum = FloatVector.broadcast(FLOATS, a[at + 4])
                    .fma(low.selectFrom(v2, v6).reinterpretAsFloats(), sum);
            sum = FloatVector.broadcast(FLOATS, a[at + 5])
                    .fma(high.selectFrom(v2, v6).reinterpretAsFloats(), sum);
            sum = FloatVector.broadcast(FLOATS, a[at + 6])
                    .fma(low.selectFrom(v3, v7).reinterpretAsFloats(), sum);
            sum = FloatVector.broadcast(FLOATS, a[at + 7])
                    .fma(high.selectFrom(v3, v7).reinterpretAsFloats(), sum);
        }
        sum.intoArray(c, c0);
    }

    /**
     * Multiplies without vectors, with the same bits, by eight columns that were copied to rows of floats, {@link Lanes#ROW} apart: eight
     * chains, as many as a processor needs to have two multiply-adds a cycle.
     *
     * @param depth elements, any number
     */
    public static void chainScalars(float[] a, int a0, float[] b, int b0, int depth, float[] c, int c0) {
        float s0 = 0f, s1 = 0f, s2 = 0f, s3 = 0f;
        float s4 = 0f, s5 = 0f, s6 = 0f, s7 = 0f;
        for (int p = 0; p < depth; p++) {
            float x = a[a0 + p];
            int at = b0 + p;
            s0 = Math.fma(x, b[at], s0);
            s1 = Math.fma(x, b[at + ROW], s1);
            s2 = Math.fma(x, b[at + 2 * ROW], s2);
            s3 = Math.fma(x, b[at + 3 * ROW], s3);
            s4 = Math.fma(x, b[at + 4 * ROW], s4);
            s5 = Math.fma(x, b[at + 5 * ROW], s5);
            s6 = Math.fma(x, b[at + 6 * ROW], s6);
            s7 = Math.fma(x, b[at + 7 * ROW], s7);
        }
        c[c0] = s0;
        c[c0 + 1] = s1;
        c[c0 + 2] = s2;
        c[c0 + 3] = s3;
        c[c0 + 4] = s4;
        c[c0 + 5] = s5;
        c[c0 + 6] = s6;
        c[c0 + 7] = s7;
    }
}
