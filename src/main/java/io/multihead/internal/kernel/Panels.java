package io.multihead.internal.kernel;

import static io.multihead.internal.kernel.Lanes.COUNT;
import static io.multihead.internal.kernel.Lanes.FLOATS;
import static io.multihead.internal.kernel.Lanes.PANEL;
import static io.multihead.internal.kernel.Lanes.ROW;

import jdk.incubator.vector.FloatVector;

/**
 * The right operand of {@link MicroKernel}: panels {@code [panel][k][32]}, padded with zeros to whole panels.
 *
 * <p>The source is packed rows, {@link Lanes#ROW} floats apart, as {@link Packer} leaves them.
 */
public final class Panels {
    private Panels() {}

    /** Floats that {@code columns} columns of depth {@code depth} take in panels. */
    public static int size(int columns, int depth) {
        return Lanes.roundUp(columns, PANEL) * depth;
    }

    /**
     * Rows of B become rows of panels: {@code panels[j / 32][k][j % 32] = rows[k][j]}. The rows must be zero from
     * {@code columns} to the next whole panel.
     *
     * @return whether every element is finite
     */
    public static boolean fromRows(float[] rows, int depth, int columns, float[] panels, int p0) {
        FloatVector finite = FloatVector.zero(FLOATS);
        FloatVector zero = FloatVector.zero(FLOATS);
        for (int column = 0; column < columns; column += PANEL) {
            int to = p0 + column * depth;
            for (int k = 0; k < depth; k++) {
                for (int lane = 0; lane < PANEL; lane += COUNT) {
                    FloatVector v = FloatVector.fromArray(FLOATS, rows, k * ROW + column + lane);
                    v.intoArray(panels, to + k * PANEL + lane);
                    finite = v.fma(zero, finite);
                }
            }
        }
        // infinity * 0 and NaN * 0 are NaN, and NaN stays in the sum
        return !finite.test(jdk.incubator.vector.VectorOperators.IS_NAN).anyTrue();
    }

    /**
     * Rows of the transposed B become columns of panels: {@code panels[j / 32][k][j % 32] = rows[j][k]}. Columns from
     * {@code columns} to the next whole panel become zero.
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
