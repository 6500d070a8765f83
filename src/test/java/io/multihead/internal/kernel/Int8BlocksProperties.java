package io.multihead.internal.kernel;

import static io.multihead.internal.kernel.Lanes.HALF;
import static io.multihead.internal.kernel.Lanes.PANEL;
import static io.multihead.internal.kernel.Lanes.ROW;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.SplittableRandom;
import net.jqwik.api.EdgeCasesMode;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Tag;
import net.jqwik.api.constraints.IntRange;

/** Products with i8 panels whose columns have a scale for each block of rows have the same bits as plain loops, at every lane width. */
@Tag("lanes")
class Int8BlocksProperties {
    private static final int ROWS = 4;

    @Property(tries = 300, edgeCases = EdgeCasesMode.NONE)
    void aTileHasTheBitsOfPlainLoops(
            @ForAll @IntRange(min = 1, max = 256) int depth,
            @ForAll boolean positive,
            @ForAll @IntRange(min = 0, max = 2) int panel,
            @ForAll long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        int stored = Lanes.roundUp(depth, Int8Panels.ROWS);
        int blocks = Math.ceilDiv(depth, Int8Panels.BLOCK);
        float[] a = new float[ROWS * ROW];
        float[] scales = floats(blocks * Int8Panels.SCALES_APART, random, positive);
        byte[] bytes = new byte[stored * PANEL];
        random.nextBytes(bytes);
        for (int row = 0; row < ROWS; row++) {
            System.arraycopy(floats(depth, random, positive), 0, a, row * ROW, depth);
        }
        for (int i = 0; positive && i < bytes.length; i++) {
            bytes[i] &= Byte.MAX_VALUE;
        }
        float[] c = new float[ROWS * ROW];
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment panels = arena.allocate(bytes.length, 64);
            MemorySegment.copy(bytes, 0, panels, ValueLayout.JAVA_BYTE, 0, bytes.length);
            for (int column = 0; column < HALF; column += Lanes.COUNT) {
                int s0 = panel * PANEL + column;
                long b0 = (long) column * Int8Panels.ROWS;
                Int8Panels.tile4Blocks(a, 0, panels, b0, scales, s0, depth, c, column, ROW);
            }
        }
        for (int row = 0; row < ROWS; row++) {
            for (int j = 0; j < PANEL; j++) {
                float expected = plain(a, row * ROW, bytes, scales, panel * PANEL + j, j, depth);
                assertEquals(expected, c[row * ROW + j], "row " + row + ", column " + j);
            }
        }
    }

    private static float plain(float[] a, int a0, byte[] bytes, float[] scales, int s0, int column, int depth) {
        float sum = 0f;
        for (int first = 0; first < depth; first += Int8Panels.BLOCK) {
            float chain = 0f;
            for (int k = first; k < Math.min(depth, first + Int8Panels.BLOCK); k++) {
                int at = (k / Int8Panels.ROWS * PANEL + column) * Int8Panels.ROWS + k % Int8Panels.ROWS;
                chain = Math.fma(a[a0 + k], (float) bytes[at], chain);
            }
            sum = Math.fma(chain, scales[s0 + first / Int8Panels.BLOCK * Int8Panels.SCALES_APART], sum);
        }
        return sum;
    }

    @Property(tries = 100, edgeCases = EdgeCasesMode.NONE)
    void addedTilesHaveTheSameBitsWithVectorsAndWithout(
            @ForAll @IntRange(min = 1, max = 9) int rows, @ForAll boolean adjacent, @ForAll long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        int apart = adjacent ? Lanes.COUNT : HALF;
        float[] tile = floats(rows * PANEL, random, false);
        float[] scales = floats(2 * PANEL, random, false);
        float[] vectors = floats(rows * ROW, random, false);
        float[] scalars = vectors.clone();
        TileSums.addScaledVectors(tile, scales, 5, vectors, 3, ROW - 8, rows, apart);
        TileSums.addScaledScalars(tile, scales, 5, scalars, 3, ROW - 8, rows, apart);
        for (int i = 0; i < vectors.length; i++) {
            assertEquals(scalars[i], vectors[i], "element " + i);
        }
    }

    private static float[] floats(int count, SplittableRandom random, boolean positive) {
        float[] values = new float[count];
        for (int i = 0; i < count; i++) {
            float value = (float) random.nextGaussian();
            values[i] = positive ? Math.abs(value) : value;
        }
        return values;
    }
}
