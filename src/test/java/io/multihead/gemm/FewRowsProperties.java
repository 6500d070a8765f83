package io.multihead.gemm;

import static io.multihead.support.Floats.bits;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.support.Floats;
import io.multihead.support.Layout;
import io.multihead.support.Numbers;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
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

/**
 * Products of a few rows with a matrix that is not packed have the same bits as products of the same rows among many
 * rows, and as products with packed weights.
 */
@Tag("lanes")
class FewRowsProperties {
    private static final Compute SERIAL = Compute.serial();
    private static final Compute THREADS = Compute.threads(3);

    /** A number of rows that is too large for a multiplication without packing. */
    private static final int MANY = 40;

    record Case(int m, int n, int k, DType dtype, Layout layout, boolean transposed, long seed) {}

    @Provide
    Arbitrary<Case> cases() {
        Arbitrary<Integer> rows = Arbitraries.integers().between(1, 18);
        Arbitrary<Integer> columns =
                Arbitraries.oneOf(Arbitraries.integers().between(1, 140), Arbitraries.of(1, 7, 8, 9, 1024, 1029, 1040));
        Arbitrary<Integer> depth = Arbitraries.oneOf(
                Arbitraries.integers().between(1, 70), Arbitraries.of(255, 256, 257, 511, 512, 513, 1025, 8197));
        Arbitrary<DType> dtype =
                Arbitraries.of(DType.F32, DType.F32, DType.F32, DType.BF16, DType.F16, DType.I8, DType.F64);
        return Combinators.combine(
                        rows,
                        columns,
                        depth,
                        dtype,
                        Arbitraries.of(Layout.class),
                        Arbitraries.of(true, false),
                        Arbitraries.longs())
                .as(Case::new)
                .filter(c -> c.n * c.k < 600_000);
    }

    @Property(tries = 400, edgeCases = EdgeCasesMode.NONE)
    void bitsAreThoseOfManyRowsAndOfPackedWeights(@ForAll("cases") Case c) {
        SplittableRandom random = new SplittableRandom(c.seed);
        try (Arena arena = Arena.ofShared()) {
            Tensor b = numbers(arena, random, c.layout, c.dtype, c.transposed ? c.n : c.k, c.transposed ? c.k : c.n);
            Tensor all = numbers(arena, random, Layout.DENSE, DType.F32, MANY, c.k);
            GemmOptions options = GemmOptions.DEFAULT.withTransposeB(c.transposed);
            Tensor expected = Tensor.zeros(arena, DType.F32, MANY, c.n);
            Gemm.multiply(SERIAL, all, b, expected, options);
            Tensor a = all.slice(0, 0, c.m);
            float[] first = Arrays.copyOf(floats(expected), c.m * c.n);

            Tensor serial = c.layout.allocate(arena, DType.F32, c.m, c.n);
            Gemm.multiply(SERIAL, a, b, serial, options);
            assertArrayEquals(bits(first), bits(floats(serial)), "many rows");
            assertTrue(Layout.untouchedOutside(serial), "bytes around C");

            Tensor threads = Tensor.zeros(arena, DType.F32, c.m, c.n);
            Gemm.multiply(THREADS, a, b, threads, options);
            assertArrayEquals(bits(first), bits(floats(threads)), "threads");

            Tensor packed = Tensor.zeros(arena, DType.F32, c.m, c.n);
            PackedWeights weights = PackedWeights.ofInputRows(c.transposed ? b.permute(1, 0) : b);
            Gemm.multiply(SERIAL, a, weights, packed, GemmOptions.DEFAULT);
            assertArrayEquals(bits(first), bits(floats(packed)), "packed weights");
        }
    }

    /** Each batch has one row. All batches share one B, or each has its own B. */
    @Property(tries = 100, edgeCases = EdgeCasesMode.NONE)
    void batchesOfOneRow(@ForAll("cases") Case c, @ForAll boolean shared) {
        SplittableRandom random = new SplittableRandom(c.seed);
        int batches = Math.min(c.m, 4);
        try (Arena arena = Arena.ofShared()) {
            long rows = c.transposed ? c.n : c.k;
            long columns = c.transposed ? c.k : c.n;
            Tensor b = shared
                    ? numbers(arena, random, c.layout, c.dtype, rows, columns)
                    : numbers(arena, random, c.layout, c.dtype, batches, rows, columns);
            Tensor a = numbers(arena, random, Layout.DENSE, DType.F32, batches, 1, c.k);
            GemmOptions options = GemmOptions.DEFAULT.withTransposeB(c.transposed);
            Tensor actual = Tensor.zeros(arena, DType.F32, batches, 1, c.n);
            Gemm.multiply(THREADS, a, b, actual, options);
            Tensor expected = Tensor.zeros(arena, DType.F32, 1, c.n);
            for (int batch = 0; batch < batches; batch++) {
                Tensor right = shared ? b : b.select(0, batch);
                PackedWeights weights = PackedWeights.ofInputRows(c.transposed ? right.permute(1, 0) : right);
                Gemm.multiply(SERIAL, a.select(0, batch), weights, expected, GemmOptions.DEFAULT);
                assertArrayEquals(bits(floats(expected)), bits(floats(actual.select(0, batch))));
            }
        }
    }

    private static Tensor numbers(Arena arena, SplittableRandom random, Layout layout, DType dtype, long... dims) {
        Tensor tensor = layout.allocate(arena, dtype, dims);
        int length = 1;
        for (long dim : dims) {
            length *= (int) dim;
        }
        float[] values = Floats.random(random, length, Float.POSITIVE_INFINITY, Float.NaN);
        int[] at = {0};
        Numbers.fill(tensor, () -> values[at[0]++]);
        return tensor;
    }

    private static float[] floats(Tensor tensor) {
        double[] numbers = Numbers.of(tensor);
        float[] floats = new float[numbers.length];
        for (int i = 0; i < floats.length; i++) {
            floats[i] = (float) numbers[i];
        }
        return floats;
    }
}
