package io.multihead.attention;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.reference.ReferenceAttention;
import io.multihead.reference.ScoreRule;
import io.multihead.reference.Tolerance;
import io.multihead.support.AttentionCase;
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
import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.Tag;

/** Windows, blocks, caps, linear biases, sinks and modifiers, alone and in any combination, against the specification. */
@Tag("lanes")
class ScoreOptionsProperties {
    private static final Compute SERIAL = Compute.serial();
    private static final Compute THREADS = Compute.threads(3);

    /**
     * A capped score has passed a quotient, tanh (6 units of roundoff, see ScoreOps) and a product: eight roundings of at
     * most the score, which kappa counts once.
     */
    private static final double CAPPED = 8;

    record Extra(long left, long right, double softCap, boolean slopes, boolean sinks, boolean modifier, int blocks) {}

    @Provide
    Arbitrary<AttentionCase> cases() {
        return AttentionCase.any();
    }

    @Provide
    Arbitrary<Extra> extras() {
        return anyExtra();
    }

    static Arbitrary<Extra> anyExtra() {
        Arbitrary<Long> side = Arbitraries.of(0L, 1L, 31L, 64L, 255L, 300L, Long.MAX_VALUE, Long.MAX_VALUE);
        Arbitrary<Boolean> flag = Arbitraries.of(false, false, true);
        return Combinators.combine(
                        side,
                        side,
                        Arbitraries.of(0.0, 0.0, 2.0, 30.0),
                        flag,
                        flag,
                        flag,
                        Arbitraries.of(0, 0, 32, 64, 256))
                .as(Extra::new);
    }

    @Property(tries = 800, edgeCases = EdgeCasesMode.NONE)
    void staysWithinTheBound(@ForAll("cases") AttentionCase attentionCase, @ForAll("extras") Extra extra) {
        try (Arena arena = Arena.ofConfined()) {
            Trial trial = new Trial(arena, attentionCase, extra);
            AttentionOutputs outputs = trial.run(arena, SERIAL, false);
            ReferenceAttention.Result expected = trial.expected(arena);
            double ratio = Tolerance.ratio(
                    Numbers.of(outputs.output()),
                    expected.output(),
                    expected.errorScale(),
                    attentionCase.storage().output());
            double limit = Tolerance.FORWARD + (extra.softCap > 0 ? CAPPED : 0);
            assertTrue(ratio <= limit, () -> "R = " + ratio + ", limit " + limit);
            double[] lse = Numbers.of(outputs.logSumExp());
            for (int i = 0; i < lse.length; i++) {
                // each score within the calibrated number of roundings of its products, before any cap, and a sum's 64
                double scores = Tolerance.FORWARD * (1 + trial.kappa);
                double allowed = 0x1p-24 * (64 + scores + 4 * Math.abs(expected.logSumExp()[i]));
                boolean close = Math.abs(lse[i] - expected.logSumExp()[i]) <= allowed;
                assertTrue(close || lse[i] == expected.logSumExp()[i], lse[i] + " for " + expected.logSumExp()[i]);
            }
        }
    }

    /** Shrunk from a failure: scores of 80 under a cap of 2, whose roundings are those of 80. */
    @Example
    void roundingsAreThoseBeforeTheCap() {
        staysWithinTheBound(
                new AttentionCase(
                        new AttentionCase.Sizes(2, 1, 1, 5, 3, 257, 2),
                        AttentionCase.MaskKind.BIAS,
                        3,
                        0,
                        new AttentionCase.Storage(DType.F32, DType.F32, DType.F32, Layout.DENSE, Layout.DENSE),
                        -37),
                new Extra(0, 0, 2, false, false, false, 0));
    }

    @Property(tries = 150, edgeCases = EdgeCasesMode.NONE)
    void threadsChangeNoBit(@ForAll("cases") AttentionCase attentionCase, @ForAll("extras") Extra extra) {
        try (Arena arena = Arena.ofShared()) {
            Trial trial = new Trial(arena, attentionCase, extra);
            double[] one = Numbers.of(trial.run(arena, SERIAL, false).output());
            double[] many = Numbers.of(trial.run(arena, THREADS, false).output());
            assertArrayEquals(one, many);
        }
    }

    /** Weights with sinks sum to less than 1: their output is still the sum of weighted values. */
    @Property(tries = 200, edgeCases = EdgeCasesMode.NONE)
    void weightsAreThoseOfTheSpecification(
            @ForAll("cases") AttentionCase attentionCase, @ForAll("extras") Extra extra) {
        try (Arena arena = Arena.ofConfined()) {
            Trial trial = new Trial(arena, attentionCase, extra);
            double[] weights = Numbers.of(trial.run(arena, SERIAL, true).weights());
            ReferenceAttention.Result expected = trial.expected(arena);
            int keys = attentionCase.sizes().keys();
            for (int i = 0; i < weights.length; i++) {
                int at = extra.sinks ? i / keys * (keys + 1) + i % keys : i;
                // a score of size s is off by the roundings of a sum of headDim products, a cap and biases
                double allowed = expected.weights()[at] * 0x1p-24 * 64 * (8 + trial.kappa) + 0x1p-126;
                assertTrue(
                        Math.abs(weights[i] - expected.weights()[at]) <= allowed,
                        weights[i] + " for " + expected.weights()[at]);
            }
        }
    }

    /** A call with these extras, and its specification. */
    static final class Trial {
        final AttentionCase.Built built;
        final AttentionCase attentionCase;
        final AttentionOptions options;
        final float[] sinks;
        final double kappa;
        final ScoreRule rule;

        Trial(Arena arena, AttentionCase attentionCase, Extra extra) {
            this.attentionCase = attentionCase;
            built = attentionCase.build(arena);
            AttentionCase.Sizes sizes = attentionCase.sizes();
            int heads = sizes.kvHeads() * sizes.group();
            SplittableRandom random = new SplittableRandom(attentionCase.seed() + 2);
            ScoreOptions scores = ScoreOptions.NONE;
            ScoreRule changed = ScoreRule.NONE;
            if (extra.softCap > 0) {
                scores = scores.withSoftCap(extra.softCap);
                changed = changed.and(ScoreRule.softCap(extra.softCap));
            }
            if (extra.slopes) {
                float[] slopes = floats(random, heads, 0.2);
                double[] exact = new double[heads];
                Arrays.setAll(exact, h -> slopes[h]);
                scores = scores.withSlopes(slopes);
                changed = changed.and(ScoreRule.alibiFrom(exact, built.offsets()));
            }
            changed = changed.and(built.rule());
            Mask mask = built.options().mask().and(Mask.window(extra.left, extra.right));
            changed = changed.and(ScoreRule.windowFrom(extra.left, extra.right, built.offsets()));
            if (extra.blocks > 0) {
                Tensor kept = Numbers.fill(
                        Layout.DENSE.allocate(
                                arena,
                                DType.I8,
                                random.nextBoolean() ? 1 : heads,
                                Math.ceilDiv(sizes.queries(), extra.blocks),
                                Math.ceilDiv(sizes.keys(), extra.blocks)),
                        () -> random.nextInt(3) == 0 ? 0 : 1);
                mask = mask.and(Mask.blocks(kept, extra.blocks));
                changed = changed.and(ScoreRule.blocks(kept, extra.blocks));
            }
            if (extra.modifier) {
                scores = scores.withModifier(
                        (b, h, q, k, s) -> (q + k + h) % 7 == 3 ? Float.NEGATIVE_INFINITY : s * 0.5f);
                changed = changed.and((b, h, q, k, s) -> (q + k + h) % 7 == 3 ? Double.NEGATIVE_INFINITY : s * 0.5);
            }
            sinks = extra.sinks ? floats(random, heads, 2) : null;
            scores = extra.sinks ? scores.withSinks(sinks) : scores;
            options = built.options().withMask(mask).withScores(scores);
            rule = changed;
            kappa = Math.abs(built.scale()) * largestProducts() + 0.2 * 4 * largestDistance() + 8;
        }

        /** The largest distance of a key from the position of a query. */
        private long largestDistance() {
            long most = 0;
            for (long offset : built.offsets()) {
                long last = offset + attentionCase.sizes().queries();
                most = Math.max(
                        most, Math.max(Math.abs(last), attentionCase.sizes().keys() - offset));
            }
            return most;
        }

        /** The largest {@code sum |q||k|} of a query and a key. */
        private double largestProducts() {
            double[] queries = Numbers.of(built.query());
            double[] keys = Numbers.of(built.key());
            int headDim = attentionCase.sizes().headDim();
            int perKeyHead =
                    attentionCase.sizes().group() * attentionCase.sizes().queries();
            double largest = 0;
            for (int q = 0; q < queries.length / headDim; q++) {
                for (int k = 0; k < attentionCase.sizes().keys(); k++) {
                    double sum = 0;
                    int at = (q / perKeyHead * attentionCase.sizes().keys() + k) * headDim;
                    for (int d = 0; d < headDim; d++) {
                        sum += Math.abs(queries[q * headDim + d] * keys[at + d]);
                    }
                    largest = Math.max(largest, sum);
                }
            }
            return largest;
        }

        AttentionOutputs run(Arena arena, Compute cpu, boolean weights) {
            AttentionOutputs outputs = built.outputs(
                    arena,
                    attentionCase.storage().results(),
                    attentionCase.storage().output(),
                    weights);
            Attention.forward(cpu, built.query(), built.key(), built.value(), outputs, options);
            return outputs;
        }

        /** A sink is one more key, whose value is 0. */
        ReferenceAttention.Result expected(Arena arena) {
            if (sinks == null) {
                return ReferenceAttention.forward(built.query(), built.key(), built.value(), built.scale(), rule);
            }
            long keys = built.key().dim(2);
            ScoreRule withSink = (b, h, i, j, score) -> j == keys ? sinks[(int) h] : rule.apply(b, h, i, j, score);
            return ReferenceAttention.forward(
                    built.query(), longer(arena, built.key()), longer(arena, built.value()), built.scale(), withSink);
        }

        private static Tensor longer(Arena arena, Tensor tensor) {
            Tensor copy = Layout.DENSE.allocate(
                    arena, DType.F64, tensor.dim(0), tensor.dim(1), tensor.dim(2) + 1, tensor.dim(3));
            for (long b = 0; b < tensor.dim(0); b++) {
                for (long h = 0; h < tensor.dim(1); h++) {
                    for (long j = 0; j <= tensor.dim(2); j++) {
                        for (long d = 0; d < tensor.dim(3); d++) {
                            copy.set(j < tensor.dim(2) ? tensor.get(b, h, j, d) : 0, b, h, j, d);
                        }
                    }
                }
            }
            return copy;
        }

        private static float[] floats(SplittableRandom random, int count, double spread) {
            float[] values = new float[count];
            for (int i = 0; i < count; i++) {
                values[i] = (float) (spread * random.nextGaussian());
            }
            return values;
        }
    }
}
