package io.multihead.internal.kernel;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.multihead.tensor.DType;
import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Panels of bytes, four rows beside each other. */
@Tag("lanes")
class QuadsTest {
    @Test
    void writingKeepsTheNeighbours() {
        byte[] bytes = new byte[8 * Lanes.PANEL];
        float[] expected = new float[8 * Lanes.PANEL];
        Random random = new Random(1);
        for (int i = 0; i < 300; i++) {
            int column = random.nextInt(Lanes.PANEL);
            int at = random.nextInt(8) * Lanes.PANEL + column;
            float[] row = new float[1 + random.nextInt(Lanes.PANEL - column)];
            for (int j = 0; j < row.length; j++) {
                row[j] = expected[at + j] = random.nextInt(256) - 128;
            }
            Quads.narrow(row, 0, row.length, bytes, at);
        }
        for (int rows = 1; rows <= 8; rows++) {
            float[] actual = new float[rows * Lanes.PANEL];
            Quads.widen(bytes, 0, rows, actual, 0);
            assertArrayEquals(Arrays.copyOf(expected, actual.length), actual);
        }
    }

    /** A few rows read quads in passing and have the bits of rows that read them widened and scaled, for any number of values. */
    @Test
    void sumsAreThoseOfWidenedPanels() {
        int wide = 96;
        Random random = new Random(2);
        float[] left = new float[16 * Lanes.ROW];
        byte[] bytes = new byte[Lanes.DEPTH * wide];
        float[] scales = new float[Lanes.DEPTH];
        random.nextBytes(bytes);
        for (int i = 0; i < scales.length; i++) {
            scales[i] = random.nextFloat();
        }
        for (int depth : new int[] {1, 4, 63, 64, 65, 130, 255, 256}) {
            for (int row = 0; row < 16; row++) {
                for (int k = 0; k < Lanes.ROW; k++) {
                    left[row * Lanes.ROW + k] = k < depth ? (float) random.nextGaussian() : 0f;
                }
            }
            Product.Runs narrow = new Product.Runs();
            Product.Runs widened = new Product.Runs();
            for (int run = 0; run * Product.CHAIN < depth; run++) {
                int at = run * Product.CHAIN * wide;
                narrow.set(run, bytes, DType.I8, at);
                narrow.scale(run, scales, run * Product.CHAIN);
                float[] floats = new float[Product.CHAIN * wide];
                for (int panel = 0; panel < wide / Lanes.PANEL; panel++) {
                    narrow.widen(run, panel, Product.CHAIN, floats, panel * Product.CHAIN * Lanes.PANEL);
                }
                widened.set(run, floats, DType.F32, 0);
            }
            for (int rows = 1; rows <= Product.FEW; rows++) {
                assertArrayEquals(
                        sums(left, widened, rows, depth), sums(left, narrow, rows, depth), rows + " " + depth);
            }
        }
    }

    private static float[] sums(float[] left, Product.Runs right, int rows, int depth) {
        float[] sums = new float[8 * 2 * 96];
        new Product(new Scratch())
                .left(left, 0)
                .right(right)
                .into(sums, 0, 2 * 96)
                .accumulate(rows, 80, depth, Product.CHAIN, 96);
        return Arrays.copyOf(sums, rows * 2 * 96);
    }

    /** Products with panels of a depth that is no multiple of four. */
    @Test
    void productsAreThoseOfWidenedPanels() {
        Random random = new Random(3);
        for (int depth : new int[] {1, 30, 128, 256}) {
            int stored = PanelStore.depth(DType.I8, depth);
            byte[] bytes = new byte[stored * 64];
            random.nextBytes(bytes);
            float[] panels = new float[depth * 64];
            for (int panel = 0; panel < 2; panel++) {
                Widen.panel(bytes, DType.I8, panel * stored * 32, depth, panels, panel * depth * 32);
            }
            float[] left = new float[16 * Lanes.ROW];
            for (int row = 0; row < 16; row++) {
                for (int k = 0; k < depth; k++) {
                    left[row * Lanes.ROW + k] = (float) random.nextGaussian();
                }
            }
            for (int rows = 1; rows <= Product.FEW; rows++) {
                float[] expected = new float[8 * 64];
                float[] actual = new float[8 * 64];
                Product product = new Product(new Scratch()).left(left, 0);
                product.right(panels, 0, depth * 32).into(expected, 0, 64).multiply(rows, 50, depth, false);
                product.right(bytes, DType.I8, 0, stored * 32)
                        .into(actual, 0, 64)
                        .multiply(rows, 50, depth, false);
                for (int i = 0; i < rows * 64; i++) {
                    assertEquals(expected[i], actual[i], "depth " + depth + " row " + i / 64 + " column " + i % 64);
                }
            }
        }
    }
}
