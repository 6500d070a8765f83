package io.multihead.internal.gemm;

import static io.multihead.internal.kernel.Lanes.COUNT;
import static io.multihead.internal.kernel.Lanes.HALF;
import static io.multihead.internal.kernel.Lanes.PANEL;
import static io.multihead.internal.kernel.Lanes.ROW;

import io.multihead.internal.kernel.MicroKernel;
import io.multihead.internal.layout.PanelFormat;
import io.multihead.internal.layout.Scratch;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * The tiles of {@link MicroKernel} and {@link io.multihead.internal.kernel.HalfPanels} without vectors, with the same bits: every element
 * is the same sum of the same chains. Until C2 has compiled a tile of vectors, each operation on a vector is a call that allocates; this
 * class is ten times as fast and allocates nothing.
 */
final class ScalarTile {
    /** Columns that are summed at a time, in registers. */
    private static final int COLUMNS = 4;

    private final Scratch memory;
    private float[] buffer = {};
    private int[] words = {};

    /** Creates a tile, which allocates its buffers, of one panel, from {@code memory} at the first use. */
    ScalarTile(Scratch memory) {
        this.memory = memory;
    }

    /**
     * Reads the columns of B for the next products: {@code depth} rows from {@code b0} on, a vector and another one {@code vectorStride}
     * columns after it.
     *
     * @param format F32, BF16 or F16
     */
    void read(PanelFormat format, MemorySegment panels, long b0, int depth, int vectorStride) {
        buffer = memory.atLeast(buffer, MicroKernel.MAX_DEPTH * PANEL);
        if (format == PanelFormat.F32) {
            int length = depth == 0 ? 0 : (depth - 1) * PANEL + vectorStride + COUNT;
            MemorySegment.copy(panels, ValueLayout.JAVA_FLOAT, b0, buffer, 0, length);
        } else {
            int length = depth == 0 ? 0 : (depth - 1) * HALF + COUNT;
            words = memory.atLeast(words, MicroKernel.MAX_DEPTH * HALF);
            MemorySegment.copy(panels, ValueLayout.JAVA_INT, b0, words, 0, length);
            format.halves().widen(words, 0, depth, COUNT, buffer, 0);
        }
    }

    /**
     * Computes {@code C = A B} for {@code rows} rows of A and the columns of B that were read, as {@link MicroKernel#tiles6} does for six
     * rows.
     */
    void multiply(float[] a, int a0, int depth, int chain, int rows, float[] c, int c0, int ldc, int vectorStride) {
        int width = vectorStride + COUNT;
        for (int row = 0; row < rows; row++) {
            for (int column = 0; column < width; column = column + COLUMNS == COUNT ? vectorStride : column + COLUMNS) {
                multiply(a, a0 + row * ROW, buffer, column, depth, chain, c, c0 + row * ldc + column);
            }
        }
    }

    private static void multiply(float[] a, int a0, float[] b, int column, int depth, int chain, float[] c, int c0) {
        float s0 = 0f;
        float s1 = 0f;
        float s2 = 0f;
        float s3 = 0f;
        for (int first = 0; first < depth; first += chain) {
            int end = Math.min(depth, first + chain);
            float v0 = 0f;
            float v1 = 0f;
            float v2 = 0f;
            float v3 = 0f;
            for (int k = first; k < end; k++) {
                float x = a[a0 + k];
                int at = k * PANEL + column;
                v0 = Math.fma(x, b[at], v0);
                v1 = Math.fma(x, b[at + 1], v1);
                v2 = Math.fma(x, b[at + 2], v2);
                v3 = Math.fma(x, b[at + 3], v3);
            }
            s0 += v0;
            s1 += v1;
            s2 += v2;
            s3 += v3;
        }
        c[c0] = s0;
        c[c0 + 1] = s1;
        c[c0 + 2] = s2;
        c[c0 + 3] = s3;
    }
}
