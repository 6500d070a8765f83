package io.multihead.internal.kernel;

import static io.multihead.internal.base.NativeMemory.ORDER;
import static io.multihead.internal.base.NativeMemory.WORD;
import static io.multihead.internal.kernel.Lanes.COUNT;
import static io.multihead.internal.kernel.Lanes.FLOATS;
import static io.multihead.internal.kernel.Lanes.PANEL;
import static io.multihead.internal.kernel.Lanes.ROW;

import io.multihead.internal.base.NativeMemory;
import io.multihead.internal.base.WarmUp;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import jdk.incubator.vector.FloatVector;

/**
 * A few rows of A times f32 rows of B in native memory, in place: {@code C[r] += A[r][p] B[p]} for each p in ascending order, with fused
 * multiply-adds. C holds the sums of one chain, which stay in L1 while B is read once. Therefore every element has the same bits as in a
 * tile of {@link MicroKernel}. Rows of A are {@link Lanes#ROW} floats apart.
 *
 * <p>Two or four rows of B are read at a time, so that C is read and written half or a quarter as often; each row is a stream that the
 * processor prefetches. One row times 4096 x 4096 takes 3.0 ms with rows of B in place, 2.4 ms with packed panels, and 9.5 ms with
 * packing (Zen 4, one thread).
 */
public final class RowMajorB {
    private static final WarmUp WARM_UP = new WarmUp(new WarmUp.Trial() {
        private static final int DEPTH = 7;
        private static final int COLUMNS = 4 * PANEL;
        private final float[] a = new float[4 * ROW];
        private final float[] c = new float[4 * COLUMNS];
        private final MemorySegment b = Arena.ofAuto().allocate(DEPTH * COLUMNS * WORD);

        @Override
        public int operations() {
            return DEPTH * COLUMNS / COUNT * 12;
        }

        @Override
        public void run(int lengthFactor, int calls) {
            for (int call = 0; call < calls; call++) {
                add1(a, 0, b, 0, COLUMNS * WORD, lengthFactor * DEPTH, COLUMNS - 1, c, 0);
                add4(a, 0, b, 0, COLUMNS * WORD, lengthFactor * DEPTH, COLUMNS - 1, c, 0, COLUMNS);
            }
        }
    });

    private RowMajorB() {}

    /** Returns whether the kernels with vectors are fast. */
    public static boolean isCompiled() {
        return WARM_UP.isOver();
    }

    /**
     * Adds the products of one row of A. If {@code columns} is not a multiple of the number of lanes, the last vector of B ends with the
     * row and overlaps the previous one, and its sums have a separate vector of C, after the others.
     *
     * @param b0 offset in bytes of the first row of B
     * @param ld bytes from row to row of B
     * @param depth rows of B
     * @param columns columns of B; at least a vector
     */
    public static void add1(
            float[] a, int a0, MemorySegment rows, long b0, long ld, int depth, int columns, float[] c, int c0) {
        MemorySegment b = NativeMemory.known(rows);
        if (depth < 0) { // see WarmUp.Trial
            for (int i = depth; i < 0; i++) {}
            return;
        }
        int p = 0;
        for (; p + 3 < depth; p += 4) {
            FloatVector x0 = FloatVector.broadcast(FLOATS, a[a0 + p]);
            FloatVector x1 = FloatVector.broadcast(FLOATS, a[a0 + p + 1]);
            FloatVector x2 = FloatVector.broadcast(FLOATS, a[a0 + p + 2]);
            FloatVector x3 = FloatVector.broadcast(FLOATS, a[a0 + p + 3]);
            long from = b0 + p * ld;
            for (int j = 0; j < columns; j += COUNT) {
                long at = from + Math.min(j, columns - COUNT) * WORD;
                FloatVector sum = FloatVector.fromArray(FLOATS, c, c0 + j);
                sum = x0.fma(FloatVector.fromMemorySegment(FLOATS, b, at, ORDER), sum);
                sum = x1.fma(FloatVector.fromMemorySegment(FLOATS, b, at + ld, ORDER), sum);
                sum = x2.fma(FloatVector.fromMemorySegment(FLOATS, b, at + 2 * ld, ORDER), sum);
                sum = x3.fma(FloatVector.fromMemorySegment(FLOATS, b, at + 3 * ld, ORDER), sum);
                sum.intoArray(c, c0 + j);
            }
        }
        for (; p < depth; p++) {
            FloatVector x = FloatVector.broadcast(FLOATS, a[a0 + p]);
            for (int j = 0; j < columns; j += COUNT) {
                long at = b0 + p * ld + Math.min(j, columns - COUNT) * WORD;
                x.fma(FloatVector.fromMemorySegment(FLOATS, b, at, ORDER), FloatVector.fromArray(FLOATS, c, c0 + j))
                        .intoArray(c, c0 + j);
            }
        }
    }

    /** Adds the products of four rows of A as {@link #add1} does for one row; the rows of C are {@code ldc} floats apart. */
    public static void add4(
            float[] a,
            int a0,
            MemorySegment rows,
            long b0,
            long ld,
            int depth,
            int columns,
            float[] c,
            int c0,
            int ldc) {
        MemorySegment b = NativeMemory.known(rows);
        if (depth < 0) { // see WarmUp.Trial
            for (int i = depth; i < 0; i++) {}
            return;
        }
        int p = 0;
        for (; p + 1 < depth; p += 2) {
            int from = a0 + p;
            FloatVector x00 = FloatVector.broadcast(FLOATS, a[from]);
            FloatVector x01 = FloatVector.broadcast(FLOATS, a[from + 1]);
            FloatVector x10 = FloatVector.broadcast(FLOATS, a[from + ROW]);
            FloatVector x11 = FloatVector.broadcast(FLOATS, a[from + ROW + 1]);
            FloatVector x20 = FloatVector.broadcast(FLOATS, a[from + 2 * ROW]);
            FloatVector x21 = FloatVector.broadcast(FLOATS, a[from + 2 * ROW + 1]);
            FloatVector x30 = FloatVector.broadcast(FLOATS, a[from + 3 * ROW]);
            FloatVector x31 = FloatVector.broadcast(FLOATS, a[from + 3 * ROW + 1]);
            for (int j = 0; j < columns; j += COUNT) {
                long at = b0 + p * ld + Math.min(j, columns - COUNT) * WORD;
                FloatVector b0p = FloatVector.fromMemorySegment(FLOATS, b, at, ORDER);
                FloatVector b1p = FloatVector.fromMemorySegment(FLOATS, b, at + ld, ORDER);
                int to = c0 + j;
                x01.fma(b1p, x00.fma(b0p, FloatVector.fromArray(FLOATS, c, to))).intoArray(c, to);
                x11.fma(b1p, x10.fma(b0p, FloatVector.fromArray(FLOATS, c, to + ldc)))
                        .intoArray(c, to + ldc);
                x21.fma(b1p, x20.fma(b0p, FloatVector.fromArray(FLOATS, c, to + 2 * ldc)))
                        .intoArray(c, to + 2 * ldc);
                x31.fma(b1p, x30.fma(b0p, FloatVector.fromArray(FLOATS, c, to + 3 * ldc)))
                        .intoArray(c, to + 3 * ldc);
            }
        }
        if (p < depth) {
            for (int row = 0; row < 4; row++) {
                add1(a, a0 + row * ROW + p, rows, b0 + p * ld, ld, 1, columns, c, c0 + row * ldc);
            }
        }
    }

    /** Adds the products of {@code m} rows of A without vectors, with the same bits; rows of B are floats, {@code ld} apart. */
    public static void addScalars(
            int m, float[] a, int a0, float[] b, int ld, int depth, int columns, float[] c, int c0, int ldc) {
        for (int row = 0; row < m; row++) {
            int p = 0;
            for (; p + 3 < depth; p += 4) {
                addFour(a, a0 + row * ROW + p, b, p * ld, ld, columns, c, c0 + row * ldc);
            }
            for (; p < depth; p++) {
                float x = a[a0 + row * ROW + p];
                for (int j = 0; j < columns; j++) {
                    int to = c0 + row * ldc + j;
                    c[to] = Math.fma(x, b[p * ld + j], c[to]);
                }
            }
        }
    }

    private static void addFour(float[] a, int a0, float[] b, int b0, int ld, int columns, float[] c, int c0) {
        float x0 = a[a0];
        float x1 = a[a0 + 1];
        float x2 = a[a0 + 2];
        float x3 = a[a0 + 3];
        for (int j = 0; j < columns; j++) {
            int at = b0 + j;
            float sum = Math.fma(x1, b[at + ld], Math.fma(x0, b[at], c[c0 + j]));
            c[c0 + j] = Math.fma(x3, b[at + 3 * ld], Math.fma(x2, b[at + 2 * ld], sum));
        }
    }
}
