package io.multihead.gemm;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.nn.Gelu;
import io.multihead.nn.Relu;
import io.multihead.nn.Silu;
import io.multihead.reference.ReferenceGemm;
import io.multihead.reference.Tolerance;
import io.multihead.support.Layout;
import io.multihead.support.Numbers;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.SplittableRandom;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.EdgeCasesMode;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.Tag;

/** The multiplication is compared with its specification. Memory, threads and rows of a call do not change a bit. */
@Tag("lanes")
@Tag("bits")
class GemmProperties {
    private static final Compute SERIAL = Compute.serial();
    private static final Compute THREADS = Compute.threads(3);

    record Case(int m, int n, int k, Storage storage, Factors factors, long seed) {}

    record Storage(DType a, DType b, DType c, Layout left, Layout right, Layout result) {}

    record Factors(boolean transposeA, boolean transposeB, float alpha, float beta, boolean bias, double sigma) {}

    @Provide
    Arbitrary<Case> cases() {
        Arbitrary<Integer> size = Arbitraries.oneOf(
                Arbitraries.integers().between(0, 70),
                Arbitraries.of(1, 2, 4, 7, 8, 9, 31, 32, 33, 191, 192, 193, 255, 256, 257, 511, 513, 1025));
        Arbitrary<DType> dtype = Arbitraries.frequencyOf(
                net.jqwik.api.Tuple.of(5, Arbitraries.just(DType.F32)),
                net.jqwik.api.Tuple.of(2, Arbitraries.of(DType.class)));
        Arbitrary<DType> output = Arbitraries.of(DType.F32, DType.F32, DType.F64, DType.BF16, DType.F16);
        Arbitrary<Layout> layout = Arbitraries.of(Layout.class);
        Arbitrary<Storage> storage = Combinators.combine(dtype, dtype, output, layout, layout, layout)
                .as(Storage::new);
        Arbitrary<Boolean> flag = Arbitraries.of(true, false);
        Arbitrary<Factors> factors = Combinators.combine(
                        flag,
                        flag,
                        Arbitraries.of(1f, 1f, -0.5f, 3f, 0f),
                        Arbitraries.of(0f, 0f, 1f, -2f),
                        flag,
                        Arbitraries.of(1e-3, 1.0, 30.0))
                .as(Factors::new);
        return Combinators.combine(size, size, size, storage, factors, Arbitraries.longs())
                .as(Case::new)
                .filter(c -> (long) c.m * c.n * c.k < 4_000_000);
    }

    @Property(tries = 1000, edgeCases = EdgeCasesMode.NONE)
    void staysWithinTheBoundAndTheOutput(@ForAll("cases") Case c) {
        try (Arena arena = Arena.ofConfined()) {
            Operands x = operands(c, arena);
            Tensor bias = x.options.bias();
            ReferenceGemm.Result expected = ReferenceGemm.multiply(
                    c.factors.transposeA ? x.a.permute(1, 0) : x.a,
                    c.factors.transposeB ? x.b.permute(1, 0) : x.b,
                    x.c,
                    c.factors.alpha,
                    c.factors.beta,
                    bias);
            Gemm.multiply(SERIAL, x.a, x.b, x.c, x.options);
            double ratio = Tolerance.ratio(Numbers.of(x.c), expected.values(), expected.errorScale(), c.storage.c);
            assertTrue(ratio <= 1, "R = " + ratio);
            assertTrue(Layout.untouchedOutside(x.c), "bytes around C");
        }
    }

    @Property(tries = 200, edgeCases = EdgeCasesMode.NONE)
    void threadsPackingAndLayoutChangeNoBit(@ForAll("cases") Case c, @ForAll Layout layout) {
        try (Arena arena = Arena.ofShared()) {
            Operands x = operands(c, arena);
            Tensor serial = Numbers.copy(x.c, arena, Layout.DENSE, c.storage.c);
            Tensor threads = Numbers.copy(x.c, arena, layout, c.storage.c);
            Tensor packed = Numbers.copy(x.c, arena, layout, c.storage.c);
            Gemm.multiply(SERIAL, x.a, x.b, serial, x.options);
            Tensor a = Numbers.copy(x.a, arena, layout, c.storage.a);
            Gemm.multiply(THREADS, a, Numbers.copy(x.b, arena, layout, c.storage.b), threads, x.options);
            PackedWeights weights = PackedWeights.ofInputRows(c.factors.transposeB ? x.b.permute(1, 0) : x.b);
            Gemm.multiply(THREADS, x.a, weights, packed, x.options.withTransposeB(false));
            assertArrayEquals(Numbers.of(serial), Numbers.of(threads), "threads and layout");
            assertArrayEquals(Numbers.of(serial), Numbers.of(packed), "packed weights");
        }
    }

    @Property(tries = 200, edgeCases = EdgeCasesMode.NONE)
    void anActivationHasTheBitsOfItsLayer(@ForAll("cases") Case c, @ForAll Activation activation) {
        try (Arena arena = Arena.ofShared()) {
            Operands x = operands(c, arena);
            Tensor sums = Numbers.copy(x.c, arena, Layout.DENSE, DType.F32);
            Tensor expected = Layout.DENSE.allocate(arena, c.storage.c, c.m, c.n);
            Tensor threads = Numbers.copy(x.c, arena, c.storage.result, c.storage.c);
            Gemm.multiply(SERIAL, x.a, x.b, sums, x.options);
            switch (activation) {
                case NONE -> sums.copyTo(expected);
                case RELU -> Relu.of().forward(SERIAL, sums, expected);
                case GELU -> Gelu.erf().forward(SERIAL, sums, expected);
                case GELU_TANH -> Gelu.tanh().forward(SERIAL, sums, expected);
                case SILU -> Silu.of().forward(SERIAL, sums, expected);
            }
            Gemm.multiply(SERIAL, x.a, x.b, x.c, x.options.withActivation(activation));
            Gemm.multiply(THREADS, x.a, x.b, threads, x.options.withActivation(activation));
            assertArrayEquals(Numbers.of(expected), Numbers.of(x.c));
            assertArrayEquals(Numbers.of(expected), Numbers.of(threads), "threads");
            assertTrue(Layout.untouchedOutside(x.c), "bytes around C");
        }
    }

    @Property(tries = 60, edgeCases = EdgeCasesMode.NONE)
    void aBatchEqualsItsMatrices(@ForAll("cases") Case c, @ForAll boolean sharedRight) {
        try (Arena arena = Arena.ofConfined()) {
            SplittableRandom random = new SplittableRandom(c.seed);
            Tensor a = Numbers.gaussian(c.storage.left.allocate(arena, c.storage.a, 2, 3, c.m, c.k), random, 0, 1);
            long[] shape = sharedRight ? new long[] {c.k, c.n} : new long[] {3, c.k, c.n};
            Tensor b = Numbers.gaussian(c.storage.right.allocate(arena, c.storage.b, shape), random, 0, 1);
            Tensor all = c.storage.result.allocate(arena, c.storage.c, 2, 3, c.m, c.n);
            Gemm.multiply(SERIAL, a, b, all, GemmOptions.DEFAULT);
            Tensor one = Layout.DENSE.allocate(arena, c.storage.c, c.m, c.n);
            for (int i = 0; i < 2; i++) {
                for (int j = 0; j < 3; j++) {
                    Tensor right = sharedRight ? b : b.select(0, j);
                    Gemm.multiply(SERIAL, a.select(0, i).select(0, j), right, one, GemmOptions.DEFAULT);
                    assertArrayEquals(
                            Numbers.of(one), Numbers.of(all.select(0, i).select(0, j)));
                }
            }
        }
    }

    private record Operands(Tensor a, Tensor b, Tensor c, GemmOptions options) {}

    private static Operands operands(Case c, Arena arena) {
        SplittableRandom random = new SplittableRandom(c.seed);
        Factors f = c.factors;
        double sigma = c.storage.c == DType.F16 ? Math.min(1, f.sigma) : f.sigma;
        long[] shapeA = f.transposeA ? new long[] {c.k, c.m} : new long[] {c.m, c.k};
        long[] shapeB = f.transposeB ? new long[] {c.n, c.k} : new long[] {c.k, c.n};
        Tensor a = Numbers.gaussian(c.storage.left.allocate(arena, c.storage.a, shapeA), random, 0, sigma);
        Tensor b = Numbers.gaussian(c.storage.right.allocate(arena, c.storage.b, shapeB), random, 0, 1);
        Tensor result = c.storage.result.allocate(arena, c.storage.c, c.m, c.n);
        // with beta = 0, C may hold anything, including NaN
        Numbers.fill(result, () -> f.beta == 0 ? Double.NaN : random.nextGaussian());
        Tensor bias = Numbers.gaussian(c.storage.left.allocate(arena, DType.F32, c.n), random, 0, 1);
        return new Operands(
                a,
                b,
                result,
                new GemmOptions(f.transposeA, f.transposeB, f.alpha, f.beta, f.bias ? bias : null, Activation.NONE));
    }
}
