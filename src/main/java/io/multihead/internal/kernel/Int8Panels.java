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
 * Panels of int8 with four interleaved rows, as VNNI has them: {@code [k / 4][32 columns][k % 4]}. So one vector of bytes, taken
 * as words, becomes a vector of f32 for each of four rows, by two shifts and a conversion. The stored rows of a panel are a
 * multiple of four; those beyond its depth may hold anything, since they are multiplied by zeros.
 */
public final class Int8Panels {
    /** Rows that are interleaved. */
    public static final int ROWS = 4;

    static final VectorSpecies<Byte> BYTES = FLOATS.withLanes(byte.class);

    private Int8Panels() {}

    /** Widens {@code rows} rows to f32, without scales. */
    public static void widen(byte[] bytes, int from, int rows, float[] to, int at) {
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

    /** Stores {@code length} int8 values in one row, from row-major element index {@code at} on. */
    public static void narrow(float[] from, int start, int length, byte[] bytes, int at) {
        int row = at / PANEL;
        for (int i = 0; i < length; i++) {
            int column = at % PANEL + i;
            bytes[(row / ROWS * PANEL + column) * ROWS + row % ROWS] = (byte) from[start + i];
        }
    }
}
