package io.multihead.internal.kernel;

import static io.multihead.internal.base.NativeMemory.ORDER;
import static io.multihead.internal.base.NativeMemory.WORD;
import static io.multihead.internal.kernel.BitFields.SUMS;
import static io.multihead.internal.kernel.BitFields.WORDS;
import static io.multihead.internal.kernel.Lanes.COUNT;
import static io.multihead.internal.kernel.Lanes.FLOATS;
import static io.multihead.internal.kernel.Lanes.PANEL;
import static io.multihead.internal.kernel.Lanes.ROW;
import static io.multihead.internal.kernel.MicroKernel.NEXT_BYTES;

import io.multihead.internal.base.NativeMemory;
import java.lang.foreign.MemorySegment;
import jdk.incubator.vector.FloatVector;

/** Tiles of many rows over fields that {@link BitFields#widen} has widened. They give the same bits as the tiles of few rows. */
public final class BlockTiles {
    /** Rows of a tile. */
    public static final int ROWS = 6;

    private BlockTiles() {}

    /**
     * Multiplies {@code count} prepared rows, six or more, by two adjacent vectors of one panel, in tiles of six rows. The last tile ends
     * at the last row, so rows that it shares with the previous tile are computed twice, with the same bits.
     *
     * <p>Sums of chains are locals: storing them in C took 10 % more time. They are arguments of the last multiply-adds, and the chains are
     * receivers, as in {@link MicroKernel}; with the scales as receivers they were boxed permanently in some JVMs.
     *
     * @param rows prepared rows, from the first row of the depth block on
     * @param scales a row of 32 for each chain
     * @param column the first vector's first column
     */
    public static void tiles6(
            int count,
            BitFields.Rows rows,
            MemorySegment fields,
            float[] scales,
            int column,
            int chain,
            int depth,
            float[] c,
            int c0,
            int ldc) {
        MemorySegment b = NativeMemory.known(fields);
        if (count < 0) { // see WarmUp.Trial
            for (int i = count; i < 0; i++) {}
            return;
        }
        float[] a = rows.a;
        float[] sums = rows.sums;
        FloatVector zero = FloatVector.zero(FLOATS);
        for (int begin = 0; begin < count; begin += ROWS) {
            int row = Math.min(begin, count - ROWS);
            int first = rows.first + row;
            int s = first * SUMS;
            int to = c0 + row * ldc;
            FloatVector c00 = zero, c01 = zero;
            FloatVector c10 = zero, c11 = zero;
            FloatVector c20 = zero, c21 = zero;
            FloatVector c30 = zero, c31 = zero;
            FloatVector c40 = zero, c41 = zero;
            FloatVector c50 = zero, c51 = zero;
            for (int block = 0; block < depth / chain; block++) {
                long from = column * WORD + block * chain * WORDS;
                int at = first * ROW + block * chain;
                FloatVector v00 = FloatVector.broadcast(FLOATS, sums[s + block]), v01 = v00;
                FloatVector v10 = FloatVector.broadcast(FLOATS, sums[s + block + SUMS]), v11 = v10;
                FloatVector v20 = FloatVector.broadcast(FLOATS, sums[s + block + 2 * SUMS]), v21 = v20;
                FloatVector v30 = FloatVector.broadcast(FLOATS, sums[s + block + 3 * SUMS]), v31 = v30;
                FloatVector v40 = FloatVector.broadcast(FLOATS, sums[s + block + 4 * SUMS]), v41 = v40;
                FloatVector v50 = FloatVector.broadcast(FLOATS, sums[s + block + 5 * SUMS]), v51 = v50;
                for (int k = 0; k < chain; k++) {
                    FloatVector b0k = FloatVector.fromMemorySegment(FLOATS, b, from + k * WORDS, ORDER);
                    FloatVector b1k = FloatVector.fromMemorySegment(FLOATS, b, from + NEXT_BYTES + k * WORDS, ORDER);
                    FloatVector x0 = FloatVector.broadcast(FLOATS, a[at + k]);
                    v00 = x0.fma(b0k, v00);
                    v01 = x0.fma(b1k, v01);
                    FloatVector x1 = FloatVector.broadcast(FLOATS, a[at + k + ROW]);
                    v10 = x1.fma(b0k, v10);
                    v11 = x1.fma(b1k, v11);
                    FloatVector x2 = FloatVector.broadcast(FLOATS, a[at + k + 2 * ROW]);
                    v20 = x2.fma(b0k, v20);
                    v21 = x2.fma(b1k, v21);
                    FloatVector x3 = FloatVector.broadcast(FLOATS, a[at + k + 3 * ROW]);
                    v30 = x3.fma(b0k, v30);
                    v31 = x3.fma(b1k, v31);
                    FloatVector x4 = FloatVector.broadcast(FLOATS, a[at + k + 4 * ROW]);
                    v40 = x4.fma(b0k, v40);
                    v41 = x4.fma(b1k, v41);
                    FloatVector x5 = FloatVector.broadcast(FLOATS, a[at + k + 5 * ROW]);
                    v50 = x5.fma(b0k, v50);
                    v51 = x5.fma(b1k, v51);
                }
                FloatVector d0 = FloatVector.fromArray(FLOATS, scales, column + block * PANEL);
                FloatVector d1 = FloatVector.fromArray(FLOATS, scales, column + COUNT + block * PANEL);
                c00 = v00.fma(d0, c00);
                c01 = v01.fma(d1, c01);
                c10 = v10.fma(d0, c10);
                c11 = v11.fma(d1, c11);
                c20 = v20.fma(d0, c20);
                c21 = v21.fma(d1, c21);
                c30 = v30.fma(d0, c30);
                c31 = v31.fma(d1, c31);
                c40 = v40.fma(d0, c40);
                c41 = v41.fma(d1, c41);
                c50 = v50.fma(d0, c50);
                c51 = v51.fma(d1, c51);
            }
            c00.intoArray(c, to);
            c01.intoArray(c, to + COUNT);
            c10.intoArray(c, to + ldc);
            c11.intoArray(c, to + ldc + COUNT);
            c20.intoArray(c, to + 2 * ldc);
            c21.intoArray(c, to + 2 * ldc + COUNT);
            c30.intoArray(c, to + 3 * ldc);
            c31.intoArray(c, to + 3 * ldc + COUNT);
            c40.intoArray(c, to + 4 * ldc);
            c41.intoArray(c, to + 4 * ldc + COUNT);
            c50.intoArray(c, to + 5 * ldc);
            c51.intoArray(c, to + 5 * ldc + COUNT);
        }
    }
}
