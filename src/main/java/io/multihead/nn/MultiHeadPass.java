package io.multihead.nn;

import io.multihead.attention.Attention;
import io.multihead.attention.AttentionDropout;
import io.multihead.attention.AttentionGradients;
import io.multihead.attention.AttentionOptions;
import io.multihead.attention.AttentionOutputs;
import io.multihead.attention.AttentionPass;
import io.multihead.compute.Compute;
import io.multihead.internal.Checks;
import io.multihead.internal.call.Operation;
import io.multihead.internal.exec.Execution;
import io.multihead.nn.MultiHeadAttention.Config;
import io.multihead.tensor.Tensor;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A recorded call of {@link MultiHeadAttention}. Keeps the projected heads, their attention and its log-sum-exp, all linear in
 * the number of tokens. For one thread at a time; inputs, outputs and parameters must not change before it is closed.
 */
public final class MultiHeadPass implements Pass {
    private final Compute cpu;
    private final Parameters parameters;
    private final Config config;
    private final MultiHeadInputs inputs;
    private final MultiHeadOutputs outputs;
    private final Axes axes;
    private final Temporaries temporaries;
    private final TrainedProjections projections;
    private final @Nullable ExtraKeys extraKeys;
    private final AttentionOptions options;
    private final AttentionDropout extraDropout;
    /** {@code [batch, tokens, heads * valueDim]}, before the head mask. */
    private final Tensor attended;

    private final AttentionOutputs attention;
    private final Pass output;
    private boolean open = true;

    private MultiHeadPass(
            Compute cpu,
            Parameters parameters,
            MultiHeadInputs inputs,
            MultiHeadOutputs outputs,
            AttentionDropout dropout) {
        this.cpu = cpu;
        this.parameters = parameters;
        this.config = parameters.config();
        this.inputs = inputs;
        this.outputs = outputs;
        axes = CallCheck.check(cpu, parameters, inputs, outputs);
        temporaries = new Temporaries(cpu);
        Tensor query = ForwardPass.grouped(axes, temporaries, inputs.query());
        Tensor key = inputs.key() == inputs.query() ? query : ForwardPass.grouped(axes, temporaries, inputs.key());
        Tensor value = inputs.value() == inputs.key() ? key : ForwardPass.grouped(axes, temporaries, inputs.value());
        projections = TrainedProjections.record(cpu, temporaries, parameters, query, key, value);
        extraKeys = ExtraKeys.of(parameters);
        options = ForwardPass.options(config, inputs, query.dim(0), query.dim(1), key.dim(1))
                .withDropout(dropout);
        // the extra keys are counted from 0 too: another seed, so that they are not dropped with the first keys
        extraDropout = new AttentionDropout(dropout.rate(), ~dropout.seed());
        attended = temporaries.f32(
                query.dim(0),
                query.dim(1),
                config.heads().queryHeads() * config.heads().valueDim());
        attention = attend();
        output = projectOutput();
    }

    /** Checks everything, computes the outputs and keeps what backward needs. */
    @SuppressWarnings("try") // the call ends with the block
    static MultiHeadPass record(
            Compute cpu, Parameters parameters, MultiHeadInputs inputs, MultiHeadOutputs outputs, long seed) {
        double rate = parameters.config().options().dropout().rate();
        try (Execution.Running call = Operation.execution(cpu).begin()) {
            return new MultiHeadPass(cpu, parameters, inputs, outputs, new AttentionDropout(rate, seed));
        }
    }

    private AttentionOutputs attend() {
        Tensor heads = Views.splitHeads(attended, config.heads().queryHeads());
        Tensor logSumExp = temporaries.f64(heads.dim(0), heads.dim(1), heads.dim(2));
        AttentionOutputs kept = AttentionOutputs.of(heads).withLogSumExp(logSumExp);
        HeadWeights weights = HeadWeights.of(config, temporaries, projections.projected(), outputs);
        AttentionOutputs written = weights.keys() == null ? kept : kept.withWeights(weights.keys());
        Projections.Projected projected = projections.projected();
        Attention.forward(cpu, projected.query(), projected.key(), projected.value(), written, options);
        if (extraKeys != null) {
            extraKeys.merge(cpu, temporaries, projected.query(), written, extraDropout, weights.extra());
        }
        weights.deliver(temporaries, outputs);
        return kept;
    }

    private Pass projectOutput() {
        Tensor masked = attended;
        if (inputs.headMask() != null) {
            masked = temporaries.f32(attended.shape().toArray());
            attended.copyTo(masked);
            HeadMask.apply(Views.splitHeads(masked, config.heads().queryHeads()), inputs.headMask());
        }
        Linear linear = Linear.of(parameters.get(Parameters.OUTPUT_WEIGHT), parameters.find(Parameters.OUTPUT_BIAS));
        long features = config.widths().outputShape().elements();
        Tensor dense = temporaries.f32(attended.dim(0), attended.dim(1), features);
        Pass pass = linear.record(cpu, masked, dense, 0);
        Tensor ordered = axes.inOrder(outputs.output());
        dense.reshape(ordered.shape().toArray()).copyTo(ordered);
        return pass;
    }

    /**
     * Computes the gradients of self-attention; for other calls of {@code record}, see the other method.
     *
     * @throws IllegalArgumentException if query, key and value were not one tensor, a shape does not fit, or tensors overlap
     */
    @Override
    public void backward(Tensor outputGradient, @Nullable Tensor inputGradient, Map<String, Tensor> gradients) {
        boolean self = inputs.query() == inputs.key() && inputs.key() == inputs.value();
        if (inputGradient != null && !self) {
            throw Checks.fail(
                    "inputGradient", "one tensor", "expected MultiHeadGradients, as query, key and value were several");
        }
        backward(outputGradient, MultiHeadGradients.of(inputGradient), gradients);
    }

    /**
     * Computes gradients of some loss from its gradient with respect to the output. May be called several times.
     *
     * @param outputGradient of the output's shape
     * @param inputGradients where the gradients of what the call read go, written
     * @param gradients by the names of {@link MultiHeadAttention#parameters}: the parameters' gradients are added to them;
     *     parameters without a tensor here are left out
     * @throws IllegalArgumentException if a shape does not fit or tensors overlap, before anything is written
     * @throws IllegalStateException if the pass is closed
     */
    public void backward(Tensor outputGradient, MultiHeadGradients inputGradients, Map<String, Tensor> gradients) {
        if (!open) {
            throw new IllegalStateException("pass: closed; expected an open one");
        }
        BackwardCheck.check(cpu, parameters, inputs, outputs, outputGradient, inputGradients, gradients);
        try (Temporaries scratch = Temporaries.ofCall(cpu)) {
            back(scratch, outputGradient, inputGradients, gradients);
        }
    }

    private void back(
            Temporaries scratch,
            Tensor outputGradient,
            MultiHeadGradients inputGradients,
            Map<String, Tensor> gradients) {
        Tensor upstream = scratch.f32(attended.shape().toArray());
        Map<String, Tensor> own = new LinkedHashMap<>();
        putIfPresent(own, "weight", gradients.get(Parameters.OUTPUT_WEIGHT));
        putIfPresent(own, "bias", config.extras().bias() ? gradients.get(Parameters.OUTPUT_BIAS) : null);
        output.backward(denseGradient(scratch, outputGradient), upstream, own);
        Tensor heads = Views.splitHeads(upstream, config.heads().queryHeads());
        if (inputGradients.headMask() != null) {
            HeadMask.gradient(attention.output(), heads, inputGradients.headMask());
        }
        if (inputs.headMask() != null) {
            HeadMask.apply(heads, inputs.headMask());
        }
        Projections.Projected into = projections.gradients(scratch);
        attendBack(scratch, heads, into, inputGradients.scoreBias(), gradients);
        projections.backward(scratch, axes, inputs, inputGradients, gradients);
    }

    /** {@code [batch, tokens, features]} of any output gradient. */
    private Tensor denseGradient(Temporaries scratch, Tensor outputGradient) {
        Tensor ordered = axes.inOrder(outputGradient);
        Tensor dense = scratch.f32(ordered.shape().toArray());
        ordered.copyTo(dense);
        return dense.reshape(
                attended.dim(0), attended.dim(1), config.widths().outputShape().elements());
    }

    /**
     * Back through attention. The extra keys are a second part of the same softmax: with log-sum-exp and output of the whole,
     * each part's backward gives its own gradients exactly, and the query's are their sum.
     */
    private void attendBack(
            Temporaries scratch,
            Tensor upstream,
            Projections.Projected into,
            @Nullable Tensor scoreBias,
            Map<String, Tensor> gradients) {
        Projections.Projected projected = projections.projected();
        AttentionPass pass =
                new AttentionPass(projected.query(), projected.key(), projected.value(), attention, options);
        AttentionGradients to = AttentionGradients.of(into.query(), into.key(), into.value());
        if (scoreBias != null) {
            boolean shared = scoreBias.rank() == 2;
            Tensor query = projected.query();
            to = to.withBias(
                    shared ? scoreBias : scoreBias.reshape(query.dim(0), query.dim(1), query.dim(2), scoreBias.dim(2)));
        }
        Attention.backward(cpu, pass, upstream, to);
        if (extraKeys == null) {
            return;
        }
        long batch = upstream.dim(0);
        Tensor keys = extraKeys.keys(batch);
        Tensor values = extraKeys.values(batch);
        Tensor query = scratch.f32(projected.query().shape().toArray());
        Tensor keyGradient = scratch.f32(keys.shape().toArray());
        Tensor valueGradient = scratch.f32(values.shape().toArray());
        AttentionPass extra =
                new AttentionPass(projected.query(), keys, values, attention, extraKeys.options(extraDropout));
        Attention.backward(cpu, extra, upstream, AttentionGradients.of(query, keyGradient, valueGradient));
        add(into.query(), query);
        if (config.extras().keyValueBias()) {
            addOverBatch(keyGradient, gradients.get(Parameters.KEY_BIAS));
            addOverBatch(valueGradient, gradients.get(Parameters.VALUE_BIAS));
        }
    }

    /** Adds the first extra key's gradient {@code [batch, kvHeads, extra, dim]} to that of {@code [1, 1, kvHeads * dim]}. */
    private static void addOverBatch(Tensor part, @Nullable Tensor gradient) {
        if (gradient == null) {
            return;
        }
        for (long h = 0; h < part.dim(1); h++) {
            for (long d = 0; d < part.dim(3); d++) {
                double sum = gradient.get(0, 0, h * part.dim(3) + d);
                for (long b = 0; b < part.dim(0); b++) {
                    sum += part.get(b, h, 0, d);
                }
                gradient.set(sum, 0, 0, h * part.dim(3) + d);
            }
        }
    }

    /** Adds a dense temporary to heads that lie in a wider one. */
    private static void add(Tensor heads, Tensor dense) {
        for (long b = 0; b < heads.dim(0); b++) {
            for (long h = 0; h < heads.dim(1); h++) {
                for (long i = 0; i < heads.dim(2); i++) {
                    for (long d = 0; d < heads.dim(3); d++) {
                        heads.set(heads.get(b, h, i, d) + dense.get(b, h, i, d), b, h, i, d);
                    }
                }
            }
        }
    }

    static void putIfPresent(Map<String, Tensor> gradients, String name, @Nullable Tensor tensor) {
        if (tensor != null) {
            gradients.put(name, tensor);
        }
    }

    /** The threads that both directions run on. */
    Compute cpu() {
        return cpu;
    }

    /** Forgets what was kept. Does nothing the second time. */
    @Override
    public void close() {
        open = false;
        temporaries.close();
    }
}
