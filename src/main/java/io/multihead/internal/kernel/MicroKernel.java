package io.multihead.internal.kernel;

import static io.multihead.internal.kernel.Lanes.COUNT;
import static io.multihead.internal.kernel.Lanes.FLOATS;
import static io.multihead.internal.kernel.Lanes.PANEL;
import static io.multihead.internal.kernel.Lanes.ROW;

import jdk.incubator.vector.FloatVector;

/**
 * The one multiplication: rows of A times panels of B, as outer products.
 *
 * <p>A lies row by row, {@link Lanes#ROW} floats apart; each element is broadcast. B lies in panels
 * {@code [panel][k][32]}. A tile keeps two vectors of C per row in registers for the whole depth, so every element of C is
 * one chain of fused multiply-adds in ascending {@code k}, whichever tile computes it: results do not depend on tile
 * shape, neighbours or lane width.
 *
 * <p>Both tiles are unrolled by hand because C2 keeps accumulators in registers only as named locals. They store and do no
 * more: with an addition to C at the end, C2 reaches its limit of nodes before it has inlined every vector operation,
 * boxes the rest and runs at 1/15 of the speed (measured, 12 rows).
 */
final class MicroKernel {
    private MicroKernel() {}

    /** C = A * B for eight rows of A and two vectors of one panel: 16 accumulators, for 32 registers. */
    static void tile8(float[] a, int a0, float[] b, int b0, int depth, float[] c, int c0, int ldc) {
        FloatVector zero = FloatVector.zero(FLOATS);
        FloatVector c00 = zero, c01 = zero;
        FloatVector c10 = zero, c11 = zero;
        FloatVector c20 = zero, c21 = zero;
        FloatVector c30 = zero, c31 = zero;
        FloatVector c40 = zero, c41 = zero;
        FloatVector c50 = zero, c51 = zero;
        FloatVector c60 = zero, c61 = zero;
        FloatVector c70 = zero, c71 = zero;
        for (int k = 0; k < depth; k++) {
            FloatVector b0k = FloatVector.fromArray(FLOATS, b, b0 + k * PANEL);
            FloatVector b1k = FloatVector.fromArray(FLOATS, b, b0 + COUNT + k * PANEL);
            FloatVector x0 = FloatVector.broadcast(FLOATS, a[a0 + k]);
            c00 = x0.fma(b0k, c00);
            c01 = x0.fma(b1k, c01);
            FloatVector x1 = FloatVector.broadcast(FLOATS, a[a0 + k + ROW]);
            c10 = x1.fma(b0k, c10);
            c11 = x1.fma(b1k, c11);
            FloatVector x2 = FloatVector.broadcast(FLOATS, a[a0 + k + 2 * ROW]);
            c20 = x2.fma(b0k, c20);
            c21 = x2.fma(b1k, c21);
            FloatVector x3 = FloatVector.broadcast(FLOATS, a[a0 + k + 3 * ROW]);
            c30 = x3.fma(b0k, c30);
            c31 = x3.fma(b1k, c31);
            FloatVector x4 = FloatVector.broadcast(FLOATS, a[a0 + k + 4 * ROW]);
            c40 = x4.fma(b0k, c40);
            c41 = x4.fma(b1k, c41);
            FloatVector x5 = FloatVector.broadcast(FLOATS, a[a0 + k + 5 * ROW]);
            c50 = x5.fma(b0k, c50);
            c51 = x5.fma(b1k, c51);
            FloatVector x6 = FloatVector.broadcast(FLOATS, a[a0 + k + 6 * ROW]);
            c60 = x6.fma(b0k, c60);
            c61 = x6.fma(b1k, c61);
            FloatVector x7 = FloatVector.broadcast(FLOATS, a[a0 + k + 7 * ROW]);
            c70 = x7.fma(b0k, c70);
            c71 = x7.fma(b1k, c71);
        }
        c00.intoArray(c, c0);
        c01.intoArray(c, c0 + COUNT);
        c10.intoArray(c, c0 + ldc);
        c11.intoArray(c, c0 + ldc + COUNT);
        c20.intoArray(c, c0 + 2 * ldc);
        c21.intoArray(c, c0 + 2 * ldc + COUNT);
        c30.intoArray(c, c0 + 3 * ldc);
        c31.intoArray(c, c0 + 3 * ldc + COUNT);
        c40.intoArray(c, c0 + 4 * ldc);
        c41.intoArray(c, c0 + 4 * ldc + COUNT);
        c50.intoArray(c, c0 + 5 * ldc);
        c51.intoArray(c, c0 + 5 * ldc + COUNT);
        c60.intoArray(c, c0 + 6 * ldc);
        c61.intoArray(c, c0 + 6 * ldc + COUNT);
        c70.intoArray(c, c0 + 7 * ldc);
        c71.intoArray(c, c0 + 7 * ldc + COUNT);
    }

    /** C = A * B for four rows of A and two vectors of one panel: 8 accumulators, for 16 registers. */
    static void tile4(float[] a, int a0, float[] b, int b0, int depth, float[] c, int c0, int ldc) {
        FloatVector zero = FloatVector.zero(FLOATS);
        FloatVector c00 = zero, c01 = zero;
        FloatVector c10 = zero, c11 = zero;
        FloatVector c20 = zero, c21 = zero;
        FloatVector c30 = zero, c31 = zero;
        for (int k = 0; k < depth; k++) {
            FloatVector b0k = FloatVector.fromArray(FLOATS, b, b0 + k * PANEL);
            FloatVector b1k = FloatVector.fromArray(FLOATS, b, b0 + COUNT + k * PANEL);
            FloatVector x0 = FloatVector.broadcast(FLOATS, a[a0 + k]);
            c00 = x0.fma(b0k, c00);
            c01 = x0.fma(b1k, c01);
            FloatVector x1 = FloatVector.broadcast(FLOATS, a[a0 + k + ROW]);
            c10 = x1.fma(b0k, c10);
            c11 = x1.fma(b1k, c11);
            FloatVector x2 = FloatVector.broadcast(FLOATS, a[a0 + k + 2 * ROW]);
            c20 = x2.fma(b0k, c20);
            c21 = x2.fma(b1k, c21);
            FloatVector x3 = FloatVector.broadcast(FLOATS, a[a0 + k + 3 * ROW]);
            c30 = x3.fma(b0k, c30);
            c31 = x3.fma(b1k, c31);
        }
        c00.intoArray(c, c0);
        c01.intoArray(c, c0 + COUNT);
        c10.intoArray(c, c0 + ldc);
        c11.intoArray(c, c0 + ldc + COUNT);
        c20.intoArray(c, c0 + 2 * ldc);
        c21.intoArray(c, c0 + 2 * ldc + COUNT);
        c30.intoArray(c, c0 + 3 * ldc);
        c31.intoArray(c, c0 + 3 * ldc + COUNT);
    }

    /**
     * C = A * B for one row of A and two vectors of one panel. Three instructions per cache line of B keep many lines in flight: a
     * single query is read at the speed of memory, where a tile of four rows waits for it.
     */
    static void tile1(float[] a, int a0, float[] b, int b0, int depth, float[] c, int c0) {
        FloatVector c0k = FloatVector.zero(FLOATS);
        FloatVector c1k = c0k;
        for (int k = 0; k < depth; k++) {
            FloatVector x = FloatVector.broadcast(FLOATS, a[a0 + k]);
            c0k = x.fma(FloatVector.fromArray(FLOATS, b, b0 + k * PANEL), c0k);
            c1k = x.fma(FloatVector.fromArray(FLOATS, b, b0 + COUNT + k * PANEL), c1k);
        }
        c0k.intoArray(c, c0);
        c1k.intoArray(c, c0 + COUNT);
    }

    /** C += T for a tile T of rows that are one panel apart. */
    static void add(float[] t, float[] c, int c0, int ldc, int rows) {
        for (int row = 0; row < rows; row++) {
            for (int lane = 0; lane < 2 * COUNT; lane += COUNT) {
                int at = c0 + row * ldc + lane;
                FloatVector tile = FloatVector.fromArray(FLOATS, t, row * PANEL + lane);
                FloatVector.fromArray(FLOATS, c, at).add(tile).intoArray(c, at);
            }
        }
    }

    /**
     * C += T as {@link #add}, with what rounding loses kept {@code lost} floats behind and added the next time (Kahan 1965).
     */
    static void addCompensated(float[] t, int t0, float[] c, int c0, int ldc, int lost, int rows) {
        for (int row = 0; row < rows; row++) {
            int at = c0 + row * ldc;
            FloatVector left = FloatVector.fromArray(FLOATS, c, at);
            FloatVector right = FloatVector.fromArray(FLOATS, c, at + COUNT);
            FloatVector leftTile =
                    FloatVector.fromArray(FLOATS, t, t0 + row * PANEL).add(FloatVector.fromArray(FLOATS, c, at + lost));
            FloatVector rightTile = FloatVector.fromArray(FLOATS, t, t0 + row * PANEL + COUNT)
                    .add(FloatVector.fromArray(FLOATS, c, at + lost + COUNT));
            FloatVector leftSum = left.add(leftTile);
            FloatVector rightSum = right.add(rightTile);
            leftTile.sub(leftSum.sub(left)).intoArray(c, at + lost);
            rightTile.sub(rightSum.sub(right)).intoArray(c, at + lost + COUNT);
            leftSum.intoArray(c, at);
            rightSum.intoArray(c, at + COUNT);
        }
    }
}
