package io.multihead.internal.gemm;

import static io.multihead.support.Floats.bits;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import io.multihead.internal.kernel.Lanes;
import io.multihead.internal.kernel.MicroKernel;
import io.multihead.internal.layout.PanelFormat;
import io.multihead.internal.layout.Scratch;
import io.multihead.support.Floats;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.SplittableRandom;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;

/** A tile and the floats around it have the same bits with and without vectors. */
class ScalarTileProperties {
    private static final int LDC = 2 * Lanes.PANEL;
    private static final int[] ROWS = {6, 18, 5, 15, MicroKernel.MR_SMALL, 1};
    private static final int[] CHAINS = {1, 7, 64, MicroKernel.MAX_CHAIN};

    @Property(tries = 300)
    void bitsAreThoseOfVectors(
            @ForAll @IntRange(max = MicroKernel.MAX_DEPTH) int depth,
            @ForAll @IntRange(max = 3) int chain,
            @ForAll @IntRange(max = 5) int shape,
            @ForAll boolean adjacent,
            @ForAll long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        int rows = ROWS[shape];
        float[] a = numbers(random, rows * Lanes.ROW + 3);
        float[] scalar = numbers(random, rows * LDC + 5);
        float[] vector = scalar.clone();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment panels = arena.allocate((long) Math.max(1, depth) * Lanes.PANEL * Float.BYTES, 64);
            MemorySegment.copy(
                    numbers(random, depth * Lanes.PANEL), 0, panels, ValueLayout.JAVA_FLOAT, 0, depth * Lanes.PANEL);
            boolean halves = rows == 1 || rows == MicroKernel.MR_SMALL && !adjacent;
            int apart = halves ? Lanes.HALF : Lanes.COUNT;
            for (int column = 0; column < Lanes.PANEL; column = Lanes.nextTile(column, apart)) {
                long b0 = (long) column * Float.BYTES;
                int step = CHAINS[chain];
                ScalarTile tile = new ScalarTile(new Scratch());
                tile.read(PanelFormat.F32, panels, b0, depth, apart);
                tile.multiply(a, 3, depth, step, rows, scalar, 5 + column, LDC, apart);
                switch (rows) {
                    case MicroKernel.MR_SMALL ->
                        MicroKernel.tile4(a, 3, panels, b0, depth, step, vector, 5 + column, LDC, apart);
                    case 1 -> MicroKernel.tile1(a, 3, panels, b0, depth, step, vector, 5 + column);
                    case 5, 15 -> MicroKernel.tiles5(rows / 5, a, 3, panels, b0, depth, step, vector, 5 + column, LDC);
                    default -> MicroKernel.tiles6(rows / 6, a, 3, panels, b0, depth, step, vector, 5 + column, LDC);
                }
            }
        }
        assertArrayEquals(bits(vector), bits(scalar));
    }

    /** The panels of 16 bits hold random finite elements. */
    @Property(tries = 200)
    void halvesHaveTheBitsOfTheirTiles(
            @ForAll @IntRange(min = 0, max = 100) int depth,
            @ForAll boolean isBf16,
            @ForAll boolean oneRow,
            @ForAll @IntRange(min = 0, max = 2) int chain,
            @ForAll long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        PanelFormat format = isBf16 ? PanelFormat.BF16 : PanelFormat.F16;
        int rows = oneRow ? 1 : MicroKernel.MR_SMALL;
        float[] a = numbers(random, rows * Lanes.ROW + 3);
        float[] scalar = numbers(random, rows * LDC + 5);
        float[] vector = scalar.clone();
        int step = CHAINS[chain];
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment panels = arena.allocate((long) Math.max(1, depth) * Lanes.HALF * Integer.BYTES, 64);
            float[] elements = Floats.random(random, depth * Lanes.PANEL, 60000f, 1e-8f);
            format.halves().narrow(elements, 0, elements.length, panels, 0);
            for (int column = 0; column < Lanes.PANEL; column = Lanes.nextTile(column, Lanes.HALF)) {
                long b0 = (long) column * Integer.BYTES;
                ScalarTile tile = new ScalarTile(new Scratch());
                tile.read(format, panels, b0, depth, Lanes.HALF);
                tile.multiply(a, 3, depth, step, rows, scalar, 5 + column, LDC, Lanes.HALF);
                if (oneRow) {
                    format.halves().tile1(a, 3, panels, b0, depth, step, vector, 5 + column);
                } else {
                    format.halves().tile4(a, 3, panels, b0, depth, step, vector, 5 + column, LDC);
                }
            }
        }
        assertArrayEquals(bits(vector), bits(scalar));
    }

    private static float[] numbers(SplittableRandom random, int length) {
        return Floats.random(random, length, Float.POSITIVE_INFINITY, Float.MIN_VALUE);
    }
}
