package io.multihead.nn.attention;

import io.multihead.attention.Attention;
import io.multihead.attention.AttentionDropout;
import io.multihead.attention.AttentionGradients;
import io.multihead.attention.AttentionOutputs;
import io.multihead.attention.AttentionPass;
import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.internal.call.Operation;
import io.multihead.internal.call.TensorChecks;
import io.multihead.internal.exec.Execution;
import io.multihead.internal.nn.TensorArena;
import io.multihead.internal.nn.TensorMath;
import io.multihead.internal.nn.Views;
import io.multihead.nn.Pass;
import io.multihead.tensor.Tensor;
import java.util.EnumMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A recorded call of {@link MultiHeadAttention}. It keeps the projected heads, their attention and its log-sum-exp, all linear in the
 * number of tokens, and the attention weights if they were requested. Not thread-safe; inputs, outputs and parameters must not change
 * before the pass is closed.
 */
public final class MultiHeadPass implements Pass {
    private final Compute cpu;
    private final LayerParameters parameters;
    private final MultiHeadInputs inputs;
    private final MultiHeadOutputs outputs;
    private final TensorArena arena;
    private final RecordedProjector projector;
    private final LayerPipeline.Saved saved;
    private boolean open = true;

    private MultiHeadPass(
            Compute cpu,
            LayerParameters parameters,
            MultiHeadInputs inputs,
            MultiHeadOutputs outputs,
            AttentionDropout dropout) {
        this.cpu = cpu;
        this.parameters = parameters;
        this.inputs = inputs;
        this.outputs = outputs;
        arena = new TensorArena(cpu);
        projector = new RecordedProjector(parameters);
        saved = LayerPipeline.recorded(parameters, projector, dropout).run(cpu, arena, inputs, outputs);
    }

    /** Checks all arguments, computes the outputs and keeps the values for backward. */
    @SuppressWarnings("try") // the call ends with the block
    static MultiHeadPass record(
            Compute cpu, LayerParameters parameters, MultiHeadInputs inputs, MultiHeadOutputs outputs, long seed) {
        double rate = parameters.config().options().dropout().rate();
        try (Execution.Running call = Operation.execution(cpu).begin()) {
            return new MultiHeadPass(cpu, parameters, inputs, outputs, new AttentionDropout(rate, seed));
        }
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
                    "inputGradient",
                    "one tensor",
                    "expected MultiHeadGradients, as query, key and value were different tensors");
        }
        backward(outputGradient, MultiHeadGradients.of(inputGradient), gradients);
    }

    /**
     * Computes the gradients of a loss from its gradient with respect to the output. May be called several times.
     *
     * @param outputGradient a tensor of the output's shape
     * @param inputGradients the gradients of the call's inputs, written
     * @param gradients tensors by the names of {@link MultiHeadAttention#parameters}: the parameters' gradients are added to them;
     *     parameters without a tensor here are skipped
     * @throws IllegalArgumentException if a shape does not fit or tensors overlap, before anything is written
     * @throws IllegalStateException if the pass is closed
     */
    public void backward(Tensor outputGradient, MultiHeadGradients inputGradients, Map<String, Tensor> gradients) {
        MultiHeadOutputs output = MultiHeadOutputs.of(Checks.notNull(outputGradient, "outputGradient"));
        backward(output, inputGradients, gradients);
    }

    /**
     * Computes the gradients of a loss from its gradients with respect to the output and the attention weights that the
     * call returned, averaged over heads or of every head. Both gradients of weights may be given if either kind was
     * requested.
     *
     * @param outputGradients of the shapes of the outputs; a null gradient of weights means 0
     * @param inputGradients the gradients of the call's inputs, written
     * @param gradients tensors by the names of {@link MultiHeadAttention#parameters}: the parameters' gradients are added to them;
     *     parameters without a tensor here are skipped
     * @throws IllegalArgumentException if a shape does not fit, tensors overlap, or a gradient of weights is given and the
     *     call returned no weights, before anything is written
     * @throws IllegalStateException if the pass is closed
     */
    public void backward(
            MultiHeadOutputs outputGradients, MultiHeadGradients inputGradients, Map<String, Tensor> gradients) {
        Checks.notNull(outputGradients, "outputGradients");
        if (!open) {
            throw new IllegalStateException("pass: closed; expected an open pass");
        }
        BackwardChecks checks = new BackwardChecks(new TensorChecks(cpu), parameters.config(), saved);
        checks.all(parameters, inputs, outputs, outputGradients, inputGradients, gradients);
        try (TensorArena scratch = TensorArena.ofCall(cpu)) {
            back(scratch, outputGradients, inputGradients, gradients);
        }
    }

    /**
     * Checks the masks of this call, and the destinations of input gradients, for a block around the layer.
     *
     * @param around the inputs of the block, whose query is not the layer's
     */
    void checkInputGradients(TensorChecks tensors, MultiHeadInputs around, MultiHeadGradients to) {
        new BackwardChecks(tensors, parameters.config(), saved).inputs(around, to);
    }

    private void back(
            TensorArena scratch,
            MultiHeadOutputs outputGradients,
            MultiHeadGradients inputGradients,
            Map<String, Tensor> gradients) {
        Tensor upstream = scratch.f32(saved.attended().shape().toArray());
        projector.backwardOutput(saved.axes().rows(scratch, outputGradients.output()), upstream, gradients);
        Tensor heads = Views.splitHeads(upstream, parameters.config().queryHeads());
        if (inputGradients.headMask() != null) {
            HeadMask.gradient(cpu, saved.attention().output(), heads, inputGradients.headMask());
        }
        if (inputs.headMask() != null) {
            HeadMask.apply(cpu, heads, inputs.headMask());
        }
        RecordedProjector.HeadGradients into = projector.allocateGradients(scratch);
        Tensor weights =
                WeightsGradient.perHead(cpu, scratch, parameters.config().queryHeads(), outputGradients);
        AttentionOutputs ofAttention = AttentionOutputs.of(heads).withWeights(weights);
        attendBack(scratch, ofAttention, into.heads(), inputGradients, gradients);
        saved.stages().backward(saved.projected(), into.heads(), gradients);
        backInputs(scratch, into, inputGradients, gradients);
    }

    private void backInputs(
            TensorArena scratch,
            RecordedProjector.HeadGradients from,
            MultiHeadGradients to,
            Map<String, Tensor> gradients) {
        Map<Projection, AxisLayout.Target> targets = new EnumMap<>(Projection.class);
        Map<Projection, Tensor> wanted = new EnumMap<>(Projection.class);
        for (Projection projection : Projection.values()) {
            Tensor given = to.of(projection);
            if (given != null) {
                AxisLayout.Target target = saved.axes().target(scratch, given, true);
                targets.put(projection, target);
                wanted.put(projection, target.grouped());
            }
        }
        projector.backwardInputs(cpu, scratch, from, wanted, gradients);
        targets.values().forEach(AxisLayout.Target::finish);
    }

    /**
     * Computes the backward pass of attention. The extra keys are a second part of the same softmax. With the log-sum-exp and the output
     * of the whole softmax, the backward pass of each part gives the exact gradients of its keys and values, and the gradients of the
     * queries are sums over both parts. The term that the weights of one part add to D enters the other part as a gradient of log-sum-exp.
     */
    private void attendBack(
            TensorArena scratch,
            AttentionOutputs upstream,
            ProjectedHeads into,
            MultiHeadGradients inputGradients,
            Map<String, Tensor> gradients) {
        ProjectedHeads heads = saved.heads();
        ExtraKeys extraKeys = saved.extraKeys();
        AttentionOutputs ofKeys = upstream;
        AttentionOutputs ofExtra = upstream;
        AttentionOutputs keys = saved.attention();
        AttentionOutputs extra = saved.attention();
        if (upstream.weights() != null) {
            HeadWeights own =
                    new HeadWeights(upstream.weights(), true, saved.weights().extraKeys());
            ofKeys = upstream.withWeights(own.keys());
            keys = keys.withWeights(saved.weights().keys());
            if (extraKeys != null) {
                extra = extra.withWeights(saved.weights().extra());
                ofExtra = upstream.withWeights(own.extra()).withLogSumExp(logSumExp(scratch, keys, ofKeys));
                ofKeys = ofKeys.withLogSumExp(logSumExp(scratch, extra, ofExtra));
            }
        }
        AttentionPass pass = new AttentionPass(heads.query(), heads.key(), heads.value(), keys, saved.options());
        SequenceAttention.backward(cpu, pass, inputs.sequences(), ofKeys, into, inputGradients);
        if (extraKeys != null) {
            backExtra(scratch, extraKeys, extra, ofExtra, into, gradients);
        }
    }

    private Tensor logSumExp(TensorArena scratch, AttentionOutputs part, AttentionOutputs upstream) {
        return WeightsGradient.ofLogSumExp(
                cpu,
                scratch,
                Checks.notNull(part.weights(), "weights"),
                Checks.notNull(upstream.weights(), "weights gradient"));
    }

    /** Adds the part of the extra keys to the gradients of queries and of the biases of keys and values. */
    private void backExtra(
            TensorArena scratch,
            ExtraKeys extraKeys,
            AttentionOutputs outputs,
            AttentionOutputs upstream,
            ProjectedHeads into,
            Map<String, Tensor> gradients) {
        ProjectedHeads heads = saved.heads();
        long batch = heads.query().dim(0);
        Tensor keys = extraKeys.keys(batch);
        Tensor values = extraKeys.values(batch);
        Tensor query = scratch.f32(heads.query().shape().toArray());
        Tensor keyGradient = scratch.f32(keys.shape().toArray());
        Tensor valueGradient = scratch.f32(values.shape().toArray());
        AttentionPass pass = new AttentionPass(
                heads.query(),
                keys,
                values,
                outputs,
                extraKeys.options(saved.options().dropout()));
        Attention.backward(cpu, pass, upstream, AttentionGradients.of(query, keyGradient, valueGradient));
        TensorMath.add(cpu, into.query(), query, into.query());
        if (parameters.config().keyValueBias()) {
            addOverBatch(keyGradient, gradients.get(LayerParameters.KEY_BIAS));
            addOverBatch(valueGradient, gradients.get(LayerParameters.VALUE_BIAS));
        }
    }

    /**
     * Adds the gradient of the first extra key {@code [batch, keyValueHeads, extra, dim]} to the gradient of {@code [1, 1, keyValueHeads *
     * dim]}.
     */
    private void addOverBatch(Tensor part, @Nullable Tensor gradient) {
        if (gradient != null) {
            Tensor flat = gradient.reshape(part.dim(1), part.dim(3));
            TensorMath.addOverFirstAxis(cpu, part.select(2, 0), flat);
        }
    }

    /** Releases the recorded values. A second call has no effect. */
    @Override
    public void close() {
        open = false;
        arena.close();
    }
}
