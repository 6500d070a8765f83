package io.multihead.model;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.gemm.Activation;
import io.multihead.gemm.PackedWeights;
import io.multihead.gemm.WeightFormat;
import io.multihead.reference.ReferenceActivation;
import io.multihead.reference.ReferenceExperts;
import io.multihead.reference.ReferenceTransformer;
import io.multihead.support.WarmCalls;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import net.jqwik.api.EdgeCasesMode;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Tag;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;

/**
 * Experts are compared with their specification, and so is the choice of experts, including ties. A row has the same
 * bits in any call.
 */
@org.junit.jupiter.api.Tag("lanes")
@Tag("lanes")
class ExpertsProperties {
    private static final Compute SERIAL = Compute.serial();
    private static final Compute THREADS = Compute.threads(3);
    private static final double U = 0x1p-24;

    /** Experts of random kinds, and their specification with the values of the packed weights. */
    private static final class Case {
        final SplittableRandom random;
        final int dim;
        final int inner;
        final boolean gated;
        final boolean concatenated;
        final boolean biases;
        final WeightFormat format;
        final Experts part;
        final ReferenceExperts reference;

        Case(long seed) {
            random = new SplittableRandom(seed);
            format = List.of(WeightFormat.F32, WeightFormat.BF16, WeightFormat.Q8_0, WeightFormat.Q4_K)
                    .get(random.nextInt(4));
            boolean narrow = format == WeightFormat.Q4_K;
            dim = narrow ? 256 : 32 * (1 + random.nextInt(2));
            inner = narrow ? 256 : 32 * (1 + random.nextInt(3));
            gated = random.nextInt(4) > 0;
            concatenated = random.nextBoolean();
            biases = random.nextBoolean();
            int count = 1 + random.nextInt(9);
            int used = 1 + random.nextInt(Math.min(3, count));
            PackedLinear[] logits = {null};
            // logits have a spread of about one, so that choices are clear
            ReferenceTransformer.Linear router = linear(count, dim, WeightFormat.F32, logits);
            List<FeedForward> parts = new ArrayList<>();
            List<ReferenceTransformer.FeedForward> references = new ArrayList<>();
            for (int expert = 0; expert <= count; expert++) {
                network(parts, references);
            }
            boolean isShared = random.nextBoolean();
            boolean isGated = isShared && !biases && random.nextBoolean();
            float[] gate = draw(dim, 0.1, 1 / Math.sqrt(dim));
            ReferenceExperts.Rule rule = rule(random, count, used);
            part = Experts.of(router(rule, logits[0]), parts.subList(0, count))
                    .withShared(
                            isGated
                                    ? parts.get(count).withTokenGate(Tensor.of(gate))
                                    : isShared ? parts.get(count) : null);
            ReferenceTransformer.Rows shared = isShared ? references.get(count) : null;
            reference = new ReferenceExperts(
                    router,
                    rule,
                    references.subList(0, count),
                    isGated ? new ReferenceExperts.TokenGate(widened(gate), references.get(count)) : shared);
        }

        private void network(List<FeedForward> parts, List<ReferenceTransformer.FeedForward> references) {
            PackedLinear[] packed = new PackedLinear[3];
            ReferenceTransformer.Linear gate = null;
            ReferenceTransformer.Linear up = linear(inner, dim, format, packed);
            PackedLinear upPart = packed[0];
            LinearGroup group = null;
            if (gated && concatenated) {
                ReferenceTransformer.Linear both = linear(2 * inner, dim, format, packed);
                group = LinearGroup.concatenated(packed[0], inner, inner);
                gate = rows(both, 0, inner);
                up = rows(both, inner, 2 * inner);
            } else if (gated) {
                gate = linear(inner, dim, format, packed);
                group = LinearGroup.of(packed[0], upPart);
            }
            ReferenceTransformer.Linear down = linear(dim, inner, format, packed);
            parts.add(
                    group == null
                            ? FeedForward.of(upPart.withActivation(Activation.SILU), packed[0])
                            : FeedForward.gated(Activation.SILU, group, packed[0]));
            references.add(new ReferenceTransformer.FeedForward(gate, up, down, ReferenceActivation::silu));
        }

        private static ReferenceTransformer.Linear rows(ReferenceTransformer.Linear of, int from, int to) {
            double[] bias = of.bias();
            return new ReferenceTransformer.Linear(
                    Arrays.copyOfRange(of.weight(), from * of.inputs(), to * of.inputs()),
                    bias == null ? null : Arrays.copyOfRange(bias, from, to),
                    to - from,
                    of.inputs());
        }

        private ReferenceTransformer.Linear linear(int outputs, int inputs, WeightFormat as, PackedLinear[] to) {
            float[] weight = draw(outputs * inputs, 0.3 / Math.sqrt(inputs), 1 / Math.sqrt(inputs));
            float[] bias = biases ? draw(outputs, 0.1, 0.2) : null;
            Tensor columns = Tensor.of(weight, outputs, inputs).permute(1, 0);
            PackedWeights packed = PackedWeights.ofInputRows(Arena.ofAuto(), columns, as);
            to[0] = PackedLinear.of(packed, bias == null ? null : Tensor.of(bias));
            Tensor stored = packed.unpack(Arena.ofAuto()).permute(1, 0);
            return new ReferenceTransformer.Linear(
                    widened(stored.toArray()), bias == null ? null : widened(bias), outputs, inputs);
        }

        float[] draw(int count, double mean, double deviation) {
            float[] values = new float[count];
            for (int i = 0; i < count; i++) {
                values[i] = (float) random.nextGaussian(mean, deviation);
            }
            return values;
        }

        Tensor rows(int count) {
            return Tensor.of(draw(count * dim, 0.2, 1), count, dim);
        }

        @Override
        public String toString() {
            return "dim " + dim + ", inner " + inner + ", gated " + gated + ", concatenated " + concatenated
                    + ", biases " + biases + ", " + format + ", " + reference.rule();
        }
    }

    private static ReferenceExperts.Rule rule(SplittableRandom random, int count, int used) {
        double[] bias = new double[count];
        Arrays.setAll(bias, i -> (float) random.nextGaussian(0, 0.3));
        return new ReferenceExperts.Rule(
                used,
                random.nextBoolean(),
                random.nextBoolean(),
                random.nextBoolean() ? 1 : 2.5,
                random.nextBoolean() ? bias : null);
    }

    private static Router router(ReferenceExperts.Rule rule, PackedLinear logits) {
        Router router =
                Router.of(logits, rule.used()).withNormalized(rule.normalized()).withScale(rule.scale());
        router = rule.sigmoid() ? router.withSigmoid() : router;
        double[] bias = rule.bias();
        return bias == null ? router : router.withSelectionBias(Tensor.of(bias, bias.length));
    }

    private static double[] widened(float[] values) {
        return IntStream.range(0, values.length).mapToDouble(i -> values[i]).toArray();
    }

    /**
     * Three products of at most 256 terms, an activation, and a factor that depends on the difference of two logits,
     * which are products. Each rounding is relative to the largest number. A sum has the rows of three experts and a
     * shared expert.
     */
    private static final int ROUNDINGS = (3 + 2) * 257 + 20;

    @Property(tries = 300, edgeCases = EdgeCasesMode.NONE)
    void rowsAreThoseOfTheSpecification(@ForAll long seed, @ForAll @IntRange(min = 1, max = 20) int rows) {
        Case c = new Case(seed);
        Tensor x = clear(c, c.rows(rows));
        double[] expected = c.reference.of(widened(x.toArray()));
        float[] actual = alone(c, SERIAL, x);
        double size = 4 * (1 + Arrays.stream(expected).map(Math::abs).max().orElse(0));
        for (int i = 0; i < expected.length; i++) {
            double error = Math.abs(actual[i] - expected[i]);
            assertTrue(error <= ROUNDINGS * U * size, c + ", element " + i + ": " + error);
        }
    }

    /**
     * Returns the rows for which rounding cannot change the choice of experts. If there is none, returns another
     * random row with such a choice.
     */
    private static Tensor clear(Case c, Tensor x) {
        double least = 257 * U * 100;
        List<Tensor> rows = new ArrayList<>();
        for (long row = 0; row < x.dim(0); row++) {
            Tensor one = x.slice(0, row, row + 1);
            if (c.reference.margin(widened(one.toArray())) > least) {
                rows.add(one);
            }
        }
        while (rows.isEmpty()) {
            Tensor one = c.rows(1);
            if (c.reference.margin(widened(one.toArray())) > least) {
                rows.add(one);
            }
        }
        Tensor all = Tensor.of(new float[rows.size() * c.dim], rows.size(), c.dim);
        for (int i = 0; i < rows.size(); i++) {
            rows.get(i).copyTo(all.slice(0, i, i + 1));
        }
        return all;
    }

    private static float[] alone(Case c, Compute cpu, Tensor x) {
        Tensor y = Tensor.of(new float[(int) x.dim(0) * c.dim], x.dim(0), c.dim);
        c.part.forward(cpu, x, y, c.part.buffers((int) x.dim(0)));
        return y.toArray();
    }

    @Property(tries = 100, edgeCases = EdgeCasesMode.NONE)
    void aRowHasItsBitsInAnyCall(@ForAll long seed, @ForAll @IntRange(min = 2, max = 40) int rows) {
        Case c = new Case(seed);
        Tensor x = c.rows(rows);
        Buffers buffers = c.part.buffers(rows + 3);
        Tensor columns = Tensor.allocate(Arena.ofAuto(), DType.F32, Shape.of(c.dim, rows));
        Tensor y = columns.permute(1, 0);
        Tensor strided = Tensor.allocate(Arena.ofAuto(), DType.F64, Shape.of(c.dim, rows))
                .permute(1, 0);
        x.copyTo(strided);
        c.part.forward(THREADS, strided, y, buffers);
        float[] together = y.toArray();
        for (int row = 0; row < rows; row++) {
            float[] alone = alone(c, SERIAL, x.slice(0, row, row + 1));
            assertArrayEquals(alone, Arrays.copyOfRange(together, row * c.dim, (row + 1) * c.dim), c + ", row " + row);
        }
    }

    /** With ties, logits have few distinct values, so that most choices have ties. */
    @Property(tries = 500, edgeCases = EdgeCasesMode.NONE)
    void theChoiceIsThatOfTheSpecification(
            @ForAll long seed, @ForAll @IntRange(min = 1, max = 30) int count, @ForAll boolean ties) {
        SplittableRandom random = new SplittableRandom(seed);
        int used = 1 + random.nextInt(count);
        ReferenceExperts.Rule drawn = rule(random, count, used);
        // a bias makes the order an order of rounded sums, which is compared without ties only
        ReferenceExperts.Rule rule = ties
                ? new ReferenceExperts.Rule(used, drawn.sigmoid(), drawn.normalized(), drawn.scale(), null)
                : drawn;
        float[] logits = new float[count + 3];
        for (int i = 0; i < logits.length; i++) {
            logits[i] = ties ? random.nextInt(3) : (float) random.nextGaussian(0, 2);
        }
        Router router = router(rule, zeros(count));
        int[] ids = new int[used + 2];
        float[] factors = new float[used + 2];
        router.choose(logits, 3, ids, factors, 1, new double[count]);
        double[] expected = rule.factors(widened(Arrays.copyOfRange(logits, 3, count + 3)));
        int place = 1;
        for (int expert = 0; expert < count; expert++) {
            if (expected[expert] != 0) {
                assertEquals(expert, ids[place], rule + " " + Arrays.toString(logits));
                // one rounding to f32, and smaller roundings in double
                assertEquals(expected[expert], factors[place], 1.01 * U * expected[expert]);
                place++;
            }
        }
        assertEquals(used + 1, place);
    }

    @Test
    void aLogitThatIsNaNMakesAllFactorsNaN() {
        Router router = Router.of(zeros(4), 2);
        int[] ids = new int[2];
        float[] factors = new float[2];
        router.choose(new float[] {1, Float.NaN, 3, 2}, 0, ids, factors, 0, new double[4]);
        assertArrayEquals(new float[] {Float.NaN, Float.NaN}, factors);
        router.choose(new float[] {1, Float.NEGATIVE_INFINITY, 3, 2}, 0, ids, factors, 0, new double[4]);
        assertArrayEquals(new int[] {2, 3}, ids);
    }

    @Test
    void warmCallsAllocateNothing() {
        Case c = new Case(5);
        Buffers buffers = c.part.buffers(7);
        Tensor many = c.rows(7);
        Tensor one = c.rows(1);
        Tensor y = Tensor.of(new float[7 * c.dim], 7, c.dim);
        Tensor first = y.slice(0, 0, 1);
        for (Compute cpu : List.of(SERIAL, THREADS)) {
            assertEquals(0, WarmCalls.allocatedBytes(() -> {
                c.part.forward(cpu, many, y, buffers);
                c.part.forward(cpu, one, first, buffers);
            }));
        }
    }

    @Test
    void whatDoesNotFitIsNamed() {
        PackedLinear logits = zeros(3);
        assertRefused("used: 4; expected 1 to 3 experts", () -> Router.of(logits, 4));
        assertRefused("used: 0; expected 1 to 3 experts", () -> Router.of(logits, 0));
        Router router = Router.of(logits, 2);
        assertRefused("addends: shape [2]; expected [3]", () -> router.withSelectionBias(Tensor.of(new float[2])));
        assertRefused("factor: NaN; expected a finite number", () -> router.withScale(Double.NaN));
        FeedForward small = network(8, 8);
        FeedForward large = network(8, 9);
        assertRefused(
                "experts: 2 elements; expected 3, one per logit of the router",
                () -> Experts.of(router, List.of(small, small)));
        assertRefused(
                "experts[2]: FeedForward[dim=8, inner=9, gated=false, activation=NONE, products=1]; expected "
                        + "FeedForward[dim=8, inner=8, gated=false, activation=NONE, products=1], as experts[0]",
                () -> Experts.of(router, List.of(small, small, large)));
        FeedForward wide = network(9, 8);
        assertRefused(
                "router: 8 inputs; expected 9, as in the experts", () -> Experts.of(router, List.of(wide, wide, wide)));
        Experts experts = Experts.of(router, List.of(small, small, small));
        assertRefused("part: states of 9, 0 states of sequences; expected 8 and none", () -> experts.withShared(wide));
        assertEquals(experts.scratch(), experts.withShared(null).scratch());
        assertRefused("g: shape [7]; expected [8]", () -> small.withTokenGate(Tensor.of(new float[7])));
        FeedForward gated = small.withTokenGate(Tensor.of(new float[8]));
        assertRefused(
                "experts[0]: FeedForward[dim=8, inner=8, gated=false, activation=NONE, tokenGate, products=1]; expected "
                        + "networks without gates of tokens",
                () -> Experts.of(router, List.of(gated, gated, gated)));
        FeedForward biased = FeedForward.of(
                PackedLinear.of(PackedWeights.ofInputRows(Tensor.of(new float[64], 8, 8))),
                PackedLinear.of(PackedWeights.ofInputRows(Tensor.of(new float[64], 8, 8)), Tensor.of(new float[8])));
        assertRefused(
                "down: a layer with a bias; expected no bias, since the gate would not multiply it",
                () -> biased.withTokenGate(Tensor.of(new float[8])));
    }

    private static FeedForward network(int dim, int inner) {
        return FeedForward.of(
                PackedLinear.of(PackedWeights.ofInputRows(Tensor.of(new float[dim * inner], dim, inner))),
                PackedLinear.of(PackedWeights.ofInputRows(Tensor.of(new float[dim * inner], inner, dim))));
    }

    private static PackedLinear zeros(int outputs) {
        return PackedLinear.of(PackedWeights.ofInputRows(Tensor.of(new float[8 * outputs], 8, outputs)));
    }

    private static void assertRefused(String message, Runnable call) {
        assertEquals(
                message, assertThrows(IllegalArgumentException.class, call::run).getMessage());
    }
}
