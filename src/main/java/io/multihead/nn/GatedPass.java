package io.multihead.nn;

import io.multihead.compute.Compute;
import io.multihead.internal.kernel.RowOps;
import io.multihead.tensor.Tensor;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A recorded call of {@link GatedCrossAttention}. For one thread at a time; inputs, output and parameters must not change before
 * it is closed.
 */
public final class GatedPass implements AutoCloseable {
    private final GatedCrossAttention block;
    private final Compute cpu;
    private final MultiHeadInputs inputs;
    private final Tensor attended;
    private final Tensor transformed;
    private final Pass norm;
    private final MultiHeadPass attention;
    private final Pass feedForward;
    private final Temporaries kept;
    private boolean open = true;

    GatedPass(GatedCrossAttention block, Compute cpu, MultiHeadInputs inputs, Tensor y, long seed) {
        this.block = block;
        this.cpu = cpu;
        this.inputs = inputs;
        kept = new Temporaries(cpu);
        Tensor normalised = room(kept);
        attended = room(kept);
        transformed = room(kept);
        Tensor middle = room(kept);
        norm = block.attentionNorm().record(cpu, inputs.query(), normalised);
        attention = block.attention()
                .record(cpu, block.cross(normalised, inputs), MultiHeadOutputs.of(attended), Sequence.seedOf(seed, 0));
        GatedCrossAttention.add(cpu, inputs.query(), attended, Math.tanh(block.attentionGate()), middle);
        feedForward = block.feedForward().record(cpu, middle, transformed, Sequence.seedOf(seed, 1));
        GatedCrossAttention.add(cpu, middle, transformed, Math.tanh(block.feedForwardGate()), y);
    }

    /**
     * Computes gradients of some loss from its gradient with respect to the output. May be called several times.
     *
     * @param outputGradient of the output's shape
     * @param inputGradient of x's shape, written; null when not wanted
     * @param mediaGradient of the media's shape, written; null when not wanted
     * @param gradients by the names of {@link GatedCrossAttention#parameters}: the parameters' gradients are added to them;
     *     parameters without a tensor here are left out
     * @throws IllegalArgumentException if a shape does not fit or tensors overlap, before anything is written
     * @throws IllegalStateException if the pass is closed
     */
    public void backward(
            Tensor outputGradient,
            @Nullable Tensor inputGradient,
            @Nullable Tensor mediaGradient,
            Map<String, Tensor> gradients) {
        if (!open) {
            throw new IllegalStateException("pass: closed; expected an open one");
        }
        check(outputGradient, inputGradient, mediaGradient, gradients);
        try (Temporaries scratch = Temporaries.ofCall(cpu)) {
            back(
                    scratch,
                    outputGradient,
                    new MultiHeadGradients(inputGradient, mediaGradient, null, null, null),
                    gradients);
        }
    }

    private void back(
            Temporaries scratch,
            Tensor outputGradient,
            MultiHeadGradients inputGradients,
            Map<String, Tensor> gradients) {
        Tensor branch = room(scratch);
        Tensor through = room(scratch);
        Tensor middle = room(scratch);
        double gate = Math.tanh(block.feedForwardGate());
        scale(outputGradient, gate, branch);
        addGate(gradients.get(GatedCrossAttention.FEED_FORWARD_GATE), gate, outputGradient, transformed);
        feedForward.backward(branch, through, gradients);
        Residual.sum(cpu, outputGradient, through, middle);

        gate = Math.tanh(block.attentionGate());
        scale(middle, gate, branch);
        addGate(gradients.get(GatedCrossAttention.ATTENTION_GATE), gate, middle, attended);
        MultiHeadGradients to = new MultiHeadGradients(through, inputGradients.key(), null, null, null);
        attention.backward(branch, to, Gradients.under("attn.", gradients));
        norm.backward(through, branch, Gradients.under("attn_norm.", gradients));
        if (inputGradients.query() != null) {
            Residual.sum(cpu, middle, branch, inputGradients.query());
        }
    }

    /** {@code y = factor x}. */
    private void scale(Tensor x, double factor, Tensor y) {
        ElementCall.run(
                cpu,
                (values, others, room, columns, first) ->
                        RowOps.scale(values, 0, ElementCall.padded(columns), (float) factor),
                x,
                null,
                y);
    }

    private void check(
            Tensor outputGradient,
            @Nullable Tensor inputGradient,
            @Nullable Tensor mediaGradient,
            Map<String, Tensor> gradients) {
        CallTensors tensors = new CallTensors(cpu)
                .reads("x", inputs.query(), inputs.query().shape())
                .reads("media", inputs.key(), inputs.key().shape())
                .reads(block.parameters())
                .reads("outputGradient", outputGradient, inputs.query().shape());
        if (inputGradient != null) {
            tensors.writes("inputGradient", inputGradient, inputs.query().shape());
        }
        if (mediaGradient != null) {
            tensors.writes("mediaGradient", mediaGradient, inputs.key().shape());
        }
        block.parameters().forEach((name, parameter) -> {
            Tensor gradient = gradients.get(name);
            if (gradient != null) {
                tensors.writes("gradient of " + name, gradient, parameter.shape());
            }
        });
    }

    /** {@code d tanh(g) = 1 - tanh(g)^2}, times what the gate multiplies. */
    private static void addGate(@Nullable Tensor gradient, double gate, Tensor upstream, Tensor branch) {
        if (gradient == null) {
            return;
        }
        float[] up = upstream.toArray();
        float[] through = branch.toArray();
        double sum = 0;
        for (int i = 0; i < up.length; i++) {
            sum += (double) up[i] * through[i];
        }
        gradient.set(gradient.get(0) + (1 - gate * gate) * sum, 0);
    }

    private Tensor room(Temporaries from) {
        return from.f32(inputs.query().shape().toArray());
    }

    /** Forgets what was kept. Does nothing the second time. */
    @Override
    public void close() {
        open = false;
        norm.close();
        attention.close();
        feedForward.close();
        kept.close();
    }
}
