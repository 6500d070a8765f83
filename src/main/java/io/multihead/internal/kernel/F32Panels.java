package io.multihead.internal.kernel;

import static io.multihead.internal.kernel.Lanes.COUNT;
import static io.multihead.internal.kernel.Lanes.FLOATS;
import static io.multihead.internal.kernel.Lanes.PANEL;
import static io.multihead.internal.kernel.Lanes.ROW;

import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorOperators;

/**
 * Packs rows of f32 into f32 panels, the right operand of {@link MicroKernel}: {@code [panel][k][32]}, padded with zeros to whole
 * panels.
 */
public final class F32Panels {
    private F32Panels() {}

    /** Returns the floats of {@code columns} columns of depth {@code depth}, in whole panels. */
    public static int size(int columns, int depth) {
        return Lanes.roundUp(columns, PANEL) * depth;
    }

    /**
     * Copies rows of B to rows of panels: {@code panels[j / 32][k][j % 32] = rows[k][j]}. The rows must be zero from
     * {@code columns} to the next whole panel.
     *
     * @param ld floats from row to row
     * @param p0 index of the first row in the first panel
     * @param depth rows of each panel, of which {@code count} are written
     * @return whether every element is finite
     */
    public static boolean fromRows(float[] rows, int ld, int count, int columns, float[] panels, int p0, int depth) {
        FloatVector finite = FloatVector.zero(FLOATS);
        FloatVector zero = FloatVector.zero(FLOATS);
        for (int column = 0; column < columns; column += PANEL) {
            int to = p0 + column * depth;
            for (int k = 0; k < count; k++) {
                for (int lane = 0; lane < PANEL; lane += COUNT) {
                    FloatVector v = FloatVector.fromArray(FLOATS, rows, k * ld + column + lane);
                    v.intoArray(panels, to + k * PANEL + lane);
                    finite = v.fma(zero, finite);
                }
            }
        }
        // infinity * 0 and NaN * 0 are NaN, and NaN stays in the sum
        return !finite.test(VectorOperators.IS_NAN).anyTrue();
    }

    /**
     * Transposes rows of B^T, {@link Lanes#ROW} floats apart, into columns of panels:
     * {@code panels[j / 32][k][j % 32] = rows[j][k]}. Columns from {@code columns} to the next whole panel become zero.
     */
    public static void fromColumns(float[] rows, int depth, int columns, float[] panels, int p0) {
        for (int column = 0; column < columns; column += PANEL) {
            int to = p0 + column * depth;
            for (int j = 0; j < PANEL; j++) {
                if (column + j < columns) {
                    int from = (column + j) * ROW;
                    for (int k = 0; k < depth; k++) {
                        panels[to + k * PANEL + j] = rows[from + k];
                    }
                } else {
                    for (int k = 0; k < depth; k++) {
                        panels[to + k * PANEL + j] = 0f;
                    }
                }
            }
        }
    }
}
