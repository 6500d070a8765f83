package io.multihead.internal.kernel;

import static io.multihead.internal.base.NativeMemory.ORDER;
import static io.multihead.internal.base.NativeMemory.WORD;
import static io.multihead.internal.kernel.Fields.SUMS;
import static io.multihead.internal.kernel.Fields.WORDS;
import static io.multihead.internal.kernel.Lanes.COUNT;
import static io.multihead.internal.kernel.Lanes.FLOATS;
import static io.multihead.internal.kernel.Lanes.PANEL;
import static io.multihead.internal.kernel.Lanes.ROW;

import io.multihead.internal.base.NativeMemory;
import java.lang.foreign.MemorySegment;
import jdk.incubator.vector.FloatVector;

/** Tiles of many rows over fields that {@link Fields#widen} has widened, with the bits of the tiles of few rows. */
public final class BlockTiles {
    /** Rows of a tile. */
    public static final int ROWS = 6;

    /** Bytes from a tile's first vector to its second. */
    private static final long NEXT_BYTES = COUNT * WORD;

    private BlockTiles() {}

    /**
     * Multiplies {@code tiles} tiles of six prepared rows, one below the other, by two adjacent vectors of one panel.
     *
     * <p>Sums of chains are kept in C, which stays in L1: as locals that the loop over blocks hands to a store behind it, they were objects in
     * some JVMs, for good.
     *
     * @param rows prepared rows, from the first of the depth block on
     * @param scales a row of 32 for each chain
     * @param column the first vector's first column
     */
    public static void tiles6(
            int tiles,
            Fields.Rows rows,
            MemorySegment fields,
            float[] scales,
            int column,
            int chain,
            int depth,
            float[] c,
            int c0,
            int ldc) {
        MemorySegment b = NativeMemory.known(fields);
        float[] a = rows.a;
        float[] sums = rows.sums;
        for (int tile = 0; tile < tiles; tile++) {
            int first = rows.first + tile * ROWS;
            int s = first * SUMS;
            int to = c0 + tile * ROWS * ldc;
            clear(c, to, ldc);
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
                d0.fma(v00, FloatVector.fromArray(FLOATS, c, to)).intoArray(c, to);
                d1.fma(v01, FloatVector.fromArray(FLOATS, c, to + COUNT)).intoArray(c, to + COUNT);
                d0.fma(v10, FloatVector.fromArray(FLOATS, c, to + ldc)).intoArray(c, to + ldc);
                d1.fma(v11, FloatVector.fromArray(FLOATS, c, to + ldc + COUNT)).intoArray(c, to + ldc + COUNT);
                d0.fma(v20, FloatVector.fromArray(FLOATS, c, to + 2 * ldc)).intoArray(c, to + 2 * ldc);
                d1.fma(v21, FloatVector.fromArray(FLOATS, c, to + 2 * ldc + COUNT))
                        .intoArray(c, to + 2 * ldc + COUNT);
                d0.fma(v30, FloatVector.fromArray(FLOATS, c, to + 3 * ldc)).intoArray(c, to + 3 * ldc);
                d1.fma(v31, FloatVector.fromArray(FLOATS, c, to + 3 * ldc + COUNT))
                        .intoArray(c, to + 3 * ldc + COUNT);
                d0.fma(v40, FloatVector.fromArray(FLOATS, c, to + 4 * ldc)).intoArray(c, to + 4 * ldc);
                d1.fma(v41, FloatVector.fromArray(FLOATS, c, to + 4 * ldc + COUNT))
                        .intoArray(c, to + 4 * ldc + COUNT);
                d0.fma(v50, FloatVector.fromArray(FLOATS, c, to + 5 * ldc)).intoArray(c, to + 5 * ldc);
                d1.fma(v51, FloatVector.fromArray(FLOATS, c, to + 5 * ldc + COUNT))
                        .intoArray(c, to + 5 * ldc + COUNT);
            }
        }
    }

    private static void clear(float[] c, int c0, int ldc) {
        for (int row = 0; row < ROWS; row++) {
            FloatVector.zero(FLOATS).intoArray(c, c0 + row * ldc);
            FloatVector.zero(FLOATS).intoArray(c, c0 + row * ldc + COUNT);
        }
    }
}
