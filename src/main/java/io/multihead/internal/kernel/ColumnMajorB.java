package io.multihead.internal.kernel;

import static io.multihead.internal.base.NativeMemory.ORDER;
import static io.multihead.internal.base.NativeMemory.WORD;
import static io.multihead.internal.kernel.Lanes.COUNT;
import static io.multihead.internal.kernel.Lanes.FLOATS;
import static io.multihead.internal.kernel.Lanes.INTS;
import static io.multihead.internal.kernel.Lanes.ROW;

import io.multihead.internal.base.NativeMemory;
import io.multihead.internal.base.WarmUp;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.IntVector;

/**
 * One row of A times f32 columns of B in native memory, in place. Each column is contiguous, as in weights {@code [outputs, inputs]}.
 *
 * <p>A dot product in lanes would add in another order than a tile of {@link MicroKernel}, whose lanes are columns of B. Therefore square
 * blocks, whose numbers of columns and of elements per column equal the number of lanes, are transposed in registers, in steps that each
 * interleave pairs of vectors. The rows are multiplied immediately. Each column is a stream that the processor prefetches: 8 or 16 streams
 * are read at the speed of memory, 32 at half of it. One row times 1024 x 1024 takes 0.13 ms, and one row times 4096 x 4096 takes 3.4 ms,
 * which is the speed of memory. The latter takes 4.7 ms with a transposition into panels first, which stay in L2, and 17 ms with a loop of
 * dot products (Zen 4, one thread).
 *
 * <p>Vectors have the shape that all kernels use. If a JVM has seen vectors of floats of two shapes, C2 may not know which shape a
 * conversion returns, and code with a conversion then boxes each vector permanently. This happened in every third JVM with lanes of 512
 * bits, if bf16 was read after products of this class with vectors of eight lanes.
 */
public final class ColumnMajorB {
    /** The number of columns that {@link #chainScalars} multiplies at a time. */
    public static final int CHAINS = 8;

    /** The number of columns that {@link #chain} multiplies at a time. */
    public static final int COLUMNS = Math.max(CHAINS, COUNT);

    /** Whether there are vectors of at least eight lanes. */
    private static final boolean HAS_VECTORS = COUNT >= CHAINS;

    /** The first halves of two vectors, with their elements interleaved. */
    private static final int[] LOW = inTurns(0);

    /** The second halves of two vectors, with their elements interleaved. */
    private static final int[] HIGH = inTurns(COUNT / 2);

    private static final WarmUp WARM_UP = new WarmUp(new WarmUp.Trial() {
        private static final int DEPTH = 16 * COLUMNS;
        private final float[] a = new float[DEPTH];
        private final float[] c = new float[COLUMNS];
        private final MemorySegment b = Arena.ofAuto().allocate(DEPTH * COLUMNS * WORD);

        @Override
        public int operations() {
            return DEPTH / COLUMNS * 7 * COLUMNS;
        }

        @Override
        public void run(int lengthFactor, int calls) {
            for (int call = 0; call < calls; call++) {
                chain(a, 0, b, 0, DEPTH * WORD, lengthFactor * DEPTH, c, 0);
            }
        }
    });

    private ColumnMajorB() {}

    private static int[] inTurns(int first) {
        int[] lanes = new int[COUNT];
        for (int i = 0; i < COUNT; i++) {
            lanes[i] = first + i / 2 + i % 2 * COUNT;
        }
        return lanes;
    }

    /** Returns whether {@link #chain} is available and fast. */
    public static boolean isCompiled() {
        return HAS_VECTORS && WARM_UP.isOver();
    }

    /**
     * Multiplies a part of a row of A by equally long parts of {@link #COLUMNS} columns of B, in one chain of multiply-adds each, in
     * ascending order; for vectors of 8 or 16 lanes.
     *
     * @param b0 offset in bytes of the first column
     * @param ld bytes from column to column
     * @param depth elements, a multiple of {@link #COLUMNS}
     * @param c where the sums are stored
     */
    public static void chain(float[] a, int a0, MemorySegment columns, long b0, long ld, int depth, float[] c, int c0) {
        MemorySegment b = NativeMemory.known(columns);
        if (COUNT == 16) {
            chain16(a, a0, b, b0, ld, depth, c, c0);
        } else {
            chain8(a, a0, b, b0, ld, depth, c, c0);
        }
    }

    /** Multiplies by eight columns. The loop is unrolled, since C2 keeps vectors in registers only as named locals. */
    private static void chain8(float[] a, int a0, MemorySegment b, long b0, long ld, int depth, float[] c, int c0) {
        if (depth < 0) { // see WarmUp.Trial
            for (int i = depth; i < 0; i++) {}
            return;
        }
        IntVector low = IntVector.fromArray(INTS, LOW, 0);
        IntVector high = IntVector.fromArray(INTS, HIGH, 0);
        FloatVector sum = FloatVector.zero(FLOATS);
        for (int p = 0; p < depth; p += 8) {
            long from = b0 + p * WORD;
            IntVector t0 = IntVector.fromMemorySegment(INTS, b, from, ORDER);
            IntVector t1 = IntVector.fromMemorySegment(INTS, b, from + ld, ORDER);
            IntVector t2 = IntVector.fromMemorySegment(INTS, b, from + 2 * ld, ORDER);
            IntVector t3 = IntVector.fromMemorySegment(INTS, b, from + 3 * ld, ORDER);
            IntVector t4 = IntVector.fromMemorySegment(INTS, b, from + 4 * ld, ORDER);
            IntVector t5 = IntVector.fromMemorySegment(INTS, b, from + 5 * ld, ORDER);
            IntVector t6 = IntVector.fromMemorySegment(INTS, b, from + 6 * ld, ORDER);
            IntVector t7 = IntVector.fromMemorySegment(INTS, b, from + 7 * ld, ORDER);
            IntVector u0 = low.selectFrom(t0, t4), u1 = high.selectFrom(t0, t4);
            IntVector u2 = low.selectFrom(t1, t5), u3 = high.selectFrom(t1, t5);
            IntVector u4 = low.selectFrom(t2, t6), u5 = high.selectFrom(t2, t6);
            IntVector u6 = low.selectFrom(t3, t7), u7 = high.selectFrom(t3, t7);
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

    /** Multiplies by sixteen columns. */
    private static void chain16(float[] a, int a0, MemorySegment b, long b0, long ld, int depth, float[] c, int c0) {
        if (depth < 0) { // see WarmUp.Trial
            for (int i = depth; i < 0; i++) {}
            return;
        }
        IntVector low = IntVector.fromArray(INTS, LOW, 0);
        IntVector high = IntVector.fromArray(INTS, HIGH, 0);
        FloatVector sum = FloatVector.zero(FLOATS);
        for (int p = 0; p < depth; p += 16) {
            long from = b0 + p * WORD;
            IntVector t0 = IntVector.fromMemorySegment(INTS, b, from, ORDER);
            IntVector t1 = IntVector.fromMemorySegment(INTS, b, from + ld, ORDER);
            IntVector t2 = IntVector.fromMemorySegment(INTS, b, from + 2 * ld, ORDER);
            IntVector t3 = IntVector.fromMemorySegment(INTS, b, from + 3 * ld, ORDER);
            IntVector t4 = IntVector.fromMemorySegment(INTS, b, from + 4 * ld, ORDER);
            IntVector t5 = IntVector.fromMemorySegment(INTS, b, from + 5 * ld, ORDER);
            IntVector t6 = IntVector.fromMemorySegment(INTS, b, from + 6 * ld, ORDER);
            IntVector t7 = IntVector.fromMemorySegment(INTS, b, from + 7 * ld, ORDER);
            IntVector t8 = IntVector.fromMemorySegment(INTS, b, from + 8 * ld, ORDER);
            IntVector t9 = IntVector.fromMemorySegment(INTS, b, from + 9 * ld, ORDER);
            IntVector t10 = IntVector.fromMemorySegment(INTS, b, from + 10 * ld, ORDER);
            IntVector t11 = IntVector.fromMemorySegment(INTS, b, from + 11 * ld, ORDER);
            IntVector t12 = IntVector.fromMemorySegment(INTS, b, from + 12 * ld, ORDER);
            IntVector t13 = IntVector.fromMemorySegment(INTS, b, from + 13 * ld, ORDER);
            IntVector t14 = IntVector.fromMemorySegment(INTS, b, from + 14 * ld, ORDER);
            IntVector t15 = IntVector.fromMemorySegment(INTS, b, from + 15 * ld, ORDER);
            IntVector u0 = low.selectFrom(t0, t8), u1 = high.selectFrom(t0, t8);
            IntVector u2 = low.selectFrom(t1, t9), u3 = high.selectFrom(t1, t9);
            IntVector u4 = low.selectFrom(t2, t10), u5 = high.selectFrom(t2, t10);
            IntVector u6 = low.selectFrom(t3, t11), u7 = high.selectFrom(t3, t11);
            IntVector u8 = low.selectFrom(t4, t12), u9 = high.selectFrom(t4, t12);
            IntVector u10 = low.selectFrom(t5, t13), u11 = high.selectFrom(t5, t13);
            IntVector u12 = low.selectFrom(t6, t14), u13 = high.selectFrom(t6, t14);
            IntVector u14 = low.selectFrom(t7, t15), u15 = high.selectFrom(t7, t15);
            IntVector v0 = low.selectFrom(u0, u8), v1 = high.selectFrom(u0, u8);
            IntVector v2 = low.selectFrom(u1, u9), v3 = high.selectFrom(u1, u9);
            IntVector v4 = low.selectFrom(u2, u10), v5 = high.selectFrom(u2, u10);
            IntVector v6 = low.selectFrom(u3, u11), v7 = high.selectFrom(u3, u11);
            IntVector v8 = low.selectFrom(u4, u12), v9 = high.selectFrom(u4, u12);
            IntVector v10 = low.selectFrom(u5, u13), v11 = high.selectFrom(u5, u13);
            IntVector v12 = low.selectFrom(u6, u14), v13 = high.selectFrom(u6, u14);
            IntVector v14 = low.selectFrom(u7, u15), v15 = high.selectFrom(u7, u15);
            IntVector w0 = low.selectFrom(v0, v8), w1 = high.selectFrom(v0, v8);
            IntVector w2 = low.selectFrom(v1, v9), w3 = high.selectFrom(v1, v9);
            IntVector w4 = low.selectFrom(v2, v10), w5 = high.selectFrom(v2, v10);
            IntVector w6 = low.selectFrom(v3, v11), w7 = high.selectFrom(v3, v11);
            IntVector w8 = low.selectFrom(v4, v12), w9 = high.selectFrom(v4, v12);
            IntVector w10 = low.selectFrom(v5, v13), w11 = high.selectFrom(v5, v13);
            IntVector w12 = low.selectFrom(v6, v14), w13 = high.selectFrom(v6, v14);
            IntVector w14 = low.selectFrom(v7, v15), w15 = high.selectFrom(v7, v15);
            int at = a0 + p;
            sum = FloatVector.broadcast(FLOATS, a[at])
                    .fma(low.selectFrom(w0, w8).reinterpretAsFloats(), sum);
            sum = FloatVector.broadcast(FLOATS, a[at + 1])
                    .fma(high.selectFrom(w0, w8).reinterpretAsFloats(), sum);
            sum = FloatVector.broadcast(FLOATS, a[at + 2])
                    .fma(low.selectFrom(w1, w9).reinterpretAsFloats(), sum);
            sum = FloatVector.broadcast(FLOATS, a[at + 3])
                    .fma(high.selectFrom(w1, w9).reinterpretAsFloats(), sum);
            sum = FloatVector.broadcast(FLOATS, a[at + 4])
                    .fma(low.selectFrom(w2, w10).reinterpretAsFloats(), sum);
            sum = FloatVector.broadcast(FLOATS, a[at + 5])
                    .fma(high.selectFrom(w2, w10).reinterpretAsFloats(), sum);
            sum = FloatVector.broadcast(FLOATS, a[at + 6])
                    .fma(low.selectFrom(w3, w11).reinterpretAsFloats(), sum);
            sum = FloatVector.broadcast(FLOATS, a[at + 7])
                    .fma(high.selectFrom(w3, w11).reinterpretAsFloats(), sum);
            sum = FloatVector.broadcast(FLOATS, a[at + 8])
                    .fma(low.selectFrom(w4, w12).reinterpretAsFloats(), sum);
            sum = FloatVector.broadcast(FLOATS, a[at + 9])
                    .fma(high.selectFrom(w4, w12).reinterpretAsFloats(), sum);
            sum = FloatVector.broadcast(FLOATS, a[at + 10])
                    .fma(low.selectFrom(w5, w13).reinterpretAsFloats(), sum);
            sum = FloatVector.broadcast(FLOATS, a[at + 11])
                    .fma(high.selectFrom(w5, w13).reinterpretAsFloats(), sum);
            sum = FloatVector.broadcast(FLOATS, a[at + 12])
                    .fma(low.selectFrom(w6, w14).reinterpretAsFloats(), sum);
            sum = FloatVector.broadcast(FLOATS, a[at + 13])
                    .fma(high.selectFrom(w6, w14).reinterpretAsFloats(), sum);
            sum = FloatVector.broadcast(FLOATS, a[at + 14])
                    .fma(low.selectFrom(w7, w15).reinterpretAsFloats(), sum);
            sum = FloatVector.broadcast(FLOATS, a[at + 15])
                    .fma(high.selectFrom(w7, w15).reinterpretAsFloats(), sum);
        }
        sum.intoArray(c, c0);
    }

    /**
     * Multiplies without vectors, with the same bits, by eight columns that were copied to rows of floats, {@link Lanes#ROW} apart: eight
     * chains, as many as a processor needs for two multiply-adds per cycle.
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
