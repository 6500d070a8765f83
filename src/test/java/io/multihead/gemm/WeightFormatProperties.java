package io.multihead.gemm;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.multihead.compute.Compute;
import io.multihead.support.Layout;
import io.multihead.support.Numbers;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.SplittableRandom;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.EdgeCasesMode;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Products with weights of 16 bits have the same bits as products with f32 weights that were rounded first, for any
 * number of rows, threads and panels.
 */
@org.junit.jupiter.api.Tag("lanes")
@org.junit.jupiter.api.Tag("bits")
@Tag("lanes")
@Tag("bits")
class WeightFormatProperties {
    private static final Compute SERIAL = Compute.serial();
    private static final Compute THREADS = Compute.threads(2);

    @TempDir
    Path folder;

    record Case(WeightFormat format, int m, int n, int k, Layout weights, DType stored, long seed) {}

    @Provide
    Arbitrary<Case> cases() {
        Arbitrary<Integer> rows = Arbitraries.oneOf(Arbitraries.integers().between(1, 18), Arbitraries.of(64, 97, 200));
        Arbitrary<Integer> columns =
                Arbitraries.oneOf(Arbitraries.integers().between(0, 100), Arbitraries.of(256, 257, 600));
        Arbitrary<Integer> depth =
                Arbitraries.oneOf(Arbitraries.integers().between(0, 70), Arbitraries.of(255, 257, 512, 513, 1100));
        return Combinators.combine(
                        Arbitraries.of(WeightFormat.BF16, WeightFormat.F16),
                        rows,
                        columns,
                        depth,
                        Arbitraries.of(Layout.class),
                        Arbitraries.of(DType.F32, DType.F64, DType.BF16, DType.F16),
                        Arbitraries.longs())
                .as(Case::new);
    }

    @Property(tries = 300, edgeCases = EdgeCasesMode.NONE)
    void productsHaveTheBitsOfRoundedWeights(@ForAll("cases") Case c) {
        try (Arena arena = Arena.ofShared()) {
            SplittableRandom random = new SplittableRandom(c.seed);
            // elements down to the subnormal ones of f16, and sums of terms of the same sign
            Tensor matrix = Numbers.fill(
                    c.weights.allocate(arena, c.stored, c.k, c.n),
                    () -> (0.25 + random.nextDouble()) * (random.nextInt(5) == 0 ? 1e-6 : 1));
            Tensor a = Numbers.gaussian(c.weights.allocate(arena, DType.F32, c.m, c.k), random, 0.5, 1);
            Tensor floats = Numbers.copy(matrix, arena, Layout.DENSE, DType.F32); // f64 is rounded twice
            Tensor rounded = Numbers.copy(floats, arena, Layout.DENSE, c.format.dtype);
            Tensor expected = Layout.DENSE.allocate(arena, DType.F32, c.m, c.n);
            Tensor serial = Layout.DENSE.allocate(arena, DType.F32, c.m, c.n);
            Tensor threads = Layout.DENSE.allocate(arena, DType.F32, c.m, c.n);
            Gemm.multiply(SERIAL, a, rounded, expected, GemmOptions.DEFAULT);
            PackedWeights packed = PackedWeights.ofInputRows(arena, matrix, c.format);
            Gemm.multiply(SERIAL, a, packed, serial, GemmOptions.DEFAULT);
            Gemm.multiply(THREADS, a, packed, threads, GemmOptions.DEFAULT);
            assertArrayEquals(Numbers.of(expected), Numbers.of(serial));
            assertArrayEquals(Numbers.of(expected), Numbers.of(threads), "threads");
            assertEquals(2 * PackedWeights.panelElements(c.format, c.k, c.n), packed.bytes());
            assertEquals(c.format, packed.format());
            assertArrayEquals(Numbers.of(rounded), Numbers.of(packed.unpack(arena)), "unpacked");
            PackedWeights wide = PackedWeights.ofInputRows(arena, matrix);
            assertArrayEquals(Numbers.of(floats), Numbers.of(wide.unpack(arena)), "unpacked from f32");
        }
    }

    /** bf16 can hold NaN and infinity as elements. */
    @Test
    void bf16HasInfinitiesAndNaN() {
        try (Arena arena = Arena.ofConfined()) {
            Tensor matrix = Tensor.of(
                    new float[] {Float.POSITIVE_INFINITY, Float.NaN, -Float.MAX_VALUE, 1f, 1f, Float.NEGATIVE_INFINITY},
                    2,
                    3);
            PackedWeights packed = PackedWeights.ofInputRows(arena, matrix, WeightFormat.BF16);
            for (int rows : new int[] {1, 3, 40}) {
                float[] ones = new float[rows * 2];
                Arrays.fill(ones, 1f);
                Tensor c = Tensor.of(new float[rows * 3], rows, 3);
                Gemm.multiply(SERIAL, Tensor.of(ones, rows, 2), packed, c, GemmOptions.DEFAULT);
                for (int row = 0; row < rows; row++) {
                    assertEquals(Float.POSITIVE_INFINITY, c.get(row, 0));
                    assertEquals(Float.NaN, c.get(row, 1));
                    // the largest f32 rounds to infinity in bf16
                    assertEquals(Float.NEGATIVE_INFINITY, c.get(row, 2));
                }
            }
        }
    }

    @Test
    void f16RefusesWhatItCannotHold() {
        for (float number : new float[] {65520f, -1e6f, Float.POSITIVE_INFINITY, Float.NaN}) {
            float[] numbers = new float[600 * 40];
            numbers[555 * 40 + 37] = number;
            Tensor matrix = Tensor.of(numbers, 600, 40);
            IllegalArgumentException refused = assertThrows(
                    IllegalArgumentException.class,
                    () -> PackedWeights.ofInputRows(Arena.ofAuto(), matrix, WeightFormat.F16));
            assertEquals(
                    "matrix: " + number + " at input 555, output 37; expected a number that is finite in F16",
                    refused.getMessage());
        }
    }

    @Test
    void filesAndPanelsHaveTheSameBits() throws IOException {
        SplittableRandom random = new SplittableRandom(1);
        for (WeightFormat format : new WeightFormat[] {WeightFormat.BF16, WeightFormat.F16}) {
            try (Arena arena = Arena.ofShared()) {
                Tensor matrix = Numbers.gaussian(Layout.DENSE.allocate(arena, DType.F32, 1100, 70), random, 0, 1);
                PackedWeights packed = PackedWeights.ofInputRows(arena, matrix, format);
                Path file = folder.resolve(format.name());
                packed.write(file);
                PackedWeights mapped = PackedWeights.map(arena, file);
                assertEquals(format, mapped.format());
                long elements = PackedWeights.panelElements(format, 1100, 70);
                MemorySegment memory = arena.allocate(packed.bytes(), 64);
                Tensor panels = Tensor.view(memory, format.dtype, Shape.of(elements));
                packed.panels().copyTo(panels);
                PackedWeights again = PackedWeights.ofPanels(panels, format, 1100, 70);
                for (int rows : new int[] {1, 4, 30}) {
                    Tensor a = Numbers.gaussian(Layout.DENSE.allocate(arena, DType.F32, rows, 1100), random, 1, 1);
                    Tensor expected = Layout.DENSE.allocate(arena, DType.F32, rows, 70);
                    Tensor actual = Layout.DENSE.allocate(arena, DType.F32, rows, 70);
                    Gemm.multiply(SERIAL, a, packed, expected, GemmOptions.DEFAULT);
                    Gemm.multiply(SERIAL, a, mapped, actual, GemmOptions.DEFAULT);
                    assertArrayEquals(expected.toArray(), actual.toArray());
                    Gemm.multiply(THREADS, a, again, actual, GemmOptions.DEFAULT);
                    assertArrayEquals(expected.toArray(), actual.toArray());
                }
            }
        }
    }
}
