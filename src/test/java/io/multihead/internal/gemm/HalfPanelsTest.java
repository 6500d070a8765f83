package io.multihead.internal.gemm;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.multihead.internal.kernel.F32Panels;
import io.multihead.internal.kernel.Lanes;
import io.multihead.internal.layout.PanelFormat;
import io.multihead.internal.layout.PanelMemory;
import io.multihead.internal.layout.Panels;
import io.multihead.internal.layout.Scratch;
import java.lang.foreign.Arena;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Panels of 16-bit elements, with two elements in a word. */
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
        PanelMemory memory = PanelMemory.allocate(Arena.ofAuto(), format, all.length);
        for (int at = 0; at < all.length; at += Lanes.PANEL) {
            memory.storeRow(all, at, Lanes.PANEL, at);
        }
        float[] back = widened(memory, ROWS);
        for (int bits = 0; bits < all.length; bits++) {
            if (Float.isNaN(all[bits])) {
                assertEquals(Float.NaN, back[bits]);
            } else {
                assertEquals(Float.floatToRawIntBits(all[bits]), Float.floatToRawIntBits(back[bits]), "bits " + bits);
            }
        }
    }

    /** A cache writes the elements of one token after another, from any column on. */
    @ParameterizedTest
    @EnumSource(
            value = PanelFormat.class,
            names = {"BF16", "F16"})
    void writingKeepsTheNeighbors(PanelFormat format) {
        PanelMemory memory = PanelMemory.allocate(Arena.ofAuto(), format, 3 * Lanes.PANEL);
        float[] expected = new float[3 * Lanes.PANEL];
        Random random = new Random(1);
        for (int i = 0; i < 200; i++) {
            int at = random.nextInt(expected.length);
            int length = 1 + random.nextInt(Lanes.PANEL - at % Lanes.PANEL);
            float[] row = new float[length];
            for (int j = 0; j < length; j++) {
                row[j] = expected[at + j] = random.nextInt(512) - 256;
            }
            memory.storeRow(row, 0, length, at);
        }
        assertArrayEquals(expected, widened(memory, 3));
    }

    /**
     * A few rows that widen 16-bit elements in registers have the same bits as rows whose panels are widened first, including subnormal
     * elements.
     */
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
        int size = F32Panels.size(columns, depth);
        PanelMemory memory = PanelMemory.allocate(Arena.ofAuto(), format, size);
        float[] row = new float[Lanes.PANEL];
        for (int at = 0; at < size; at += Lanes.PANEL) {
            for (int i = 0; i < Lanes.PANEL; i++) {
                row[i] = (float) random.nextGaussian() * ((at + i) % 7 == 0 ? 1e-6f : 1f);
            }
            memory.storeRow(row, 0, Lanes.PANEL, at);
        }
        PanelMemory panels = PanelMemory.allocate(Arena.ofAuto(), PanelFormat.F32, size);
        memory.widen(0, size / Lanes.PANEL, Panels.UNSCALED, 0, panels, 0);
        for (int rows = 1; rows <= Blocking.FEW_ROWS; rows++) {
            for (boolean add : new boolean[] {false, true}) {
                float[] expected = new float[8 * 96];
                float[] actual = new float[8 * 96];
                MacroKernel product = new MacroKernel(new Scratch()).left(left, 0);
                product.right(new Panels().set(panels, 0, depth * Lanes.PANEL))
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

    private static float[] widened(PanelMemory memory, int rows) {
        PanelMemory panels = PanelMemory.allocate(Arena.ofAuto(), PanelFormat.F32, (1 + rows) * Lanes.PANEL);
        memory.widen(0, rows, Panels.UNSCALED, 0, panels, Lanes.PANEL);
        float[] back = new float[rows * Lanes.PANEL];
        F32Panels.load(panels.segment(), Lanes.PANEL * Float.BYTES, back.length, back, 0);
        return back;
    }

    private static float widened(PanelFormat format, int bits) {
        return format == PanelFormat.BF16 ? Float.intBitsToFloat(bits << 16) : Float.float16ToFloat((short) bits);
    }
}
