package io.multihead.internal.kernel;

import static io.multihead.internal.base.NativeMemory.ORDER;
import static io.multihead.internal.base.NativeMemory.WORD;
import static io.multihead.internal.kernel.Lanes.COUNT;
import static io.multihead.internal.kernel.Lanes.FLOATS;
import static io.multihead.internal.kernel.Lanes.HALF;
import static io.multihead.internal.kernel.Lanes.PANEL;
import static io.multihead.internal.kernel.Lanes.ROW;

import io.multihead.internal.base.NativeMemory;
import java.lang.foreign.MemorySegment;
import jdk.incubator.vector.FloatVector;

/**
 * The micro-kernel: rows of A times panels of B, as a sum of outer products. A is stored row by row, {@link Lanes#ROW} floats apart, and each
 * element is broadcast. B is stored as panels {@code [panel][k][32]} in native memory, aligned to cache lines; {@code b0} is the byte offset
 * of a tile's first vector. A tile keeps two vectors of C per row in registers, adjacent or half a panel apart. Each element of C is a sum of
 * chains of fused multiply-adds in ascending {@code k}, independently of the tile's shape, its neighbors and the lane width.
 *
 * <p>Callers must ensure that {@code depth} is at most {@link #MAX_DEPTH}, and that {@code vectorStride}, the columns from a tile's first
 * vector to its second, is {@link Lanes#COUNT} or {@link Lanes#HALF}. A tile always reads all its rows of A and stores all its rows of C,
 * so both must have room for whole tiles. Tiles without a parameter {@code chain} sum the whole {@code depth} in one chain.
 *
 * <p>The tiles are unrolled by hand because C2 keeps accumulators in registers only as named locals. Six rows take 12 accumulators, two
 * registers for B and up to three for A, of 32 registers; with 16 registers ({@link Lanes#FEW_REGISTERS}), tiles have five rows. {@code k}
 * counts from the start of a chain, not of the panel, which takes fewer additions for addresses: tiles of five and four rows are 2 to 5 % and
 * 4 to 12 % faster (Zen 3), and tiles of six rows 1 to 2 % in chains of 64 (Zen 4). A tile only stores its results. With an addition to C at
 * the end, C2 reaches its limit of nodes before it has inlined every vector operation, and boxes the rest: the tile runs at 1/15 of the speed
 * (12 rows).
 *
 * <p>The sums of chains are arguments of {@code add}, never receivers. C2 inlines a call only if it knows the receiver's class: the class of a
 * chain follows from the multiply-adds, but the class of a sum only from the addition itself, which leaves the type profile of the call within
 * {@code FloatVector.add}. If a JVM has no such profile when C2 compiles the tile, a virtual call remains, which allocates five vectors per
 * tile and is never recompiled (measured: 10 of 30 JVMs that call only {@link #tile1}, now none).
 */
public final class MicroKernel {
    /** Rows of A in a tile: as many as fit in registers. */
    public static final int MR = Lanes.FEW_REGISTERS ? 5 : 6;

    /** Rows of A in the tile for remainders, and for a few queries that share a head. */
    public static final int MR_SMALL = 4;

    /** The largest k of a tile. The distance of A's rows, {@link Lanes#ROW} floats, is larger. */
    public static final int MAX_DEPTH = 512;

    /** The largest number of multiply-adds in one chain; chains are shorter if their sums are compensated. Results depend on this number. */
    public static final int MAX_CHAIN = 256;

    /** Bytes of a row of a panel of f32. */
    private static final long ROW_BYTES = PANEL * WORD;

    /** Bytes from one vector of B to the next: the distance to the second vector of tiles of many rows. */
    static final long NEXT_BYTES = COUNT * WORD;

    /** Bytes of half a row of B, the distance to the second vector of tiles of one row. */
    private static final long HALF_BYTES = HALF * WORD;

    private MicroKernel() {}

    /**
     * Computes {@code C = A B} for {@code tiles} tiles, one below the other, of six rows of A and two adjacent vectors of one panel, summed in
     * chains of {@code chain} multiply-adds. A tile has 12 accumulators and as many sums.
     */
    public static void tiles6(
            int tiles,
            float[] a,
            int a0,
            MemorySegment panels,
            long b0,
            int depth,
            int chain,
            float[] c,
            int c0,
            int ldc) {
        MemorySegment b = NativeMemory.known(panels);
        if (tiles < 0) { // see WarmUp.Trial
            for (int i = tiles * depth; i < 0; i++) {}
            return;
        }
        FloatVector zero = FloatVector.zero(FLOATS);
        for (int tile = 0; tile < tiles; tile++) {
            int at = a0 + tile * 6 * ROW;
            int to = c0 + tile * 6 * ldc;
            FloatVector s00 = zero, s01 = zero;
            FloatVector s10 = zero, s11 = zero;
            FloatVector s20 = zero, s21 = zero;
            FloatVector s30 = zero, s31 = zero;
            FloatVector s40 = zero, s41 = zero;
            FloatVector s50 = zero, s51 = zero;
            for (int first = 0; first < depth; first += chain) {
                int length = Math.min(depth - first, chain);
                long from = b0 + first * ROW_BYTES;
                FloatVector c00 = zero, c01 = zero;
                FloatVector c10 = zero, c11 = zero;
                FloatVector c20 = zero, c21 = zero;
                FloatVector c30 = zero, c31 = zero;
                FloatVector c40 = zero, c41 = zero;
                FloatVector c50 = zero, c51 = zero;
                for (int k = 0; k < length; k++) {
                    FloatVector b0k = FloatVector.fromMemorySegment(FLOATS, b, from + k * ROW_BYTES, ORDER);
                    FloatVector b1k =
                            FloatVector.fromMemorySegment(FLOATS, b, from + NEXT_BYTES + k * ROW_BYTES, ORDER);
                    FloatVector x0 = FloatVector.broadcast(FLOATS, a[at + first + k]);
                    c00 = x0.fma(b0k, c00);
                    c01 = x0.fma(b1k, c01);
                    FloatVector x1 = FloatVector.broadcast(FLOATS, a[at + first + k + ROW]);
                    c10 = x1.fma(b0k, c10);
                    c11 = x1.fma(b1k, c11);
                    FloatVector x2 = FloatVector.broadcast(FLOATS, a[at + first + k + 2 * ROW]);
                    c20 = x2.fma(b0k, c20);
                    c21 = x2.fma(b1k, c21);
                    FloatVector x3 = FloatVector.broadcast(FLOATS, a[at + first + k + 3 * ROW]);
                    c30 = x3.fma(b0k, c30);
                    c31 = x3.fma(b1k, c31);
                    FloatVector x4 = FloatVector.broadcast(FLOATS, a[at + first + k + 4 * ROW]);
                    c40 = x4.fma(b0k, c40);
                    c41 = x4.fma(b1k, c41);
                    FloatVector x5 = FloatVector.broadcast(FLOATS, a[at + first + k + 5 * ROW]);
                    c50 = x5.fma(b0k, c50);
                    c51 = x5.fma(b1k, c51);
                }
                s00 = c00.add(s00);
                s01 = c01.add(s01);
                s10 = c10.add(s10);
                s11 = c11.add(s11);
                s20 = c20.add(s20);
                s21 = c21.add(s21);
                s30 = c30.add(s30);
                s31 = c31.add(s31);
                s40 = c40.add(s40);
                s41 = c41.add(s41);
                s50 = c50.add(s50);
                s51 = c51.add(s51);
            }
            s00.intoArray(c, to);
            s01.intoArray(c, to + COUNT);
            s10.intoArray(c, to + ldc);
            s11.intoArray(c, to + ldc + COUNT);
            s20.intoArray(c, to + 2 * ldc);
            s21.intoArray(c, to + 2 * ldc + COUNT);
            s30.intoArray(c, to + 3 * ldc);
            s31.intoArray(c, to + 3 * ldc + COUNT);
            s40.intoArray(c, to + 4 * ldc);
            s41.intoArray(c, to + 4 * ldc + COUNT);
            s50.intoArray(c, to + 5 * ldc);
            s51.intoArray(c, to + 5 * ldc + COUNT);
        }
    }

    /** Computes {@code C = A B} as {@link #tiles6} does, for tiles of five rows, with 10 accumulators and as many sums. */
    public static void tiles5(
            int tiles,
            float[] a,
            int a0,
            MemorySegment panels,
            long b0,
            int depth,
            int chain,
            float[] c,
            int c0,
            int ldc) {
        MemorySegment b = NativeMemory.known(panels);
        if (tiles < 0) { // see WarmUp.Trial
            for (int i = tiles * depth; i < 0; i++) {}
            return;
        }
        FloatVector zero = FloatVector.zero(FLOATS);
        for (int tile = 0; tile < tiles; tile++) {
            int at = a0 + tile * 5 * ROW;
            int to = c0 + tile * 5 * ldc;
            FloatVector s00 = zero, s01 = zero;
            FloatVector s10 = zero, s11 = zero;
            FloatVector s20 = zero, s21 = zero;
            FloatVector s30 = zero, s31 = zero;
            FloatVector s40 = zero, s41 = zero;
            for (int first = 0; first < depth; first += chain) {
                int length = Math.min(depth - first, chain);
                long from = b0 + first * ROW_BYTES;
                FloatVector c00 = zero, c01 = zero;
                FloatVector c10 = zero, c11 = zero;
                FloatVector c20 = zero, c21 = zero;
                FloatVector c30 = zero, c31 = zero;
                FloatVector c40 = zero, c41 = zero;
                for (int k = 0; k < length; k++) {
                    FloatVector b0k = FloatVector.fromMemorySegment(FLOATS, b, from + k * ROW_BYTES, ORDER);
                    FloatVector b1k =
                            FloatVector.fromMemorySegment(FLOATS, b, from + NEXT_BYTES + k * ROW_BYTES, ORDER);
                    FloatVector x0 = FloatVector.broadcast(FLOATS, a[at + first + k]);
                    c00 = x0.fma(b0k, c00);
                    c01 = x0.fma(b1k, c01);
                    FloatVector x1 = FloatVector.broadcast(FLOATS, a[at + first + k + ROW]);
                    c10 = x1.fma(b0k, c10);
                    c11 = x1.fma(b1k, c11);
                    FloatVector x2 = FloatVector.broadcast(FLOATS, a[at + first + k + 2 * ROW]);
                    c20 = x2.fma(b0k, c20);
                    c21 = x2.fma(b1k, c21);
                    FloatVector x3 = FloatVector.broadcast(FLOATS, a[at + first + k + 3 * ROW]);
                    c30 = x3.fma(b0k, c30);
                    c31 = x3.fma(b1k, c31);
                    FloatVector x4 = FloatVector.broadcast(FLOATS, a[at + first + k + 4 * ROW]);
                    c40 = x4.fma(b0k, c40);
                    c41 = x4.fma(b1k, c41);
                }
                s00 = c00.add(s00);
                s01 = c01.add(s01);
                s10 = c10.add(s10);
                s11 = c11.add(s11);
                s20 = c20.add(s20);
                s21 = c21.add(s21);
                s30 = c30.add(s30);
                s31 = c31.add(s31);
                s40 = c40.add(s40);
                s41 = c41.add(s41);
            }
            s00.intoArray(c, to);
            s01.intoArray(c, to + COUNT);
            s10.intoArray(c, to + ldc);
            s11.intoArray(c, to + ldc + COUNT);
            s20.intoArray(c, to + 2 * ldc);
            s21.intoArray(c, to + 2 * ldc + COUNT);
            s30.intoArray(c, to + 3 * ldc);
            s31.intoArray(c, to + 3 * ldc + COUNT);
            s40.intoArray(c, to + 4 * ldc);
            s41.intoArray(c, to + 4 * ldc + COUNT);
        }
    }

    /**
     * Computes {@code C = A B} for one tile of four rows, whose vectors are {@code vectorStride} columns apart, with 8 accumulators and as
     * many sums.
     */
    public static void tile4(
            float[] a,
            int a0,
            MemorySegment panels,
            long b0,
            int depth,
            int chain,
            float[] c,
            int c0,
            int ldc,
            int vectorStride) {
        MemorySegment b = NativeMemory.known(panels);
        int second = Lanes.second(vectorStride);
        if (depth < 0) { // see WarmUp.Trial
            for (int i = depth; i < 0; i++) {}
            return;
        }
        long next = second * WORD;
        FloatVector zero = FloatVector.zero(FLOATS);
        FloatVector s00 = zero, s01 = zero;
        FloatVector s10 = zero, s11 = zero;
        FloatVector s20 = zero, s21 = zero;
        FloatVector s30 = zero, s31 = zero;
        for (int first = 0; first < depth; first += chain) {
            int length = Math.min(depth - first, chain);
            long from = b0 + first * ROW_BYTES;
            FloatVector c00 = zero, c01 = zero;
            FloatVector c10 = zero, c11 = zero;
            FloatVector c20 = zero, c21 = zero;
            FloatVector c30 = zero, c31 = zero;
            for (int k = 0; k < length; k++) {
                FloatVector b0k = FloatVector.fromMemorySegment(FLOATS, b, from + k * ROW_BYTES, ORDER);
                FloatVector b1k = FloatVector.fromMemorySegment(FLOATS, b, from + next + k * ROW_BYTES, ORDER);
                FloatVector x0 = FloatVector.broadcast(FLOATS, a[a0 + first + k]);
                c00 = x0.fma(b0k, c00);
                c01 = x0.fma(b1k, c01);
                FloatVector x1 = FloatVector.broadcast(FLOATS, a[a0 + first + k + ROW]);
                c10 = x1.fma(b0k, c10);
                c11 = x1.fma(b1k, c11);
                FloatVector x2 = FloatVector.broadcast(FLOATS, a[a0 + first + k + 2 * ROW]);
                c20 = x2.fma(b0k, c20);
                c21 = x2.fma(b1k, c21);
                FloatVector x3 = FloatVector.broadcast(FLOATS, a[a0 + first + k + 3 * ROW]);
                c30 = x3.fma(b0k, c30);
                c31 = x3.fma(b1k, c31);
            }
            s00 = c00.add(s00);
            s01 = c01.add(s01);
            s10 = c10.add(s10);
            s11 = c11.add(s11);
            s20 = c20.add(s20);
            s21 = c21.add(s21);
            s30 = c30.add(s30);
            s31 = c31.add(s31);
        }
        s00.intoArray(c, c0);
        s01.intoArray(c, c0 + second);
        s10.intoArray(c, c0 + ldc);
        s11.intoArray(c, c0 + ldc + second);
        s20.intoArray(c, c0 + 2 * ldc);
        s21.intoArray(c, c0 + 2 * ldc + second);
        s30.intoArray(c, c0 + 3 * ldc);
        s31.intoArray(c, c0 + 3 * ldc + second);
    }

    /**
     * Computes C = A * B for one row and two vectors half a panel apart, summed in chains of {@code chain} multiply-adds. One row is
     * bandwidth-bound: three instructions per cache line of B keep many loads in flight, while a tile of four rows is bound by their
     * latency.
     */
    public static void tile1(
            float[] a, int a0, MemorySegment panels, long b0, int depth, int chain, float[] c, int c0) {
        MemorySegment b = NativeMemory.known(panels);
        if (depth < 0) { // see WarmUp.Trial
            for (int i = depth; i < 0; i++) {}
            return;
        }
        int step = unknownOne(depth);
        FloatVector zero = FloatVector.zero(FLOATS);
        FloatVector s0 = zero, s1 = zero;
        for (int first = 0; first < depth; first += chain) {
            int end = Math.min(depth, first + chain);
            FloatVector v0 = zero, v1 = zero;
            for (int k = first; k < end; k += step) {
                FloatVector x = FloatVector.broadcast(FLOATS, a[a0 + k]);
                v0 = x.fma(FloatVector.fromMemorySegment(FLOATS, b, b0 + k * ROW_BYTES, ORDER), v0);
                v1 = x.fma(FloatVector.fromMemorySegment(FLOATS, b, b0 + HALF_BYTES + k * ROW_BYTES, ORDER), v1);
            }
            s0 = v0.add(s0);
            s1 = v1.add(s1);
        }
        s0.intoArray(c, c0);
        s1.intoArray(c, c0 + HALF);
    }

    /**
     * Computes C = A * B in one chain for one row and two panels {@code next} bytes apart, with two vectors of each, half a panel apart. The
     * results of the second panel are stored {@link Lanes#PANEL} floats after the results of the first. The bits are the same as with
     * {@link #tiles6} only for {@code depth <= chain}.
     */
    public static void tilePair(
            float[] a, int a0, MemorySegment panels, long b0, long next, int depth, float[] c, int c0) {
        MemorySegment b = NativeMemory.known(panels);
        if (depth <= 0) { // see WarmUp.Trial
            for (int i = depth; i < 0; i++) {}
            return;
        }
        FloatVector zero = FloatVector.zero(FLOATS);
        FloatVector v0 = zero, v1 = zero, v2 = zero, v3 = zero;
        for (int k = 0; k < depth; k++) {
            FloatVector x = FloatVector.broadcast(FLOATS, a[a0 + k]);
            v0 = x.fma(FloatVector.fromMemorySegment(FLOATS, b, b0 + k * ROW_BYTES, ORDER), v0);
            v1 = x.fma(FloatVector.fromMemorySegment(FLOATS, b, b0 + HALF_BYTES + k * ROW_BYTES, ORDER), v1);
            v2 = x.fma(FloatVector.fromMemorySegment(FLOATS, b, b0 + next + k * ROW_BYTES, ORDER), v2);
            v3 = x.fma(FloatVector.fromMemorySegment(FLOATS, b, b0 + next + HALF_BYTES + k * ROW_BYTES, ORDER), v3);
        }
        // adding zero converts -0 to +0, as in the other tiles, which add their chain to zero
        v0.add(zero).intoArray(c, c0);
        v1.add(zero).intoArray(c, c0 + HALF);
        v2.add(zero).intoArray(c, c0 + PANEL);
        v3.add(zero).intoArray(c, c0 + PANEL + HALF);
    }

    /**
     * Returns 1 for any k from 1 on, in a form that C2 cannot determine, so that it does not unroll loops with this step. Bandwidth-bound
     * tiles are faster, probably because a prefetcher follows the stride of an instruction. With one token, 32 heads of 128 and 4096 keys,
     * bf16 takes 2.8 instead of 5.5 ms, and f32 5.4 instead of 6.9 ms (Zen 4).
     */
    static int unknownOne(int k) {
        return Math.min(1, k);
    }
}
