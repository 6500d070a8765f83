package io.multihead.gemm;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.reference.ReferenceMaxSim;
import io.multihead.reference.Tolerance;
import io.multihead.support.Layout;
import io.multihead.support.Numbers;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.SplittableRandom;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.EdgeCasesMode;
import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.Tag;

/** MaxSim is compared with its specification. Memory, threads and other passages of a call do not change a bit. */
@Tag("lanes")
class MaxSimProperties {
    private static final Compute SERIAL = Compute.serial();
    private static final Compute THREADS = Compute.threads(3);

    record Case(int query, int dim, int passages, Storage storage, long seed) {}

    record Storage(DType query, DType tokens, DType scores, Layout left, Layout right) {}

    @Provide
    Arbitrary<Case> cases() {
        Arbitrary<Integer> query =
                Arbitraries.oneOf(Arbitraries.integers().between(1, 70), Arbitraries.of(1, 31, 32, 33, 64, 128));
        Arbitrary<Integer> dim = Arbitraries.oneOf(
                Arbitraries.integers().between(1, 70), Arbitraries.of(64, 96, 128, 511, 512, 513, 768, 1025));
        Arbitrary<Integer> passages = Arbitraries.integers().between(0, 12);
        Arbitrary<DType> inputs = Arbitraries.of(DType.F32, DType.F32, DType.F64, DType.BF16, DType.F16);
        Arbitrary<Layout> layout = Arbitraries.of(Layout.class);
        Arbitrary<Storage> storage =
                Combinators.combine(inputs, inputs, inputs, layout, layout).as(Storage::new);
        return Combinators.combine(query, dim, passages, storage, Arbitraries.longs())
                .as(Case::new);
    }

    private record Operands(Tensor query, Tensor tokens, long[] offsets, Tensor scores) {
        static Operands of(Case c, Arena arena) {
            SplittableRandom random = new SplittableRandom(c.seed);
            long[] offsets = new long[c.passages + 1];
            for (int i = 0; i < c.passages; i++) {
                offsets[i + 1] = offsets[i] + 1 + random.nextInt(random.nextInt(3) == 0 ? 300 : 20);
            }
            Storage s = c.storage;
            // products of the same sign, and one passage with negative products only, where a maximum with 0 would be
            // wrong
            Tensor query = Numbers.gaussian(s.left.allocate(arena, s.query, c.query, c.dim), random, 0.5, 1);
            double size = s.scores == DType.F16 ? 0x1p-4 : 1; // sums of 128 products of 1025 elements stay below 65504
            Tensor tokens = s.right.allocate(arena, s.tokens, offsets[c.passages], c.dim);
            Numbers.gaussian(tokens, random, 0.5 * size, size);
            if (c.passages > 1) {
                Numbers.gaussian(tokens.slice(0, offsets[1], offsets[2]), random, -3 * size, 0.5 * size);
            }
            Tensor scores = s.right.allocate(arena, s.scores, c.passages);
            return new Operands(query, tokens, offsets, scores);
        }
    }

    @Property(tries = 300, edgeCases = EdgeCasesMode.NONE)
    void staysWithinTheBoundAndTheOutput(@ForAll("cases") Case c) {
        try (Arena arena = Arena.ofConfined()) {
            Operands x = Operands.of(c, arena);
            ReferenceMaxSim.Result expected = ReferenceMaxSim.scores(x.query, x.tokens, x.offsets);
            MaxSim.scores(SERIAL, x.query, x.tokens, x.offsets, x.scores);
            double ratio =
                    Tolerance.ratio(Numbers.of(x.scores), expected.scores(), expected.errorScale(), c.storage.scores);
            assertTrue(ratio <= 1, "R = " + ratio + ": " + c);
            assertTrue(Layout.untouchedOutside(x.scores), "bytes around scores");
        }
    }

    /** A score below the range of f16 is rounded to negative infinity, like every element that is written. */
    @Example
    void aScoreThatF16DoesNotHoldIsInfinity() {
        Tensor query = Tensor.of(new float[] {300}, 1, 1);
        Tensor tokens = Tensor.of(new float[] {-300}, 1, 1);
        try (Arena arena = Arena.ofConfined()) {
            Tensor scores = Tensor.allocate(arena, DType.F16, Shape.of(1));
            MaxSim.scores(SERIAL, query, tokens, new long[] {0, 1}, scores);
            assertEquals(Double.NEGATIVE_INFINITY, scores.get(0));
        }
    }

    @Property(tries = 150, edgeCases = EdgeCasesMode.NONE)
    void aPassageHasItsBitsAloneAndOnAnyThreads(@ForAll("cases") Case c, @ForAll Layout layout) {
        try (Arena arena = Arena.ofShared()) {
            Operands x = Operands.of(c, arena);
            MaxSim.scores(SERIAL, x.query, x.tokens, x.offsets, x.scores);
            double[] expected = Numbers.of(x.scores);
            Tensor threads = layout.allocate(arena, c.storage.scores, c.passages);
            Tensor query = Numbers.copy(x.query, arena, layout, c.storage.query);
            MaxSim.scores(THREADS, query, Numbers.copy(x.tokens, arena, layout, c.storage.tokens), x.offsets, threads);
            assertArrayEquals(expected, Numbers.of(threads), "threads and layout: " + c);
            for (int i = 0; i < c.passages; i++) {
                Tensor one = Layout.DENSE.allocate(arena, c.storage.scores, 1);
                Tensor tokens = x.tokens.slice(0, x.offsets[i], x.offsets[i + 1]);
                MaxSim.scores(SERIAL, x.query, tokens, new long[] {0, tokens.dim(0)}, one);
                assertEquals(expected[i], one.get(0), "passage " + i + " alone: " + c);
            }
        }
    }

    /** The maxima have the same bits as the maxima of the products of {@link Gemm}. */
    @Property(tries = 100, edgeCases = EdgeCasesMode.NONE)
    void scoresAreMadeOfProducts(@ForAll("cases") Case c) {
        try (Arena arena = Arena.ofConfined()) {
            Operands x = Operands.of(c, arena);
            float[] products = new float[(int) x.tokens.dim(0) * c.query];
            Tensor all = Tensor.of(products, x.tokens.dim(0), c.query);
            Gemm.multiply(SERIAL, x.tokens, x.query.permute(1, 0), all, GemmOptions.DEFAULT);
            Tensor scores = Tensor.of(new float[c.passages], c.passages);
            MaxSim.scores(SERIAL, x.query, x.tokens, x.offsets, scores);
            for (int passage = 0; passage < c.passages; passage++) {
                double sum = 0;
                for (int i = 0; i < c.query; i++) {
                    float best = Float.NEGATIVE_INFINITY;
                    for (long token = x.offsets[passage]; token < x.offsets[passage + 1]; token++) {
                        best = Math.max(best, products[(int) token * c.query + i]);
                    }
                    sum += best;
                }
                assertEquals((float) sum, scores.get(passage), c.toString());
            }
        }
    }
}
