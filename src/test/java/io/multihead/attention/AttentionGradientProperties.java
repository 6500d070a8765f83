package io.multihead.attention;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.reference.ReferenceAttention;
import io.multihead.reference.ReferenceAttentionGradient;
import io.multihead.reference.ReferenceDropout;
import io.multihead.reference.Tolerance;
import io.multihead.support.AttentionCase;
import io.multihead.support.Layout;
import io.multihead.support.Numbers;
import io.multihead.support.Promises;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.Arrays;
import java.util.SplittableRandom;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.EdgeCasesMode;
import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.Tag;
import net.jqwik.api.lifecycle.AfterContainer;
import org.jspecify.annotations.Nullable;

/** Attention backward against its specification, over everything a call can vary. */
@Tag("lanes")
class AttentionGradientProperties {
    private static final Compute SERIAL = Compute.serial();
    private static final Compute THREADS = Compute.threads(3);

    private static double worst;
    private static double worstOrdinary;

    @AfterContainer
    static void record() {
        Promises.BACKWARD_ANY.record(worst);
        Promises.BACKWARD.record(worstOrdinary);
    }

    /** Further outputs that the loss depends on, and dropout. */
    record Extra(boolean logSumExp, boolean weights, double dropout) {}

    @Provide
    Arbitrary<AttentionCase> cases() {
        return AttentionCase.any();
    }

    @Provide
    Arbitrary<Extra> extras() {
        return net.jqwik.api.Combinators.combine(
                        Arbitraries.of(false, false, true),
                        Arbitraries.of(false, false, true),
                        Arbitraries.of(0.0, 0.0, 0.3, 1.0))
                .as(Extra::new);
    }

    @Property(tries = 500, edgeCases = EdgeCasesMode.NONE)
    void staysWithinTheBound(@ForAll("cases") AttentionCase attentionCase, @ForAll("extras") Extra extra) {
        try (Arena arena = Arena.ofConfined()) {
            Trial trial = new Trial(arena, attentionCase, extra);
            AttentionGradients gradients =
                    trial.gradients(attentionCase.storage().results(), DType.F32);
            Attention.backward(SERIAL, trial.pass, trial.upstream, gradients);
            ReferenceAttentionGradient.Result expected = trial.reference();
            boolean ordinary = attentionCase.mean() == 0 && expected.maxScore() <= 10;
            double ratio = ratio(gradients.query(), expected.query());
            ratio = Math.max(ratio, ratio(gradients.key(), expected.key()));
            ratio = Math.max(ratio, ratio(gradients.value(), expected.value()));
            if (gradients.bias() != null) {
                ratio = Math.max(ratio, ratio(gradients.bias(), trial.biasOf(expected.score())));
            }
            if (ordinary) {
                worstOrdinary = Math.max(worstOrdinary, ratio);
            } else {
                worst = Math.max(worst, ratio);
            }
            double found = ratio;
            double limit = ordinary ? Tolerance.BACKWARD_ORDINARY : Tolerance.BACKWARD;
            assertTrue(ratio <= limit, () -> "R = " + found + ", limit " + limit);
            for (Tensor written : trial.written(gradients)) {
                assertTrue(Layout.untouchedOutside(written), "bytes around a gradient");
            }
        }
    }

    /** Shrunk from a failure: the dominant key dropped, and the other's weight too small for f32. */
    @Example
    void boundKnowsWeightsThatVanish() {
        AttentionCase.Sizes sizes = new AttentionCase.Sizes(2, 1, 2, 31, 2, 38, 3);
        AttentionCase.Storage storage =
                new AttentionCase.Storage(DType.F32, DType.F32, DType.F32, Layout.DENSE, Layout.DENSE);
        staysWithinTheBound(
                new AttentionCase(sizes, AttentionCase.MaskKind.BIAS_INFINITE, 3, 1, storage, 525399416),
                new Extra(false, false, 0.3));
    }

    @Property(tries = 150, edgeCases = EdgeCasesMode.NONE)
    void threadsAndLayoutChangeNoBit(
            @ForAll("cases") AttentionCase attentionCase, @ForAll("extras") Extra extra, @ForAll Layout layout) {
        try (Arena arena = Arena.ofShared()) {
            Trial trial = new Trial(arena, attentionCase, extra);
            AttentionGradients one = trial.gradients(Layout.DENSE, DType.F32);
            AttentionGradients many = trial.gradients(layout, DType.F32);
            Attention.backward(SERIAL, trial.pass, trial.upstream, one);
            Attention.backward(THREADS, trial.pass, trial.upstream, many);
            assertSame(trial, one, many);
        }
    }

    @Property(tries = 100, edgeCases = EdgeCasesMode.NONE)
    void eachGradientAloneHasTheSameBits(@ForAll("cases") AttentionCase attentionCase, @ForAll("extras") Extra extra) {
        try (Arena arena = Arena.ofShared()) {
            Trial trial = new Trial(arena, attentionCase, extra);
            AttentionGradients all = trial.gradients(Layout.DENSE, DType.F32);
            AttentionGradients alone = trial.gradients(Layout.DENSE, DType.F32);
            Attention.backward(SERIAL, trial.pass, trial.upstream, all);
            for (AttentionGradients part : new AttentionGradients[] {
                AttentionGradients.of(alone.query(), null, null),
                AttentionGradients.of(null, alone.key(), null),
                AttentionGradients.of(null, null, alone.value()),
                AttentionGradients.of(null, null, null).withBias(alone.bias())
            }) {
                Attention.backward(THREADS, trial.pass, trial.upstream, part);
            }
            assertSame(trial, all, alone);
        }
    }

    @Property(tries = 300, edgeCases = EdgeCasesMode.NONE)
    void dropoutDropsInForwardWhatItDropsInBackward(@ForAll("cases") AttentionCase attentionCase) {
        try (Arena arena = Arena.ofConfined()) {
            Trial trial = new Trial(arena, attentionCase, new Extra(false, false, 0.4));
            ReferenceAttention.Result expected = trial.call.forward();
            double ratio = Tolerance.ratio(
                    Numbers.of(trial.pass.outputs().output()), expected.output(), expected.errorScale(), DType.F32);
            assertTrue(ratio <= Tolerance.FORWARD, () -> "R = " + ratio);
        }
    }

    @Property(tries = 200, edgeCases = EdgeCasesMode.NONE)
    void garbageBehindTheMaskChangesNoBit(@ForAll("cases") AttentionCase attentionCase, @ForAll("extras") Extra extra) {
        try (Arena arena = Arena.ofConfined()) {
            Trial trial = new Trial(arena, attentionCase, extra);
            AttentionGradients clean = trial.gradients(Layout.DENSE, DType.F32);
            AttentionGradients spoilt = trial.gradients(Layout.DENSE, DType.F32);
            Attention.backward(SERIAL, trial.pass, trial.upstream, clean);
            AttentionInvariantProperties.spoilUnseenKeys(trial.built);
            Attention.backward(SERIAL, trial.pass, trial.upstream, spoilt);
            assertSame(trial, clean, spoilt);
        }
    }

    @Property(tries = 300, edgeCases = EdgeCasesMode.NONE)
    void nanReachesExactlyWhatSeesIt(@ForAll("cases") AttentionCase attentionCase, @ForAll long pick) {
        try (Arena arena = Arena.ofConfined()) {
            Trial trial = new Trial(arena, attentionCase, new Extra(false, false, 0));
            Tensor[] inputs = {trial.pass.query(), trial.pass.key(), trial.pass.value(), trial.upstream.output()};
            Tensor spoilt = inputs[(int) Math.floorMod(pick, 4L)];
            if (spoilt.dtype() == DType.I8 || spoilt.shape().elements() == 0) {
                return; // holds no NaN
            }
            long[] index = new long[4];
            for (int axis = 0; axis < 4; axis++) {
                index[axis] = Math.floorMod(pick / (axis + 3), spoilt.dim(axis));
            }
            spoilt.set(Double.NaN, index);
            AttentionPass pass = trial.pass;
            Attention.forward(SERIAL, pass.query(), pass.key(), pass.value(), pass.outputs(), pass.options());
            AttentionGradients gradients = trial.gradients(Layout.DENSE, DType.F32);
            Attention.backward(SERIAL, pass, trial.upstream, gradients);
            ReferenceAttentionGradient.Result expected = trial.reference();
            assertSameReach(expected.query(), gradients.query());
            assertSameReach(expected.key(), gradients.key());
            assertSameReach(expected.value(), gradients.value());
        }
    }

    private static void assertSameReach(ReferenceAttentionGradient.Part expected, Tensor actual) {
        double[] values = Numbers.of(actual);
        for (int i = 0; i < values.length; i++) {
            int at = i;
            assertEquals(
                    Double.isNaN(expected.values()[i]),
                    Double.isNaN(values[i]),
                    () -> "element " + at + ": " + values[at] + " for " + expected.values()[at]);
        }
    }

    private static void assertSame(Trial trial, AttentionGradients one, AttentionGradients other) {
        Tensor[] first = trial.written(one);
        Tensor[] second = trial.written(other);
        for (int i = 0; i < first.length; i++) {
            double[] expected = Numbers.of(first[i]);
            double[] actual = Numbers.of(second[i]);
            for (int e = 0; e < expected.length; e++) {
                assertEquals(Double.doubleToRawLongBits(expected[e]), Double.doubleToRawLongBits(actual[e]));
            }
        }
    }

    private static double ratio(Tensor actual, ReferenceAttentionGradient.Part expected) {
        return Tolerance.ratio(Numbers.of(actual), expected.values(), expected.errorScale(), actual.dtype());
    }

    /** One call, forward done, with random upstream gradients. */
    private static final class Trial {
        final Arena arena;
        final AttentionCase.Built built;
        final AttentionPass pass;
        final AttentionOutputs upstream;
        final ReferenceAttention.Call call;
        private final @Nullable Tensor bias;

        Trial(Arena arena, AttentionCase attentionCase, Extra extra) {
            this.arena = arena;
            built = attentionCase.build(arena);
            AttentionDropout dropout = new AttentionDropout(extra.dropout, attentionCase.seed());
            AttentionOptions options = built.options().withDropout(dropout);
            AttentionOutputs outputs = built.outputs(arena, Layout.DENSE, DType.F32, extra.weights)
                    .withLogSumExp(Layout.DENSE.allocate(
                            arena,
                            DType.F64,
                            built.query().dim(0),
                            built.query().dim(1),
                            built.query().dim(2)));
            pass = new AttentionPass(built.query(), built.key(), built.value(), outputs, options);
            Attention.forward(SERIAL, pass.query(), pass.key(), pass.value(), outputs, options);
            SplittableRandom random = new SplittableRandom(attentionCase.seed() + 1);
            AttentionOutputs gradients =
                    built.outputs(arena, attentionCase.storage().inputs(), DType.F32, extra.weights);
            Numbers.gaussian(gradients.output(), random, 0, 1);
            Numbers.gaussian(gradients.logSumExp(), random, 0, 1);
            if (extra.weights) {
                Numbers.gaussian(gradients.weights(), random, 0, 1);
            }
            upstream = new AttentionOutputs(
                    gradients.output(), extra.logSumExp ? gradients.logSumExp() : null, gradients.weights());
            ReferenceDropout factors =
                    extra.dropout == 0 ? ReferenceDropout.NONE : ReferenceDropout.philox(extra.dropout, dropout.seed());
            call = new ReferenceAttention.Call(
                    built.query(), built.key(), built.value(), built.scale(), built.rule(), factors);
            bias = BiasGradients.biasOf(options.mask());
        }

        ReferenceAttentionGradient.Result reference() {
            return ReferenceAttentionGradient.of(
                    call,
                    new ReferenceAttentionGradient.Upstream(
                            upstream.output(), upstream.logSumExp(), upstream.weights()));
        }

        AttentionGradients gradients(Layout layout, DType dtype) {
            AttentionGradients gradients = AttentionGradients.of(
                    layout.allocate(arena, dtype, pass.query().shape().toArray()),
                    layout.allocate(arena, dtype, pass.key().shape().toArray()),
                    layout.allocate(arena, dtype, pass.value().shape().toArray()));
            return bias == null
                    ? gradients
                    : gradients.withBias(
                            layout.allocate(arena, dtype, bias.shape().toArray()));
        }

        Tensor[] written(AttentionGradients gradients) {
            Tensor[] three = {gradients.query(), gradients.key(), gradients.value(), gradients.bias()};
            return gradients.bias() == null ? Arrays.copyOf(three, 3) : three;
        }

        ReferenceAttentionGradient.Part biasOf(ReferenceAttentionGradient.Part scores) {
            Tensor query = pass.query();
            return BiasGradients.sum(
                    scores,
                    bias,
                    query.dim(0),
                    query.dim(1),
                    query.dim(2),
                    pass.key().dim(2));
        }
    }
}
