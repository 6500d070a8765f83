package io.multihead.attention;

import io.multihead.compute.Compute;
import io.multihead.reference.ReferenceAttention;
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
import org.jspecify.annotations.Nullable;

/** One call of attention after its forward pass, with random upstream gradients and the specification of its gradients. */
final class GradientTrial {
    final ScoreCase score;
    final AttentionPass pass;
    final AttentionOutputs upstream;
    private final Arena arena;
    private final ReferenceDropout dropout;
    private final @Nullable Tensor bias;

    /** Additional outputs on which the loss depends, and the dropout rate. */
    record Extra(boolean logSumExp, boolean weights, double dropout) {
        static final Extra NONE = new Extra(false, false, 0);
    }

    GradientTrial(Arena arena, AttentionCase attentionCase, ScoreCase.Changes changes, Extra extra) {
        this.arena = arena;
        score = new ScoreCase(arena, attentionCase, changes);
        AttentionCase.Built built = score.built;
        long seed = attentionCase.seed();
        AttentionOptions options = score.options.withDropout(new AttentionDropout(extra.dropout, seed));
        Shape query = built.query().shape();
        AttentionOutputs outputs = built.outputs(arena, Layout.DENSE, DType.F32, extra.weights)
                .withLogSumExp(Layout.DENSE.allocate(arena, DType.F64, query.dim(0), query.dim(1), query.dim(2)));
        pass = new AttentionPass(built.query(), built.key(), built.value(), outputs, options);
        forward();
        SplittableRandom random = new SplittableRandom(seed + 1);
        AttentionOutputs gradients =
                built.outputs(arena, attentionCase.storage().inputs(), DType.F32, extra.weights);
        Numbers.gaussian(gradients.output(), random, 0, 1);
        Numbers.gaussian(gradients.logSumExp(), random, 0, 1);
        if (extra.weights) {
            Numbers.gaussian(gradients.weights(), random, 0, 1);
        }
        upstream = new AttentionOutputs(
                gradients.output(), extra.logSumExp ? gradients.logSumExp() : null, gradients.weights());
        bias = BiasGradients.biasOf(options.mask());
        dropout = extra.dropout == 0 ? ReferenceDropout.NONE : ReferenceDropout.philox(extra.dropout, seed);
    }

    /** Computes the outputs from the current inputs. */
    void forward() {
        Attention.forward(Compute.serial(), pass.query(), pass.key(), pass.value(), pass.outputs(), pass.options());
    }

    void backward(Compute cpu, AttentionGradients gradients) {
        Attention.backward(cpu, pass, upstream, gradients);
    }

    /** Returns memory for all gradients that the call has. */
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

    static Tensor[] written(AttentionGradients gradients) {
        return Stream.of(gradients.query(), gradients.key(), gradients.value(), gradients.bias(), gradients.sinks())
                .filter(Objects::nonNull)
                .toArray(Tensor[]::new);
    }

    /** Returns the specification of the forward pass. */
    ReferenceAttention.Call call() {
        return score.call(dropout);
    }

    ReferenceAttentionGradient.Result reference() {
        return ReferenceAttentionGradient.of(
                call(),
                new ReferenceAttentionGradient.Upstream(
                        upstream.output(), upstream.logSumExp(), withSink(upstream.weights())));
    }

    /** The specification gives a sink the value 0, and 0 times NaN is NaN. A sink has no value, so NaN must not spread through it. */
    ReferenceAttentionGradient.Result referenceWithoutSinks() {
        return ReferenceAttentionGradient.of(
                score.callWithoutSinks(dropout),
                new ReferenceAttentionGradient.Upstream(upstream.output(), upstream.logSumExp(), null));
    }

    /** Returns the largest error of all gradients, in units of the error scale. */
    double ratio(AttentionGradients gradients, ReferenceAttentionGradient.Result expected) {
        double ratio = ratio(gradients.query(), expected.query());
        ratio = Math.max(ratio, ratio(gradients.key(), withoutSink(expected.key(), pass.key())));
        ratio = Math.max(ratio, ratio(gradients.value(), withoutSink(expected.value(), pass.value())));
        if (gradients.bias() != null) {
            ratio = Math.max(ratio, ratio(gradients.bias(), biasOf(expected.score())));
        }
        if (gradients.sinks() != null) {
            ratio = Math.max(ratio, ratio(gradients.sinks(), sinksOf(expected.score())));
        }
        return ratio;
    }

    private static double ratio(Tensor actual, ReferenceAttentionGradient.Part expected) {
        return Tolerance.ratio(Numbers.of(actual), expected.values(), expected.errorScale(), actual.dtype());
    }

    /** Appends a column of zeros to the gradients of weights, because no loss depends on the weight of the sink. */
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

    private ReferenceAttentionGradient.Part withoutSink(ReferenceAttentionGradient.Part part, Tensor rows) {
        return withoutSink(part, (int) rows.dim(3));
    }

    /** Removes the row of the sink, the last of each matrix. */
    private ReferenceAttentionGradient.Part withoutSink(ReferenceAttentionGradient.Part part, int dim) {
        int rows = (int) pass.key().dim(2) + 1;
        return score.sinks == null
                ? part
                : new ReferenceAttentionGradient.Part(
                        allButLast(part.values(), rows, dim), allButLast(part.errorScale(), rows, dim));
    }

    private static double[] allButLast(double[] values, int rows, int dim) {
        return IntStream.range(0, values.length)
                .filter(i -> i / dim % rows < rows - 1)
                .mapToDouble(i -> values[i])
                .toArray();
    }

    private ReferenceAttentionGradient.Part biasOf(ReferenceAttentionGradient.Part scores) {
        Tensor query = pass.query();
        return BiasGradients.sum(
                withoutSink(scores, 1),
                bias,
                query.dim(0),
                query.dim(1),
                query.dim(2),
                pass.key().dim(2));
    }

    /** Returns the gradients of the sinks' scores, summed over batch and queries. The error bounds are summed, too. */
    private ReferenceAttentionGradient.Part sinksOf(ReferenceAttentionGradient.Part scores) {
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
