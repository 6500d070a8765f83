package io.multihead.internal.kernel;

import static io.multihead.internal.kernel.Lanes.COUNT;
import static io.multihead.internal.kernel.Lanes.FLOATS;
import static io.multihead.internal.kernel.Lanes.PANEL;
import static io.multihead.internal.kernel.Lanes.ROW;

import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorOperators;

/**
 * The right operand of {@link MicroKernel}: panels {@code [panel][k][32]}, padded with zeros to whole panels.
 *
 * <p>The source is packed rows as {@link Packer} leaves them.
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
     * @param ld floats from row to row
     * @param depth rows of the panels, of which these may be some; the first one's place in the first panel is {@code p0}
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
     * Rows of the transposed B, {@link Lanes#ROW} floats apart, become columns of panels:
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
