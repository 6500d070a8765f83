package io.multihead.internal.gemm;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import io.multihead.internal.kernel.BitFields;
import io.multihead.internal.kernel.BlockScales;
import io.multihead.internal.kernel.BlockTiles;
import io.multihead.internal.kernel.Lanes;
import io.multihead.internal.kernel.MicroKernel;
import io.multihead.internal.kernel.NibbleTiles;
import io.multihead.internal.layout.BlockPanels;
import io.multihead.internal.layout.PanelFormat;
import io.multihead.support.Blocks;
import io.multihead.support.Floats;
import io.multihead.tensor.BlockType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.SplittableRandom;
import net.jqwik.api.EdgeCasesMode;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Tag;
import net.jqwik.api.constraints.IntRange;

/**
 * Until C2 has compiled the tiles, the blocks of a panel are multiplied without vectors. Results have the same bits as
 * results of all tiles.
 */
@Tag("lanes")
class PlainBlocksProperties {
    /** The rows of two overlapping full tiles, which share four rows. */
    private static final int ROWS = BlockTiles.ROWS + 2;

    private static final int PANEL = Lanes.PANEL;
    /** The rows of two overlapping tiles of rounded rows, which share one row. */
    private static final int ROUNDED_ROWS = 2 * NibbleTiles.TILE_ROWS - 1;

    /** The earlier contents of the results. */
    private static final float BEFORE = 7f;

    @Property(tries = 200, edgeCases = EdgeCasesMode.NONE)
    void plainLoopsHaveTheBitsOfTheTiles(
            @ForAll BlockType type, @ForAll @IntRange(min = 1, max = 16) int blocks, @ForAll long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        PanelFormat panelFormat = PanelFormat.valueOf(type.name());
        BlockPanels format = panelFormat.blocks();
        int depth = type.elements() * (type.elements() == 32 ? blocks : 1 + blocks % 2);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment panel = PackedMatrix.of(
                            panelFormat, Blocks.random(type, PANEL, depth, random), arena, PackedMatrix.Loop.SERIAL)
                    .segment();
            BitFields.Rows rows = new BitFields.Rows();
            rows.set(Floats.random(random, 2 * ROWS * Lanes.ROW, 10f, 1e-3f), new float[2 * ROWS * BitFields.SUMS]);
            boolean hasMins = format.scales().hasMins();
            format.fields().prepare(rows, 0, ROWS, depth, hasMins);

            int[] words = panel.toArray(ValueLayout.JAVA_INT);
            float[] scales = new float[BlockScales.FLOATS_OF_PANEL];
            float[] wide = new float[MicroKernel.MAX_DEPTH * PANEL];
            format.scales().widen(words, depth, scales);
            format.fields().widen(words, format.scaleWords(depth), depth, wide);
            float[] plain = before();
            for (int row = 0; row < ROWS; row++) {
                format.fields().multiplyPlain(rows, row, wide, scales, depth, plain, row * PANEL);
                if (hasMins) {
                    BitFields.addMinimaPlain(
                            rows, row, scales, depth / format.fields().chain(), plain, row * PANEL);
                }
            }

            float[] vectorScales = new float[BlockScales.FLOATS_OF_PANEL];
            format.scales().widen(panel, 0, depth, vectorScales);
            // the last row is working memory of the kernels
            int stored = BlockScales.FLOATS_OF_PANEL - PANEL;
            assertArrayEquals(Arrays.copyOf(vectorScales, stored), Arrays.copyOf(scales, stored));
            assertArrayEquals(few(format, rows, panel, scales, depth), plain);
            assertArrayEquals(full(format, rows, panel, scales, depth, wide, arena), plain);
        }
    }

    @Property(tries = 200, edgeCases = EdgeCasesMode.NONE)
    void plainLoopsOfRoundedRowsHaveTheBitsOfTheTiles(
            @ForAll boolean isSigned, @ForAll @IntRange(min = 1, max = 16) int blocks, @ForAll long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        int depth = 32 * blocks;
        float[] scales = Floats.random(random, BlockScales.FLOATS_OF_PANEL, 1f, 1e-3f);
        int[] words = random.ints((long) blocks * 4 * PANEL).toArray();
        NibbleTiles.Rows rows = new NibbleTiles.Rows();
        rows.set(new int[2 * ROWS * NibbleTiles.Rows.INTS], new float[2 * ROWS * BitFields.SUMS]);
        rows.prepare(Floats.random(random, 2 * ROWS * Lanes.ROW, 10f, 1e-3f), 0, ROUNDED_ROWS, depth, isSigned ? 8 : 0);
        float[] plain = before();
        float[] few = before();
        float[] many = before();
        for (int row = 0; row < ROUNDED_ROWS; row++) {
            NibbleTiles.multiplyPlain(rows, row, words, 0, scales, depth, plain, row * PANEL);
        }
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment panel = arena.allocate((long) words.length * Integer.BYTES, 64);
            MemorySegment.copy(words, 0, panel, ValueLayout.JAVA_INT, 0, words.length);
            for (int column = 0; column < PANEL; column = Lanes.nextTile(column, Lanes.HALF)) {
                NibbleTiles.tile2(rows, 0, panel, 0, scales, column, depth, few, column, PANEL);
                for (int row = 2; row < ROUNDED_ROWS; row++) {
                    NibbleTiles.tile1(rows, row, panel, 0, scales, column, depth, few, row * PANEL + column);
                }
            }
            MemorySegment wide = arena.allocate((long) depth * PANEL * Short.BYTES, 64);
            NibbleTiles.widen(panel, 0, depth, wide);
            for (int column = 0; column < PANEL; column = Lanes.nextTile(column, Lanes.COUNT)) {
                NibbleTiles.tiles4(ROUNDED_ROWS, rows, 0, wide, scales, column, depth, many, column, PANEL);
            }
        }
        assertArrayEquals(few, plain);
        assertArrayEquals(many, plain);
    }

    private static float[] before() {
        float[] before = new float[2 * ROWS * PANEL];
        Arrays.fill(before, BEFORE);
        return before;
    }

    /** Multiplies four rows by one tile, and each of the other rows separately. */
    private static float[] few(
            BlockPanels format, BitFields.Rows rows, MemorySegment panel, float[] scales, int depth) {
        float[] c = before();
        long b0 = (long) format.scaleWords(depth) * Integer.BYTES;
        for (int column = 0; column < PANEL; column = Lanes.nextTile(column, Lanes.HALF)) {
            format.fields().tile4(rows, 0, panel, b0, scales, column, depth, c, column, PANEL);
            for (int row = MicroKernel.MR_SMALL; row < ROWS; row++) {
                format.fields().tile1(rows, row, panel, b0, scales, column, depth, c, row * PANEL + column);
            }
            if (format.scales().hasMins()) {
                BitFields.addMins(
                        rows, 0, scales, column, depth / format.fields().chain(), c, column, PANEL, ROWS, Lanes.HALF);
            }
        }
        return c;
    }

    private static float[] full(
            BlockPanels format,
            BitFields.Rows rows,
            MemorySegment panel,
            float[] scales,
            int depth,
            float[] expectedFields,
            Arena arena) {
        float[] c = before();
        long b0 = (long) format.scaleWords(depth) * Integer.BYTES;
        MemorySegment wide = arena.allocate((long) depth * PANEL * Float.BYTES, 64);
        format.fields().widen(panel, b0, depth, wide);
        assertArrayEquals(Arrays.copyOf(expectedFields, depth * PANEL), wide.toArray(ValueLayout.JAVA_FLOAT));
        int chain = format.fields().chain();
        for (int column = 0; column < PANEL; column = Lanes.nextTile(column, Lanes.COUNT)) {
            BlockTiles.tiles6(ROWS, rows, wide, scales, column, chain, depth, c, column, PANEL);
            if (format.scales().hasMins()) {
                BitFields.addMins(rows, 0, scales, column, depth / chain, c, column, PANEL, ROWS, Lanes.COUNT);
            }
        }
        return c;
    }
}
