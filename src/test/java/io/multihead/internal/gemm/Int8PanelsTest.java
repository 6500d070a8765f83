package io.multihead.internal.gemm;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.internal.kernel.F32Panels;
import io.multihead.internal.kernel.Lanes;
import io.multihead.internal.layout.PanelFormat;
import io.multihead.internal.layout.PanelMemory;
import io.multihead.internal.layout.Panels;
import io.multihead.internal.layout.Scratch;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Panels of int8 with four interleaved rows. */
@Tag("lanes")
class Int8PanelsTest {
    @Test
    void writingKeepsTheNeighbors() {
        PanelMemory memory = PanelMemory.allocate(Arena.ofAuto(), PanelFormat.INT8, 8 * Lanes.PANEL);
        float[] expected = new float[8 * Lanes.PANEL];
        Random random = new Random(1);
        for (int i = 0; i < 300; i++) {
            int column = random.nextInt(Lanes.PANEL);
            int at = random.nextInt(8) * Lanes.PANEL + column;
            float[] row = new float[1 + random.nextInt(Lanes.PANEL - column)];
            for (int j = 0; j < row.length; j++) {
                row[j] = expected[at + j] = random.nextInt(256) - 128;
            }
            memory.storeRow(row, 0, row.length, at);
        }
        for (int rows = 1; rows <= 8; rows++) {
            float[] actual = new float[rows * Lanes.PANEL];
            PanelMemory panels = PanelMemory.allocate(Arena.ofAuto(), PanelFormat.F32, actual.length);
            memory.widen(0, rows, Panels.UNSCALED, 0, panels, 0);
            F32Panels.load(panels.segment(), 0, actual.length, actual, 0);
            assertArrayEquals(Arrays.copyOf(expected, actual.length), actual);
        }
    }

    /**
     * Each element widens to a finite number. Otherwise a hidden value would turn its row into NaN, as 0 times infinity
     * is NaN.
     */
    @Test
    void largestElementsStayFinite() {
        for (float x = Float.MAX_VALUE; x > 0x1.fffp127f; x = Math.nextDown(x)) {
            float[] row = {x, -x, x / 3, 0f};
            float scale = PanelFormat.quantize(row, 0, row.length);
            assertEquals(127f, row[0]);
            assertEquals(-127f, row[1]);
            assertTrue(scale * row[0] <= Float.MAX_VALUE, () -> "scale " + scale);
        }
        assertTrue(Float.isNaN(PanelFormat.quantize(new float[] {Float.POSITIVE_INFINITY}, 0, 1)));
        assertTrue(Float.isNaN(PanelFormat.quantize(new float[] {1f, Float.NaN}, 0, 2)));
    }

    /** A few rows that widen int8 in registers have the same bits as rows whose panels are widened and scaled first, for any depth. */
    @Test
    void sumsAreThoseOfWidenedPanels() {
        int wide = 96;
        Random random = new Random(2);
        float[] left = new float[16 * Lanes.ROW];
        PanelMemory bytes = PanelMemory.allocate(Arena.ofAuto(), PanelFormat.INT8, Blocking.KC * wide);
        float[] scales = new float[Blocking.KC];
        fill(bytes, random);
        for (int i = 0; i < scales.length; i++) {
            scales[i] = random.nextFloat();
        }
        for (int depth : new int[] {1, 4, 63, 64, 65, 130, 255, 256}) {
            for (int row = 0; row < 16; row++) {
                for (int k = 0; k < Lanes.ROW; k++) {
                    left[row * Lanes.ROW + k] = k < depth ? (float) random.nextGaussian() : 0f;
                }
            }
            SegmentedPanels narrow = new SegmentedPanels();
            SegmentedPanels widened = new SegmentedPanels();
            for (int run = 0; run * Blocking.CHAIN < depth; run++) {
                int at = run * Blocking.CHAIN * wide;
                narrow.set(run, bytes, at).scale(scales, run * Blocking.CHAIN);
                PanelMemory floats = PanelMemory.allocate(Arena.ofAuto(), PanelFormat.F32, Blocking.CHAIN * wide);
                for (int panel = 0; panel < wide / Lanes.PANEL; panel++) {
                    narrow.get(run).widen(panel, Blocking.CHAIN, floats, panel * Blocking.CHAIN * Lanes.PANEL);
                }
                widened.set(run, floats, 0);
            }
            for (int rows = 1; rows <= Blocking.FEW_ROWS; rows++) {
                assertArrayEquals(
                        sums(left, widened, rows, depth), sums(left, narrow, rows, depth), rows + " " + depth);
            }
        }
    }

    private static float[] sums(float[] left, SegmentedPanels right, int rows, int depth) {
        float[] sums = new float[8 * 2 * 96];
        new MacroKernel(new Scratch())
                .left(left, 0)
                .right(right)
                .into(sums, 0, 2 * 96)
                .addCompensated(rows, 80, depth, Blocking.CHAIN, 96);
        return Arrays.copyOf(sums, rows * 2 * 96);
    }

    /** MacroKernels with panels of a depth that is not a multiple of four. */
    @Test
    void productsAreThoseOfWidenedPanels() {
        Random random = new Random(3);
        for (int depth : new int[] {1, 30, 128, 256}) {
            int stride = PanelFormat.INT8.panelSize(depth);
            PanelMemory bytes = PanelMemory.allocate(Arena.ofAuto(), PanelFormat.INT8, 2 * stride);
            fill(bytes, random);
            PanelMemory panels = PanelMemory.allocate(Arena.ofAuto(), PanelFormat.F32, depth * 64);
            for (int panel = 0; panel < 2; panel++) {
                bytes.widen(panel * stride, depth, Panels.UNSCALED, 0, panels, panel * depth * 32);
            }
            float[] left = new float[16 * Lanes.ROW];
            for (int row = 0; row < 16; row++) {
                for (int k = 0; k < depth; k++) {
                    left[row * Lanes.ROW + k] = (float) random.nextGaussian();
                }
            }
            for (int rows = 1; rows <= Blocking.FEW_ROWS; rows++) {
                float[] expected = new float[8 * 64];
                float[] actual = new float[8 * 64];
                MacroKernel product = new MacroKernel(new Scratch()).left(left, 0);
                product.right(new Panels().set(panels, 0, depth * 32))
                        .into(expected, 0, 64)
                        .multiply(rows, 50, depth, false);
                product.right(new Panels().set(bytes, 0, stride))
                        .into(actual, 0, 64)
                        .multiply(rows, 50, depth, false);
                for (int i = 0; i < rows * 64; i++) {
                    assertEquals(expected[i], actual[i], "depth " + depth + " row " + i / 64 + " column " + i % 64);
                }
            }
        }
    }

    private static void fill(PanelMemory memory, Random random) {
        byte[] bytes = new byte[(int) memory.elements()];
        random.nextBytes(bytes);
        memory.segment().copyFrom(MemorySegment.ofArray(bytes));
    }
}
