package io.multihead.model;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.gemm.Activation;
import io.multihead.gemm.PackedWeights;
import io.multihead.reference.ReferenceActivation;
import io.multihead.reference.ReferenceExperts;
import io.multihead.reference.ReferenceTransformer;
import io.multihead.support.Bounded;
import io.multihead.support.WarmCalls;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import net.jqwik.api.EdgeCasesMode;
import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Tag;
import net.jqwik.api.constraints.IntRange;

/**
 * A feed-forward network in addition to experts, each with its norms, as in Gemma 4, is compared with plain loops. A
 * row has the same bits in any call.
 */
@Tag("lanes")
class BranchesProperties {
    private static final Compute SERIAL = Compute.serial();
    private static final Compute THREADS = Compute.threads(3);
    private static final double U = 0x1p-24;
    private static final int DIM = 48;
    private static final int INNER = 40;
    private static final int EXPERTS = 5;
    private static final double EPSILON = 0.1;

    /** Both branches, with some norms absent, and their specification. */
    private static final class Case {
        final SplittableRandom random;
        final Branches part;
        final boolean scaled;
        private final Norms before = new Norms();
        private final Norms after = new Norms();
        private final Norms beforeExperts = new Norms();
        private final Norms afterExperts = new Norms();
        private final Norms routers = new Norms();
        private final ReferenceTransformer.FeedForward network;
        private final ReferenceTransformer.Linear logits;
        private final ReferenceExperts.Rule rule = new ReferenceExperts.Rule(2, false, true, 1, null);
        private final List<ReferenceTransformer.FeedForward> experts = new ArrayList<>();
        private final float[] scales;

        /** An optional norm and its specification. */
        private static final class Norms {
            Norm norm;
            ReferenceTransformer.Norm reference;

            Bounded of(Bounded x) {
                return reference == null ? x : x.rms(reference.weight(), EPSILON);
            }
        }

        Case(long seed) {
            random = new SplittableRandom(seed);
            for (Norms each : List.of(before, after, beforeExperts, afterExperts, routers)) {
                if (random.nextInt(4) > 0) {
                    float[] weight = draw(DIM, 1, 0.3);
                    each.norm = Norm.rms(Tensor.of(weight), EPSILON);
                    each.reference = new ReferenceTransformer.Norm(wide(weight), null, EPSILON, false, false);
                }
            }
            PackedLinear[] packed = {null};
            List<FeedForward> parts = new ArrayList<>();
            network = network(parts);
            for (int i = 0; i < EXPERTS; i++) {
                experts.add(network(parts));
            }
            logits = linear(EXPERTS, DIM, packed);
            scaled = random.nextBoolean();
            scales = draw(EXPERTS, 1, 0.5);
            Router router =
                    Router.of(packed[0], 2).withNorm(routers.norm).withExpertScales(scaled ? Tensor.of(scales) : null);
            Experts mixture = Experts.of(router, parts.subList(1, parts.size())).withNorm(beforeExperts.norm);
            part = Branches.of(
                    new Sublayer(parts.get(0), before.norm, after.norm, null),
                    new Sublayer(mixture, null, afterExperts.norm, null));
        }

        private ReferenceTransformer.FeedForward network(List<FeedForward> parts) {
            PackedLinear[] packed = {null};
            ReferenceTransformer.Linear gate = linear(INNER, DIM, packed);
            PackedLinear gatePart = packed[0];
            ReferenceTransformer.Linear up = linear(INNER, DIM, packed);
            LinearGroup group = LinearGroup.of(gatePart, packed[0]);
            ReferenceTransformer.Linear down = linear(DIM, INNER, packed);
            parts.add(FeedForward.gated(Activation.SILU, group, packed[0]));
            return new ReferenceTransformer.FeedForward(gate, up, down, ReferenceActivation::silu);
        }

        private ReferenceTransformer.Linear linear(int outputs, int inputs, PackedLinear[] to) {
            float[] weight = draw(outputs * inputs, 0.3 / Math.sqrt(inputs), 1 / Math.sqrt(inputs));
            to[0] = PackedLinear.of(PackedWeights.ofOutputRows(Arena.ofAuto(), Tensor.of(weight, outputs, inputs)));
            return new ReferenceTransformer.Linear(wide(weight), null, outputs, inputs);
        }

        private float[] draw(int count, double mean, double deviation) {
            float[] values = new float[count];
            for (int i = 0; i < count; i++) {
                values[i] = (float) random.nextGaussian(mean, deviation);
            }
            return values;
        }

        /** Returns rows for which rounding cannot change the choice of experts. */
        Tensor rows(int count) {
            float[] all = new float[count * DIM];
            for (int row = 0; row < count; row++) {
                float[] one = draw(DIM, 0.2, 1);
                while (margin(wide(one)) < 1e-4) {
                    one = draw(DIM, 0.2, 1);
                }
                System.arraycopy(one, 0, all, row * DIM, DIM);
            }
            return Tensor.of(all, count, DIM);
        }

        private double margin(double... x) {
            double[] sorted =
                    routers.of(Bounded.exact(x)).linear(logits.weight()).values();
            Arrays.sort(sorted);
            return sorted[EXPERTS - 2] - sorted[EXPERTS - 3];
        }

        /** Returns the row of one token from the formula, with the error that rounding may cause. */
        Bounded expected(double... x) {
            Bounded row = Bounded.exact(x);
            Bounded read = beforeExperts.of(row);
            Bounded all = routers.of(row).linear(logits.weight());
            double[] factors = rule.factors(all.values());
            Bounded mixed = null;
            for (int expert = 0; expert < EXPERTS; expert++) {
                if (factors[expert] > 0) {
                    // a factor is a softmax of two scores: its slope by the difference of their logits is at most the
                    // factor itself
                    double error = factors[expert] * (2 * all.error() + 4 * U);
                    double scale = scaled ? scales[expert] : 1;
                    Bounded own = of(experts.get(expert), read).times(factors[expert] * scale, error * Math.abs(scale));
                    mixed = mixed == null ? own : mixed.plus(own);
                }
            }
            return after.of(of(network, before.of(row))).plus(afterExperts.of(mixed));
        }

        private static Bounded of(ReferenceTransformer.FeedForward network, Bounded x) {
            Bounded gate = x.linear(network.gate().weight()).silu();
            return gate.times(x.linear(network.up().weight()))
                    .linear(network.down().weight());
        }
    }

    private static double[] wide(float... values) {
        return IntStream.range(0, values.length).mapToDouble(i -> values[i]).toArray();
    }

    @Property(tries = 200, edgeCases = EdgeCasesMode.NONE)
    void rowsAreThoseOfTheSpecification(@ForAll long seed, @ForAll @IntRange(min = 1, max = 12) int rows) {
        Case c = new Case(seed);
        Tensor x = c.rows(rows);
        float[] actual = alone(c, THREADS, x);
        for (int row = 0; row < rows; row++) {
            Bounded expected = c.expected(wide(x.slice(0, row, row + 1).toArray()));
            for (int i = 0; i < DIM; i++) {
                double error = Math.abs(expected.values()[i] - actual[row * DIM + i]);
                assertTrue(error <= expected.errors()[i], "row " + row + ", element " + i + ": " + error);
            }
        }
    }

    @Example
    void theComparisonSeesANormThatIsMissing() {
        Case c = new Case(5);
        double[] x = wide(c.rows(1).toArray());
        Bounded right = c.expected(x);
        c.after.reference = null;
        Bounded wrong = c.expected(x);
        double farthest = 0;
        for (int i = 0; i < DIM; i++) {
            farthest = Math.max(farthest, Math.abs(right.values()[i] - wrong.values()[i]));
        }
        assertTrue(farthest > 20 * right.error(), farthest + " against " + right.error());
    }

    private static float[] alone(Case c, Compute cpu, Tensor x) {
        Tensor y = Tensor.of(new float[(int) x.dim(0) * DIM], x.dim(0), DIM);
        c.part.forward(cpu, x, y, c.part.buffers((int) x.dim(0)));
        return y.toArray();
    }

    @Property(tries = 60, edgeCases = EdgeCasesMode.NONE)
    void aRowHasItsBitsInAnyCall(@ForAll long seed, @ForAll @IntRange(min = 2, max = 30) int rows) {
        Case c = new Case(seed);
        Tensor x = c.rows(rows);
        float[] together = alone(c, THREADS, x);
        for (int row = 0; row < rows; row++) {
            float[] one = alone(c, SERIAL, x.slice(0, row, row + 1));
            assertArrayEquals(one, Arrays.copyOfRange(together, row * DIM, (row + 1) * DIM), "row " + row);
        }
    }

    @Example
    void warmCallsAllocateNothing() {
        Case c = new Case(5);
        Buffers buffers = c.part.buffers(7);
        Tensor x = c.rows(7);
        Tensor y = Tensor.of(new float[7 * DIM], 7, DIM);
        for (Compute cpu : List.of(SERIAL, THREADS)) {
            assertEquals(0, WarmCalls.allocatedBytes(() -> c.part.forward(cpu, x, y, buffers)));
        }
    }

    @Example
    void whatDoesNotFitIsNamed() {
        FeedForward small = network(8);
        Norm wrong = Norm.rms(Tensor.of(new float[9]), 0);
        Norm right = Norm.rms(Tensor.of(new float[8]), 0);
        assertRefused("branches: none; expected at least one", Branches::of);
        assertRefused(
                "branches[1]: states of 9; expected 8, as in the first, and no norm of sums",
                () -> Branches.of(new Sublayer(small, null, null, null), new Sublayer(network(9), null, null, null)));
        assertRefused(
                "branches[0]: states of 8, a norm of sums; expected 8, as in the first, and no norm of sums",
                () -> Branches.of(new Sublayer(small, null, null, right)));
        Router router = Router.of(PackedLinear.of(PackedWeights.ofInputRows(Tensor.of(new float[24], 8, 3))), 2);
        assertRefused("norm: 9 elements; expected the 8 of a state", () -> router.withNorm(wrong));
        assertRefused("factors: shape [2]; expected [3]", () -> router.withExpertScales(Tensor.of(new float[2])));
        assertRefused(
                "input: 9 elements; expected the 8 of a state",
                () -> Experts.of(router, List.of(small, small, small)).withNorm(wrong));
    }

    private static FeedForward network(int dim) {
        PackedLinear square = PackedLinear.of(PackedWeights.ofInputRows(Tensor.of(new float[dim * dim], dim, dim)));
        return FeedForward.of(square, square);
    }

    private static void assertRefused(String message, Runnable call) {
        assertEquals(
                message, assertThrows(IllegalArgumentException.class, call::run).getMessage());
    }
}
