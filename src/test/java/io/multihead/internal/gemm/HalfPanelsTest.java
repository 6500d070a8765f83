package io.multihead.internal.gemm;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.multihead.internal.kernel.F32Panels;
import io.multihead.internal.kernel.HalfPanels;
import io.multihead.internal.kernel.Lanes;
import io.multihead.internal.layout.PanelFormat;
import io.multihead.internal.layout.PanelMemory;
import io.multihead.internal.layout.Panels;
import io.multihead.internal.layout.Scratch;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Panels of 16-bit elements, two to a word. */
@Tag("lanes")
class HalfPanelsTest {
    private static final int ROWS = (1 << 16) / Lanes.PANEL;

    @ParameterizedTest
    @EnumSource(
            value = PanelFormat.class,
            names = {"BF16", "F16"})
    void everyElementComesBack(PanelFormat format) {
        float[] all = new float[1 << 16];
        for (int bits = 0; bits < all.length; bits++) {
            all[bits] = widened(format, bits);
        }
        int[] words = new int[all.length / 2];
        HalfPanels halves = format.halves();
        halves.narrow(all, 0, all.length, words, 0);
        float[] back = new float[all.length + 3];
        halves.widen(words, 0, ROWS, back, 3);
        for (int bits = 0; bits < all.length; bits++) {
            if (Float.isNaN(all[bits])) {
                assertEquals(Float.NaN, back[3 + bits]);
            } else {
                assertEquals(
                        Float.floatToRawIntBits(all[bits]), Float.floatToRawIntBits(back[3 + bits]), "bits " + bits);
            }
        }
    }

    /** Elements are written one by one as tokens come, from any column on. */
    @ParameterizedTest
    @EnumSource(
            value = PanelFormat.class,
            names = {"BF16", "F16"})
    void writingKeepsTheNeighbours(PanelFormat format) {
        HalfPanels halves = format.halves();
        int[] words = new int[3 * Lanes.PANEL / 2];
        float[] expected = new float[3 * Lanes.PANEL];
        Random random = new Random(1);
        for (int i = 0; i < 200; i++) {
            int at = random.nextInt(expected.length);
            int length = 1 + random.nextInt(expected.length - at);
            float[] row = new float[length];
            for (int j = 0; j < length; j++) {
                row[j] = expected[at + j] = random.nextInt(512) - 256;
            }
            halves.narrow(row, 0, length, words, at);
        }
        float[] actual = new float[expected.length];
        halves.widen(words, 0, 3, actual, 0);
        assertArrayEquals(expected, actual);
    }

    /** A few rows that widen 16-bit elements in registers have the bits of rows whose panels are widened first, subnormal elements too. */
    @ParameterizedTest
    @EnumSource(
            value = PanelFormat.class,
            names = {"BF16", "F16"})
    void productsAreThoseOfWidenedPanels(PanelFormat format) {
        int depth = 128;
        int columns = 80;
        Random random = new Random(2);
        float[] left = new float[16 * Lanes.ROW];
        for (int i = 0; i < left.length; i++) {
            left[i] = (float) random.nextGaussian();
        }
        float[] panels = new float[F32Panels.size(columns, depth)];
        PanelMemory memory = PanelMemory.allocate(format, panels.length);
        for (int i = 0; i < panels.length; i++) {
            panels[i] = (float) random.nextGaussian() * (i % 7 == 0 ? 1e-6f : 1f);
        }
        memory.storeRow(panels, 0, panels.length, 0);
        memory.widen(0, panels.length / Lanes.PANEL, panels, 0);
        for (int rows = 1; rows <= Blocking.FEW_ROWS; rows++) {
            for (boolean add : new boolean[] {false, true}) {
                float[] expected = new float[8 * 96];
                float[] actual = new float[8 * 96];
                MacroKernel product = new MacroKernel(new Scratch()).left(left, 0);
                product.right(panels, 0, depth * Lanes.PANEL)
                        .into(expected, 0, 96)
                        .multiply(rows, columns, depth, add);
                product.right(new Panels().set(memory, 0, depth * Lanes.PANEL))
                        .into(actual, 0, 96)
                        .multiply(rows, columns, depth, add);
                for (int i = 0; i < rows * 96; i++) {
                    assertEquals(expected[i], actual[i], "row " + i / 96 + " column " + i % 96);
                }
            }
        }
    }

    private static float widened(PanelFormat format, int bits) {
        return format == PanelFormat.BF16 ? Float.intBitsToFloat(bits << 16) : Float.float16ToFloat((short) bits);
    }
}
