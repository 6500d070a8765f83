package io.multihead.internal.kernel;

import static io.multihead.internal.base.NativeMemory.ORDER;
import static io.multihead.internal.base.NativeMemory.WORD;
import static io.multihead.internal.kernel.Lanes.COUNT;
import static io.multihead.internal.kernel.Lanes.FLOATS;
import static io.multihead.internal.kernel.Lanes.PANEL;

import io.multihead.internal.base.NativeMemory;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
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

    /**
     * Widens {@code rows} rows to rows of f32 panels and multiplies each by its scale.
     *
     * @param from offset of the first row in bytes
     * @param scales of the rows, from {@code s0} on; empty for a scale of 1
     * @param at offset of the first f32 row in bytes
     */
    public static void widen(
            MemorySegment bytes, long from, int rows, float[] scales, int s0, MemorySegment to, long at) {
        MemorySegment source = NativeMemory.known(bytes);
        MemorySegment target = NativeMemory.known(to);
        for (int quad = 0; quad < rows; quad += ROWS) {
            for (int lane = 0; lane < PANEL; lane += COUNT) {
                long start = from + quad * PANEL + lane * ROWS;
                IntVector words = ByteVector.fromMemorySegment(BYTES, source, start, ORDER)
                        .reinterpretAsInts();
                for (int row = quad; row < Math.min(rows, quad + ROWS); row++) {
                    int up = 8 * (ROWS - 1 - row % ROWS);
                    IntVector wide = words.lanewise(VectorOperators.LSHL, up).lanewise(VectorOperators.ASHR, 24);
                    FloatVector floats = (FloatVector) wide.convertShape(VectorOperators.I2F, FLOATS, 0);
                    floats.mul(scales.length == 0 ? 1f : scales[s0 + row])
                            .intoMemorySegment(target, at + (row * PANEL + lane) * WORD, ORDER);
                }
            }
        }
    }

    /** Stores {@code length} int8 values in one row, from row-major element index {@code at} on. */
    public static void narrow(float[] from, int start, int length, MemorySegment bytes, int at) {
        MemorySegment memory = NativeMemory.known(bytes);
        int row = at / PANEL;
        for (int i = 0; i < length; i++) {
            int column = at % PANEL + i;
            int to = (row / ROWS * PANEL + column) * ROWS + row % ROWS;
            memory.set(ValueLayout.JAVA_BYTE, to, (byte) from[start + i]);
        }
    }
}
