package io.multihead.internal.gemm;

import static io.multihead.internal.kernel.ColumnMajorB.CHAINS;
import static io.multihead.support.Floats.bits;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import io.multihead.internal.kernel.Lanes;
import io.multihead.internal.kernel.MicroKernel;
import io.multihead.internal.layout.Packer;
import io.multihead.internal.layout.Scratch;
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
import net.jqwik.api.EdgeCasesMode;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.Tag;
import net.jqwik.api.constraints.IntRange;

/**
 * Products with a B that is not packed have the same bits as the chains of the tiles, which are written as loops here,
 * with and without vectors.
 */
@Tag("lanes")
class ProductAsItLiesProperties {
    @Provide
    Arbitrary<Integer> depth() {
        return Arbitraries.oneOf(
                Arbitraries.integers().between(1, 70), Arbitraries.of(255, 256, 257, 511, 512, 513, 1025, 8197));
    }

    @Property(tries = 200, edgeCases = EdgeCasesMode.NONE)
    void byRows(
            @ForAll @IntRange(min = 1, max = 9) int m,
            @ForAll @IntRange(min = 1, max = 80) int n,
            @ForAll("depth") int k,
            @ForAll Layout layout,
            @ForAll boolean vectors,
            @ForAll long seed) {
        check(
                m,
                n,
                k,
                layout == Layout.TURNED ? Layout.DENSE : layout,
                seed,
                (p, memory, sums, ldc) -> new RowMajorProduct(memory, () -> vectors)
                        .multiply(p, new Packer(memory), 0, 0, 0, m, n, sums, ldc));
    }

    @Property(tries = 200, edgeCases = EdgeCasesMode.NONE)
    void byColumns(
            @ForAll @IntRange(min = 1, max = 4) int m,
            @ForAll @IntRange(min = 1, max = 80) int n,
            @ForAll("depth") int k,
            @ForAll Layout layout,
            @ForAll boolean vectors,
            @ForAll long seed) {
        check(
                m,
                n,
                k,
                layout == Layout.DENSE ? Layout.TURNED : layout,
                seed,
                (p, memory, sums, ldc) -> new ColumnMajorProduct(memory, () -> vectors && Lanes.COUNT >= CHAINS)
                        .multiply(p, new Packer(memory), 0, 0, 0, m, n, sums, ldc));
    }

    private interface Product {
        void multiply(GemmProblem problem, Scratch memory, float[] sums, int ldc);
    }

    private static void check(int m, int n, int k, Layout layout, long seed, Product product) {
        SplittableRandom random = new SplittableRandom(seed);
        float[] a = numbers(random, m * k);
        float[] b = numbers(random, k * n);
        try (Arena arena = Arena.ofConfined();
                Scratch memory = new Scratch()) {
            GemmProblem problem = new GemmProblem();
            Tensor c = Tensor.zeros(arena, DType.F32, m, n);
            problem.bind(
                    fill(Layout.DENSE.allocate(arena, DType.F32, m, k), a),
                    fill(layout.allocate(arena, DType.F32, k, n), b),
                    null,
                    c);
            int ldc = Lanes.roundUp(n, Lanes.PANEL) + Lanes.PANEL;
            float[] sums = new float[Lanes.roundUp(m, Lanes.ROW_STEP) * ldc];
            Arrays.fill(sums, Float.NaN);
            product.multiply(problem, memory, sums, ldc);
            for (int row = 0; row < m; row++) {
                float[] actual = Arrays.copyOfRange(sums, row * ldc, row * ldc + n);
                assertArrayEquals(bits(expected(a, row, b, n, k)), bits(actual), "row " + row);
            }
        }
    }

    /** Returns sums of blocks of 512. A block is the sum of two chains of 256. */
    private static float[] expected(float[] a, int row, float[] b, int n, int k) {
        float[] sums = new float[n];
        for (int j = 0; j < n; j++) {
            for (int pc = 0; pc < k; pc += MicroKernel.MAX_DEPTH) {
                float depthSum = 0f;
                for (int first = pc; first < Math.min(k, pc + MicroKernel.MAX_DEPTH); first += MicroKernel.MAX_CHAIN) {
                    float chain = 0f;
                    for (int p = first; p < Math.min(k, first + MicroKernel.MAX_CHAIN); p++) {
                        chain = Math.fma(a[row * k + p], b[p * n + j], chain);
                    }
                    depthSum += chain;
                }
                sums[j] += depthSum;
            }
        }
        return sums;
    }

    private static Tensor fill(Tensor tensor, float[] values) {
        int[] at = {0};
        return Numbers.fill(tensor, () -> values[at[0]++]);
    }

    private static float[] numbers(SplittableRandom random, int length) {
        return Floats.random(random, length, Float.POSITIVE_INFINITY, Float.NaN);
    }
}
