package io.multihead.internal.kernel;

import static io.multihead.internal.kernel.Lanes.COUNT;
import static io.multihead.internal.kernel.Lanes.FLOATS;
import static io.multihead.internal.kernel.Lanes.PANEL;

import jdk.incubator.vector.ByteVector;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorSpecies;

/**
 * Panels of bytes, four rows beside each other: {@code [k / 4][32 columns][k % 4]}. So one vector of bytes, taken as words, becomes
 * a vector of f32 for each of four rows, by two shifts and a conversion. The rows of a panel are a multiple of four; those beyond
 * its depth may hold anything, since they are multiplied with zeros.
 */
public final class Quads {
    /** Rows beside each other. */
    public static final int ROWS = 4;

    static final VectorSpecies<Byte> BYTES = FLOATS.withLanes(byte.class);

    private Quads() {}

    /** Rows to f32. */
    static void widen(byte[] bytes, int from, int rows, float[] to, int at) {
        for (int quad = 0; quad < rows; quad += ROWS) {
            for (int lane = 0; lane < PANEL; lane += COUNT) {
                int start = from + quad * PANEL + lane * ROWS;
                IntVector words = ByteVector.fromArray(BYTES, bytes, start).reinterpretAsInts();
                for (int row = quad; row < Math.min(rows, quad + ROWS); row++) {
                    int up = 8 * (ROWS - 1 - row % ROWS);
                    IntVector wide = words.lanewise(VectorOperators.LSHL, up).lanewise(VectorOperators.ASHR, 24);
                    FloatVector floats = (FloatVector) wide.convertShape(VectorOperators.I2F, FLOATS, 0);
                    floats.intoArray(to, at + row * PANEL + lane);
                }
            }
        }
    }

    /** Writes {@code length} integers of a byte to a row from the column on that {@code at}, counted row by row, names. */
    static void narrow(float[] from, int start, int length, byte[] bytes, int at) {
        int row = at / PANEL;
        for (int i = 0; i < length; i++) {
            int column = at % PANEL + i;
            bytes[(row / ROWS * PANEL + column) * ROWS + row % ROWS] = (byte) from[start + i];
        }
    }
}
