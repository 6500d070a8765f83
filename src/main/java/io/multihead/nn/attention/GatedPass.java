package io.multihead.nn.attention;

import io.multihead.compute.Compute;
import io.multihead.internal.call.TensorChecks;
import io.multihead.internal.nn.SplitMix64;
import io.multihead.internal.nn.TensorArena;
import io.multihead.internal.nn.TensorMath;
import io.multihead.nn.Dropout;
import io.multihead.nn.Gradients;
import io.multihead.nn.Pass;
import io.multihead.tensor.Tensor;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A recorded call of {@link GatedCrossAttention}. Not thread-safe; inputs, output and parameters must not change before the pass is
 * closed.
 */
public final class GatedPass implements Pass {
    private final GatedParts parts;
    private final Compute cpu;
    private final MultiHeadInputs inputs;
    private final Tensor attended;
    private final Tensor transformed;
    private final Pass norm;
    private final MultiHeadPass attention;
    private final @Nullable Pass attentionDropout;
    private final Pass feedForward;
    private final TensorArena kept;
    private boolean open = true;

    GatedPass(GatedParts parts, Compute cpu, MultiHeadInputs inputs, Tensor y, long seed) {
        this.parts = parts;
        this.cpu = cpu;
        this.inputs = inputs;
        kept = new TensorArena(cpu);
        Tensor normalized = likeInput(kept);
        Tensor whole = likeInput(kept);
        Dropout dropout = parts.attentionDropout();
        attended = dropout == null ? whole : likeInput(kept);
        transformed = likeInput(kept);
        Tensor middle = likeInput(kept);
        norm = parts.attentionNorm().record(cpu, inputs.query(), normalized);
        attention = parts.attention()
                .record(cpu, inputs.withQuery(normalized), MultiHeadOutputs.of(whole), SplitMix64.seedOf(seed, 0));
        attentionDropout = dropout == null ? null : dropout.record(cpu, whole, attended, SplitMix64.seedOf(seed, 2));
        TensorMath.addScaled(cpu, inputs.query(), attended, parts.attentionFactor(), middle);
        feedForward = parts.feedForward().record(cpu, middle, transformed, SplitMix64.seedOf(seed, 1));
        TensorMath.addScaled(cpu, middle, transformed, parts.feedForwardFactor(), y);
    }

    /**
     * Computes the gradients of x and of the parameters, but not of the media unless the media is x; see the other method.
     *
     * @throws IllegalArgumentException if a shape does not fit or tensors overlap, before anything is written
     */
    @Override
    public void backward(Tensor outputGradient, @Nullable Tensor inputGradient, Map<String, Tensor> gradients) {
        backward(outputGradient, MultiHeadGradients.of(inputGradient), gradients);
    }

    /**
     * Computes the gradients of a loss from its gradient with respect to the output. May be called several times.
     *
     * @param outputGradient a tensor of the output's shape
     * @param inputGradients the gradients of the call's inputs, written: the gradient of x as query, of the media as key, and null as
     *     value, because the media is both key and value. If the media is x itself, the query's gradient contains both and the key's is
     *     null
     * @param gradients tensors by the names of {@link GatedCrossAttention#parameters}: the parameters' gradients are added to
     *     them; parameters without a tensor here are skipped
     * @throws IllegalArgumentException if a shape does not fit or tensors overlap, before anything is written
     * @throws IllegalStateException if the pass is closed
     */
    public void backward(Tensor outputGradient, MultiHeadGradients inputGradients, Map<String, Tensor> gradients) {
        if (!open) {
            throw new IllegalStateException("pass: closed; expected an open pass");
        }
        check(outputGradient, inputGradients, gradients);
        try (TensorArena scratch = TensorArena.ofCall(cpu)) {
            back(scratch, outputGradient, inputGradients, gradients);
        }
    }

    private void back(
            TensorArena scratch,
            Tensor outputGradient,
            MultiHeadGradients inputGradients,
            Map<String, Tensor> gradients) {
        Tensor branch = likeInput(scratch);
        Tensor through = likeInput(scratch);
        Tensor middle = likeInput(scratch);
        double factor = parts.feedForwardFactor();
        TensorMath.scale(cpu, outputGradient, factor, branch);
        addGate(gradients.get(GatedParts.FEED_FORWARD_GATE), factor, outputGradient, transformed);
        feedForward.backward(branch, through, gradients);
        TensorMath.add(cpu, outputGradient, through, middle);

        factor = parts.attentionFactor();
        TensorMath.scale(cpu, middle, factor, branch);
        addGate(gradients.get(GatedParts.ATTENTION_GATE), factor, middle, attended);
        Tensor upstream = attentionDropout == null ? branch : likeInput(scratch);
        if (attentionDropout != null) {
            attentionDropout.backward(branch, upstream);
        }
        // attention saw the normalized x as query, so the keys' part of x is a separate gradient
        boolean mediaIsX = inputs.key() == inputs.query() && inputGradients.query() != null;
        Tensor media = mediaIsX ? likeInput(scratch) : inputGradients.key();
        MultiHeadGradients to = MultiHeadGradients.of(through, media)
                .withScoreBias(inputGradients.scoreBias())
                .withHeadMask(inputGradients.headMask())
                .withSinks(inputGradients.sinks());
        attention.backward(upstream, to, Gradients.under("attn.", gradients));
        norm.backward(through, branch, Gradients.under("attn_norm.", gradients));
        if (mediaIsX && media != null) {
            TensorMath.add(cpu, branch, media, branch);
        }
        if (inputGradients.query() != null) {
            TensorMath.add(cpu, middle, branch, inputGradients.query());
        }
    }

    private void check(Tensor outputGradient, MultiHeadGradients to, Map<String, Tensor> gradients) {
        TensorChecks tensors = new TensorChecks(cpu)
                .reads("x", inputs.query(), inputs.query().shape())
                .reads("media", inputs.key(), inputs.key().shape())
                .reads(parts.parameters())
                .reads("outputGradient", outputGradient, inputs.query().shape());
        attention.checkInputGradients(tensors, inputs, to);
        tensors.writesGradients(parts.parameters(), gradients);
    }

    /** Adds the gradient of a gate: {@code d tanh(g) = 1 - tanh(g)^2}, times the sum of the gated elements. */
    private void addGate(@Nullable Tensor gradient, double factor, Tensor upstream, Tensor branch) {
        if (gradient == null) {
            return;
        }
        double sum = TensorMath.dot(cpu, upstream, branch);
        gradient.set(gradient.get(0) + (1 - factor * factor) * sum, 0);
    }

    private Tensor likeInput(TensorArena from) {
        return from.f32(inputs.query().shape().toArray());
    }

    /** Releases the recorded values. A second call has no effect. */
    @Override
    public void close() {
        open = false;
        norm.close();
        attention.close();
        if (attentionDropout != null) {
            attentionDropout.close();
        }
        feedForward.close();
        kept.close();
    }
}
