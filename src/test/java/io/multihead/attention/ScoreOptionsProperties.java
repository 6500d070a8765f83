package io.multihead.attention;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.reference.ReferenceAttention;
import io.multihead.reference.ReferenceDropout;
import io.multihead.reference.Tolerance;
import io.multihead.support.AttentionCase;
import io.multihead.support.Layout;
import io.multihead.support.Numbers;
import io.multihead.support.ScoreCase;
import io.multihead.tensor.DType;
import java.lang.foreign.Arena;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.EdgeCasesMode;
import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.Tag;

/** Windows, blocks, caps, linear biases, sinks and modifiers, alone and in any combination, are compared with the specification. */
@Tag("lanes")
class ScoreOptionsProperties {
    private static final Compute SERIAL = Compute.serial();
    private static final Compute THREADS = Compute.threads(3);

    /**
     * A cap computes a quotient, tanh (6 units of roundoff, see ScoreOps) and a product. These are eight roundings of at most the score,
     * which kappa counts once.
     */
    private static final double CAPPED = 8;

    @Provide
    Arbitrary<AttentionCase> cases() {
        return AttentionCase.any();
    }

    @Provide
    Arbitrary<ScoreCase.Changes> extras() {
        return ScoreCase.changes();
    }

    @Property(tries = 800, edgeCases = EdgeCasesMode.NONE)
    void staysWithinTheBound(@ForAll("cases") AttentionCase attentionCase, @ForAll("extras") ScoreCase.Changes extra) {
        try (Arena arena = Arena.ofConfined()) {
            Trial trial = new Trial(arena, attentionCase, extra);
            AttentionOutputs outputs = trial.run(arena, SERIAL, false);
            ReferenceAttention.Result expected =
                    trial.score.call(ReferenceDropout.NONE).forward();
            double ratio = Tolerance.ratio(
                    Numbers.of(outputs.output()),
                    expected.output(),
                    expected.errorScale(),
                    attentionCase.storage().output());
            double limit = Tolerance.FORWARD + (extra.softCap() > 0 ? CAPPED : 0);
            assertTrue(ratio <= limit, () -> "R = " + ratio + ", limit " + limit);
            double[] lse = Numbers.of(outputs.logSumExp());
            for (int i = 0; i < lse.length; i++) {
                // each score has the calibrated number of roundings of its products, before any cap, and the 64
                // roundings of a sum
                double scores = Tolerance.FORWARD * (1 + trial.kappa);
                double allowed = 0x1p-24 * (64 + scores + 4 * Math.abs(expected.logSumExp()[i]));
                boolean close = Math.abs(lse[i] - expected.logSumExp()[i]) <= allowed;
                assertTrue(close || lse[i] == expected.logSumExp()[i], lse[i] + " for " + expected.logSumExp()[i]);
            }
        }
    }

    /** A reduced failure: scores of 80 under a cap of 2 have the rounding errors of scores of 80. */
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
                new ScoreCase.Changes(0, 0, 2, false, false, false, 0));
    }

    @Property(tries = 150, edgeCases = EdgeCasesMode.NONE)
    void threadsChangeNoBit(@ForAll("cases") AttentionCase attentionCase, @ForAll("extras") ScoreCase.Changes extra) {
        try (Arena arena = Arena.ofShared()) {
            Trial trial = new Trial(arena, attentionCase, extra);
            double[] one = Numbers.of(trial.run(arena, SERIAL, false).output());
            double[] many = Numbers.of(trial.run(arena, THREADS, false).output());
            assertArrayEquals(one, many);
        }
    }

    /** Weights with sinks sum to less than 1. The output is the sum of weighted values. */
    @Property(tries = 200, edgeCases = EdgeCasesMode.NONE)
    void weightsAreThoseOfTheSpecification(
            @ForAll("cases") AttentionCase attentionCase, @ForAll("extras") ScoreCase.Changes extra) {
        try (Arena arena = Arena.ofConfined()) {
            Trial trial = new Trial(arena, attentionCase, extra);
            double[] weights = Numbers.of(trial.run(arena, SERIAL, true).weights());
            ReferenceAttention.Result expected =
                    trial.score.call(ReferenceDropout.NONE).forward();
            int keys = attentionCase.sizes().keys();
            for (int i = 0; i < weights.length; i++) {
                int at = extra.sinks() ? i / keys * (keys + 1) + i % keys : i;
                // the error of a score is the roundings of a sum of headDim products, a cap and biases
                double allowed = expected.weights()[at] * 0x1p-24 * 64 * (8 + trial.kappa) + 0x1p-126;
                assertTrue(
                        Math.abs(weights[i] - expected.weights()[at]) <= allowed,
                        weights[i] + " for " + expected.weights()[at]);
            }
        }
    }

    /** A call with changes of the scores, and its specification. */
    static final class Trial {
        final AttentionCase attentionCase;
        final ScoreCase score;
        final double kappa;
        private final AttentionCase.Built built;

        Trial(Arena arena, AttentionCase attentionCase, ScoreCase.Changes extra) {
            this.attentionCase = attentionCase;
            score = new ScoreCase(arena, attentionCase, extra);
            built = score.built;
            kappa = Math.abs(built.scale()) * largestProducts() + 0.2 * 4 * largestDistance() + 8;
        }

        /** Returns the largest distance between a key and the position of a query. */
        private long largestDistance() {
            long most = 0;
            for (long offset : built.offsets()) {
                long last = offset + attentionCase.sizes().queries();
                most = Math.max(
                        most, Math.max(Math.abs(last), attentionCase.sizes().keys() - offset));
            }
            return most;
        }

        /** Returns the largest {@code sum |q||k|} of a query and a key. */
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
            Attention.forward(cpu, built.query(), built.key(), built.value(), outputs, score.options);
            return outputs;
        }
    }
}
