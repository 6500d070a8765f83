package io.multihead.attention;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.reference.ReferenceAttentionGradient;
import io.multihead.reference.ReferenceDropout;
import io.multihead.reference.Tolerance;
import io.multihead.support.AttentionCase;
import io.multihead.support.Layout;
import io.multihead.support.Numbers;
import io.multihead.support.ScoreCase;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.EdgeCasesMode;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.Tag;
import org.jspecify.annotations.Nullable;

/** Backward with windows, blocks, caps, linear biases and sinks, alone and in any combination, against the specification. */
@Tag("lanes")
class ScoreGradientProperties {
    private static final Compute SERIAL = Compute.serial();
    private static final Compute THREADS = Compute.threads(3);

    /** Further outputs that the loss depends on, and dropout. */
    record Upstream(boolean logSumExp, boolean weights, double dropout) {}

    @Provide
    Arbitrary<AttentionCase> cases() {
        return AttentionCase.any();
    }

    @Provide
    Arbitrary<ScoreCase.Changes> changes() {
        return ScoreCase.changes().map(ScoreCase.Changes::differentiable);
    }

    @Provide
    Arbitrary<Upstream> upstreams() {
        Arbitrary<Boolean> flag = Arbitraries.of(false, false, true);
        return net.jqwik.api.Combinators.combine(flag, flag, Arbitraries.of(0.0, 0.0, 0.3))
                .as(Upstream::new);
    }

    @Property(tries = 500, edgeCases = EdgeCasesMode.NONE)
    void staysWithinTheBound(
            @ForAll("cases") AttentionCase attentionCase,
            @ForAll("changes") ScoreCase.Changes changes,
            @ForAll("upstreams") Upstream upstream) {
        try (Arena arena = Arena.ofConfined()) {
            Trial trial = new Trial(arena, attentionCase, changes, upstream);
            AttentionGradients gradients =
                    trial.gradients(attentionCase.storage().results());
            Attention.backward(SERIAL, trial.pass, trial.upstream, gradients);
            ReferenceAttentionGradient.Result expected = trial.reference();
            double ratio = ratio(gradients.query(), expected.query());
            ratio = Math.max(
                    ratio,
                    ratio(
                            gradients.key(),
                            trial.withoutSink(
                                    expected.key(), attentionCase.sizes().headDim())));
            ratio = Math.max(
                    ratio,
                    ratio(
                            gradients.value(),
                            trial.withoutSink(
                                    expected.value(), attentionCase.sizes().valueDim())));
            if (gradients.bias() != null) {
                ratio = Math.max(ratio, ratio(gradients.bias(), trial.biasOf(expected.score())));
            }
            if (gradients.sinks() != null) {
                ratio = Math.max(ratio, ratio(gradients.sinks(), trial.sinksOf(expected.score())));
            }
            boolean ordinary = attentionCase.mean() == 0 && expected.maxScore() <= 10;
            double limit = ordinary ? Tolerance.BACKWARD_ORDINARY : Tolerance.BACKWARD;
            double found = ratio;
            assertTrue(found <= limit, () -> "R = " + found + ", limit " + limit);
            for (Tensor written : written(gradients)) {
                assertTrue(Layout.untouchedOutside(written), "bytes around a gradient");
            }
        }
    }

    @Property(tries = 150, edgeCases = EdgeCasesMode.NONE)
    void threadsAndPartsChangeNoBit(
            @ForAll("cases") AttentionCase attentionCase,
            @ForAll("changes") ScoreCase.Changes changes,
            @ForAll("upstreams") Upstream upstream) {
        try (Arena arena = Arena.ofShared()) {
            Trial trial = new Trial(arena, attentionCase, changes, upstream);
            AttentionGradients one = trial.gradients(Layout.DENSE);
            AttentionGradients many = trial.gradients(Layout.DENSE);
            AttentionGradients alone = trial.gradients(Layout.DENSE);
            Attention.backward(SERIAL, trial.pass, trial.upstream, one);
            Attention.backward(THREADS, trial.pass, trial.upstream, many);
            for (AttentionGradients part : new AttentionGradients[] {
                AttentionGradients.of(alone.query(), null, null),
                AttentionGradients.of(null, alone.key(), null),
                AttentionGradients.of(null, null, alone.value()),
                AttentionGradients.of(null, null, null).withBias(alone.bias()),
                AttentionGradients.of(null, null, null).withSinks(alone.sinks())
            }) {
                Attention.backward(THREADS, trial.pass, trial.upstream, part);
            }
            for (int i = 0; i < written(one).length; i++) {
                assertArrayEquals(Numbers.of(written(one)[i]), Numbers.of(written(many)[i]));
                assertArrayEquals(Numbers.of(written(one)[i]), Numbers.of(written(alone)[i]));
            }
        }
    }

    @Property(tries = 200, edgeCases = EdgeCasesMode.NONE)
    void nanReachesExactlyWhatSeesIt(
            @ForAll("cases") AttentionCase attentionCase,
            @ForAll("changes") ScoreCase.Changes changes,
            @ForAll long pick) {
        try (Arena arena = Arena.ofConfined()) {
            Trial trial = new Trial(arena, attentionCase, changes, new Upstream(false, false, 0));
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
            AttentionGradients gradients = trial.gradients(Layout.DENSE);
            Attention.backward(SERIAL, pass, trial.upstream, gradients);
            ReferenceAttentionGradient.Result expected = trial.referenceWithoutSinks();
            assertSameReach(expected.query(), gradients.query());
            assertSameReach(expected.key(), gradients.key());
            assertSameReach(expected.value(), gradients.value());
        }
    }

    private static void assertSameReach(ReferenceAttentionGradient.Part expected, Tensor actual) {
        double[] values = Numbers.of(actual);
        for (int i = 0; i < values.length; i++) {
            assertEquals(Double.isNaN(expected.values()[i]), Double.isNaN(values[i]), "element " + i);
        }
    }

    private static Tensor[] written(AttentionGradients gradients) {
        return Stream.of(gradients.query(), gradients.key(), gradients.value(), gradients.bias(), gradients.sinks())
                .filter(Objects::nonNull)
                .toArray(Tensor[]::new);
    }

    private static double ratio(Tensor actual, ReferenceAttentionGradient.Part expected) {
        return Tolerance.ratio(Numbers.of(actual), expected.values(), expected.errorScale(), actual.dtype());
    }

    /** One call, forward done, with random upstream gradients. */
    private static final class Trial {
        final AttentionPass pass;
        final AttentionOutputs upstream;
        private final Arena arena;
        private final ScoreCase score;
        private final ReferenceDropout dropout;
        private final @Nullable Tensor bias;

        Trial(Arena arena, AttentionCase attentionCase, ScoreCase.Changes changes, Upstream kind) {
            this.arena = arena;
            score = new ScoreCase(arena, attentionCase, changes);
            AttentionCase.Built built = score.built;
            long seed = attentionCase.seed();
            AttentionOptions options = score.options.withDropout(new AttentionDropout(kind.dropout, seed));
            Shape query = built.query().shape();
            AttentionOutputs outputs = built.outputs(arena, Layout.DENSE, DType.F32, kind.weights)
                    .withLogSumExp(Layout.DENSE.allocate(arena, DType.F64, query.dim(0), query.dim(1), query.dim(2)));
            pass = new AttentionPass(built.query(), built.key(), built.value(), outputs, options);
            Attention.forward(SERIAL, pass.query(), pass.key(), pass.value(), outputs, options);
            SplittableRandom random = new SplittableRandom(seed + 1);
            AttentionOutputs gradients =
                    built.outputs(arena, attentionCase.storage().inputs(), DType.F32, kind.weights);
            Numbers.gaussian(gradients.output(), random, 0, 1);
            Numbers.gaussian(gradients.logSumExp(), random, 0, 1);
            if (kind.weights) {
                Numbers.gaussian(gradients.weights(), random, 0, 1);
            }
            upstream = new AttentionOutputs(
                    gradients.output(), kind.logSumExp ? gradients.logSumExp() : null, gradients.weights());
            bias = BiasGradients.biasOf(options.mask());
            dropout = kind.dropout == 0 ? ReferenceDropout.NONE : ReferenceDropout.philox(kind.dropout, seed);
        }

        ReferenceAttentionGradient.Result reference() {
            return ReferenceAttentionGradient.of(
                    score.call(dropout),
                    new ReferenceAttentionGradient.Upstream(
                            upstream.output(), upstream.logSumExp(), withSink(upstream.weights())));
        }

        /** A sink has no value that NaN could multiply, and so carries it nowhere; the specification's value of 0 would. */
        ReferenceAttentionGradient.Result referenceWithoutSinks() {
            return ReferenceAttentionGradient.of(
                    score.callWithoutSinks(dropout),
                    new ReferenceAttentionGradient.Upstream(upstream.output(), upstream.logSumExp(), null));
        }

        /** Weights' gradients with a column of zeros for the sink, which no loss sees. */
        private @Nullable Tensor withSink(@Nullable Tensor weights) {
            if (weights == null || score.sinks == null) {
                return weights;
            }
            long[] dims = weights.shape().toArray();
            Tensor wider = Layout.DENSE.allocate(arena, weights.dtype(), dims[0], dims[1], dims[2], dims[3] + 1);
            weights.copyTo(wider.slice(3, 0, dims[3]));
            wider.slice(3, dims[3], dims[3] + 1).fill(0);
            return wider;
        }

        AttentionGradients gradients(Layout layout) {
            AttentionGradients gradients = AttentionGradients.of(
                    layout.allocate(arena, DType.F32, pass.query().shape().toArray()),
                    layout.allocate(arena, DType.F32, pass.key().shape().toArray()),
                    layout.allocate(arena, DType.F32, pass.value().shape().toArray()));
            if (bias != null) {
                gradients = gradients.withBias(
                        layout.allocate(arena, DType.F32, bias.shape().toArray()));
            }
            return score.sinks == null
                    ? gradients
                    : gradients.withSinks(
                            layout.allocate(arena, DType.F32, pass.query().dim(1)));
        }

        /** Removes the row of the sink, the last of each matrix. */
        ReferenceAttentionGradient.Part withoutSink(ReferenceAttentionGradient.Part part, int dim) {
            int rows = (int) pass.key().dim(2) + 1;
            return score.sinks == null
                    ? part
                    : new ReferenceAttentionGradient.Part(
                            rows(part.values(), rows, dim), rows(part.errorScale(), rows, dim));
        }

        private static double[] rows(double[] values, int rows, int dim) {
            return IntStream.range(0, values.length)
                    .filter(i -> i / dim % rows < rows - 1)
                    .mapToDouble(i -> values[i])
                    .toArray();
        }

        ReferenceAttentionGradient.Part biasOf(ReferenceAttentionGradient.Part scores) {
            Tensor query = pass.query();
            return BiasGradients.sum(
                    withoutSink(scores, 1),
                    bias,
                    query.dim(0),
                    query.dim(1),
                    query.dim(2),
                    pass.key().dim(2));
        }

        /** The gradients of the sinks' scores, summed over batch and queries; bounds add up. */
        ReferenceAttentionGradient.Part sinksOf(ReferenceAttentionGradient.Part scores) {
            int keys = (int) pass.key().dim(2) + 1;
            int heads = (int) pass.query().dim(1);
            int queries = (int) pass.query().dim(2);
            double[] values = new double[heads];
            double[] bounds = new double[heads];
            for (int row = 0; row < scores.values().length / keys; row++) {
                values[row / queries % heads] += scores.values()[row * keys + keys - 1];
                bounds[row / queries % heads] += scores.errorScale()[row * keys + keys - 1];
            }
            for (int h = 0; h < heads; h++) {
                // the sum is kept in f64 and rounded once
                bounds[h] += Tolerance.storage(values[h], DType.F32);
            }
            return new ReferenceAttentionGradient.Part(values, bounds);
        }
    }
}
