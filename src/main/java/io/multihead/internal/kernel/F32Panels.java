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
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorOperators;

/**
 * Packs rows of f32 into f32 panels, the right operand of {@link MicroKernel}: {@code [panel][k][32]}, padded with zeros to whole panels.
 */
public final class F32Panels {
    private static final WarmUp WARM_UP = new WarmUp(new WarmUp.Trial() {
        private static final int ROWS = 16;
        private final float[] rows = new float[2 * ROWS * PANEL];
        private final MemorySegment panels = Arena.ofAuto().allocate(rows.length * WORD);

        @Override
        public int operations() {
            return ROWS * 2 * PANEL / COUNT * 3;
        }

        @Override
        public void run(int lengthFactor, int calls) {
            for (int call = 0; call < calls; call++) {
                fromRowsVectors(rows, 0, 2 * PANEL, ROWS, lengthFactor * 2 * PANEL, panels, 0, ROWS);
            }
        }
    });

    private F32Panels() {}

    /** Returns the number of floats of {@code columns} columns of depth {@code depth}, in whole panels. */
    public static int size(int columns, int depth) {
        return Lanes.roundUp(columns, PANEL) * depth;
    }

    /**
     * Copies rows of B to rows of panels: {@code panels[j / 32][k][j % 32] = rows[k][j]}. The rows must contain zeros from {@code columns}
     * to the next whole panel.
     *
     * @param r0 index of the first row's first element
     * @param ld floats from row to row
     * @param p0 offset in bytes of the first row in the first panel
     * @param depth rows of each panel, of which {@code count} are written
     * @return whether every element is finite
     */
    public static boolean fromRows(
            float[] rows, int r0, int ld, int count, int columns, MemorySegment panels, long p0, int depth) {
        return WARM_UP.isOver()
                ? fromRowsVectors(rows, r0, ld, count, columns, panels, p0, depth)
                : fromRowsScalars(rows, r0, ld, count, columns, panels, p0, depth);
    }

    static boolean fromRowsScalars(
            float[] rows, int r0, int ld, int count, int columns, MemorySegment panels, long p0, int depth) {
        boolean isFinite = true;
        for (int column = 0; column < columns; column += PANEL) {
            long to = p0 + (long) column * depth * WORD;
            for (int k = 0; k < count; k++) {
                int from = r0 + k * ld + column;
                MemorySegment.copy(rows, from, panels, ValueLayout.JAVA_FLOAT, to + k * PANEL * WORD, PANEL);
                for (int i = from; i < from + PANEL; i++) {
                    isFinite &= Float.isFinite(rows[i]);
                }
            }
        }
        return isFinite;
    }

    static boolean fromRowsVectors(
            float[] rows, int r0, int ld, int count, int columns, MemorySegment panels, long p0, int depth) {
        MemorySegment memory = NativeMemory.known(panels);
        if (columns <= 0) { // see WarmUp.Trial
            for (int i = columns; i < 0; i += COUNT) {}
            return true;
        }
        FloatVector finite = FloatVector.zero(FLOATS);
        FloatVector zero = FloatVector.zero(FLOATS);
        for (int column = 0; column < columns; column += PANEL) {
            long to = p0 + (long) column * depth * WORD;
            for (int k = 0; k < count; k++) {
                for (int lane = 0; lane < PANEL; lane += COUNT) {
                    FloatVector v = FloatVector.fromArray(FLOATS, rows, r0 + k * ld + column + lane);
                    v.intoMemorySegment(memory, to + (k * PANEL + lane) * WORD, ORDER);
                    finite = v.fma(zero, finite);
                }
            }
        }
        // infinity * 0 and NaN * 0 are NaN, and NaN stays in the sum
        return !finite.test(VectorOperators.IS_NAN).anyTrue();
    }

    /**
     * Copies rows as {@link #fromRows} does, without vectors and without the check. Weights are packed when a program starts, and a vector
     * operation is a call that allocates until C2 has compiled it.
     *
     * @param buffer at least {@code 32 count} floats
     */
    public static void copyRows(
            float[] rows, int ld, int count, int columns, float[] buffer, MemorySegment panels, long p0, int depth) {
        for (int column = 0; column < columns; column += PANEL) {
            for (int k = 0; k < count; k++) {
                System.arraycopy(rows, k * ld + column, buffer, k * PANEL, PANEL);
            }
            MemorySegment.copy(
                    buffer, 0, panels, ValueLayout.JAVA_FLOAT, p0 + (long) column * depth * WORD, count * PANEL);
        }
    }

    /**
     * Transposes rows of B^T, {@link Lanes#ROW} floats apart, into columns of panels: {@code panels[j / 32][k][j % 32] = rows[j][k]}.
     * Columns from {@code columns} to the next whole panel become zero. Rows are transposed within a buffer, since access to an element of
     * a segment takes a hundred times as long until the code is compiled.
     *
     * @param r0 index of the first row's first element
     * @param buffer holds one panel: at least {@code 32 depth} floats
     * @param p0 offset in bytes of the first panel
     */
    public static void fromColumns(
            float[] rows, int r0, int depth, int columns, float[] buffer, MemorySegment panels, long p0) {
        for (int column = 0; column < columns; column += PANEL) {
            int wide = Math.min(PANEL, columns - column);
            if (wide < PANEL) {
                Arrays.fill(buffer, 0, depth * PANEL, 0f);
            }
            Transposition.of(rows, r0 + column * ROW, ROW, wide, depth, buffer, 0, PANEL);
            MemorySegment.copy(
                    buffer, 0, panels, ValueLayout.JAVA_FLOAT, p0 + (long) column * depth * WORD, depth * PANEL);
        }
    }

    /** Copies {@code length} floats to consecutive elements of panels. */
    public static void storeRow(float[] from, int f0, int length, MemorySegment panels, long at) {
        MemorySegment memory = NativeMemory.known(panels);
        int whole = length - length % COUNT;
        for (int i = 0; i < whole; i += COUNT) {
            FloatVector.fromArray(FLOATS, from, f0 + i).intoMemorySegment(memory, at + i * WORD, ORDER);
        }
        for (int i = whole; i < length; i++) {
            memory.set(ValueLayout.JAVA_FLOAT, at + i * WORD, from[f0 + i]);
        }
    }

    /**
     * Zeros one row of as many panels {@code [panel][k][32]} as {@code length} floats fill.
     *
     * @param p0 offset in bytes of the row in the first panel
     * @param stride bytes from panel to panel
     */
    public static void zeroPanels(int length, MemorySegment panels, long p0, long stride) {
        MemorySegment memory = NativeMemory.known(panels);
        FloatVector zero = FloatVector.zero(FLOATS);
        for (int i = 0; i < length; i += PANEL) {
            for (int lane = 0; lane < PANEL; lane += COUNT) {
                zero.intoMemorySegment(memory, p0 + i / PANEL * stride + lane * WORD, ORDER);
            }
        }
    }

    /** Copies {@code length} consecutive elements of panels, a multiple of 16, to an array. */
    public static void load(MemorySegment panels, long at, int length, float[] to, int t0) {
        MemorySegment memory = NativeMemory.known(panels);
        for (int i = 0; i < length; i += COUNT) {
            FloatVector.fromMemorySegment(FLOATS, memory, at + i * WORD, ORDER).intoArray(to, t0 + i);
        }
    }
}
