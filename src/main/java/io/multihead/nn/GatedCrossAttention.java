package io.multihead.nn;

import io.multihead.compute.Compute;
import io.multihead.internal.Checks;
import io.multihead.internal.call.Operation;
import io.multihead.internal.exec.Execution;
import io.multihead.internal.kernel.RowOps;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Gated cross-attention (Alayrac et al. 2022, "Flamingo", section 2.2 and appendix A.1.2): {@code y = x + tanh(attn_gate)
 * attention(norm(x), media)}, then {@code y + tanh(ff_gate) feedForward(norm(y))}. With gates of 0, as they start, the block is
 * the identity and a frozen model around it computes what it did before.
 *
 * <p>Parameters: {@code attn.*}, {@code attn_norm.*}, {@code attn_gate} {@code [1]}, {@code ff.linear1.*}, {@code ff.linear2.*},
 * {@code ff_norm.*}, {@code ff_gate} {@code [1]}. Thread-safe in inference.
 */
public final class GatedCrossAttention {
    static final String ATTENTION_GATE = "attn_gate";
    static final String FEED_FORWARD_GATE = "ff_gate";

    private final MultiHeadAttention attention;
    private final Layer attentionNorm;
    private final Layer feedForward;
    private final Map<String, Tensor> parameters;

    private GatedCrossAttention(
            MultiHeadAttention attention, Layer attentionNorm, Layer feedForward, Map<String, Tensor> parameters) {
        this.attention = attention;
        this.attentionNorm = attentionNorm;
        this.feedForward = feedForward;
        this.parameters = Collections.unmodifiableMap(parameters);
    }

    /**
     * A block with given parameters.
     *
     * @param config of attention (with the media's width as key and value input), feed-forward network and normalisation;
     *     {@code normFirst} is not looked at
     * @param parameters gives the tensor of a name; shared, not copied
     * @return the block
     * @throws IllegalArgumentException if a parameter is missing, or a shape or element type does not fit
     */
    public static GatedCrossAttention of(
            TransformerBlock.Config config, Function<String, @Nullable Tensor> parameters) {
        Checks.notNull(config, "config");
        Checks.notNull(parameters, "parameters");
        Shape features = Shape.of(config.embedDim());
        MultiHeadAttention attention =
                MultiHeadAttention.of(config.attention(), name -> parameters.apply("attn." + name));
        Layer attentionNorm = norm("attn_norm.", config, features, parameters);
        Layer norm = norm("ff_norm.", config, features, parameters);
        Layer network = FeedForward.of(
                config.embedDim(),
                config.feedForward(),
                config.activation(),
                config.dropout(),
                name -> parameters.apply("ff." + name));
        Map<String, Tensor> named = new LinkedHashMap<>();
        attention.parameters().forEach((name, tensor) -> named.put("attn." + name, tensor));
        attentionNorm.parameters().forEach((name, tensor) -> named.put("attn_norm." + name, tensor));
        named.put(ATTENTION_GATE, gate(ATTENTION_GATE, parameters));
        network.parameters().forEach((name, tensor) -> named.put("ff." + name, tensor));
        norm.parameters().forEach((name, tensor) -> named.put("ff_norm." + name, tensor));
        named.put(FEED_FORWARD_GATE, gate(FEED_FORWARD_GATE, parameters));
        Layer feedForward = Sequence.of(new Sequence.Part("ff_norm.", norm), new Sequence.Part("ff.", network));
        return new GatedCrossAttention(attention, attentionNorm, feedForward, named);
    }

    private static Layer norm(
            String prefix, TransformerBlock.Config config, Shape shape, Function<String, @Nullable Tensor> parameters) {
        return LayerNorm.of(
                shape,
                config.epsilon(),
                CallTensors.requireParameter(prefix + "weight", parameters.apply(prefix + "weight"), shape),
                CallTensors.requireParameter(prefix + "bias", parameters.apply(prefix + "bias"), shape));
    }

    private static Tensor gate(String name, Function<String, @Nullable Tensor> parameters) {
        return CallTensors.requireParameter(name, parameters.apply(name), Shape.of(1));
    }

    /**
     * The parameters by name.
     *
     * @return an unmodifiable map of the very tensors that the block was given
     */
    public Map<String, Tensor> parameters() {
        return parameters;
    }

    /** Makes {@link #forward} see parameters that an optimiser has changed. */
    public void parametersChanged() {
        attention.parametersChanged();
        attentionNorm.parametersChanged();
        feedForward.parametersChanged();
    }

    /**
     * Computes the output and keeps nothing.
     *
     * @param cpu threads and scratch memory
     * @param x {@code [batch, tokens, embedDim]}
     * @param media {@code [batch, mediaTokens, mediaDim]}
     * @param y of x's shape, written
     * @param masks which tokens see which media
     * @throws IllegalArgumentException if a shape or element type does not fit, before anything is written
     */
    public void forward(Compute cpu, Tensor x, Tensor media, Tensor y, MultiHeadMasks masks) {
        MultiHeadInputs inputs = new MultiHeadInputs(x, media, media, masks);
        check(cpu, inputs, y);
        try (Temporaries temporaries = Temporaries.ofCall(cpu)) {
            Tensor normalised = temporaries.f32(x.shape().toArray());
            Tensor change = temporaries.f32(x.shape().toArray());
            Tensor middle = temporaries.f32(x.shape().toArray());
            attentionNorm.forward(cpu, x, normalised);
            attention.forward(cpu, cross(normalised, inputs), MultiHeadOutputs.of(change));
            add(cpu, x, change, Math.tanh(attentionGate()), middle);
            feedForward.forward(cpu, middle, change);
            add(cpu, middle, change, Math.tanh(feedForwardGate()), y);
        }
    }

    /**
     * Computes the output as in training and keeps what backward needs.
     *
     * @param cpu threads and scratch memory, for backward too
     * @param inputs x as query, the media as key and value, and masks
     * @param y of x's shape, written
     * @param seed what dropout draws from
     * @return the pass, for one caller at a time
     * @throws IllegalArgumentException if a shape or element type does not fit, before anything is written
     */
    @SuppressWarnings("try") // the call ends with the block
    public GatedPass record(Compute cpu, MultiHeadInputs inputs, Tensor y, long seed) {
        check(cpu, inputs, y);
        try (Execution.Running call = Operation.execution(cpu).begin()) {
            return new GatedPass(this, cpu, inputs, y, seed);
        }
    }

    private void check(Compute cpu, MultiHeadInputs inputs, Tensor y) {
        Shape shape = attentionNorm.outputShape(inputs.query().shape());
        new CallTensors(cpu)
                .reads("x", inputs.query(), shape)
                .reads("media", inputs.key(), inputs.key().shape())
                .reads(parameters)
                .writes("y", y, shape);
    }

    /** The call of cross-attention: normalised tokens ask, media answer. */
    MultiHeadInputs cross(Tensor normalised, MultiHeadInputs inputs) {
        return new MultiHeadInputs(normalised, inputs.key(), inputs.key(), inputs.masks());
    }

    MultiHeadAttention attention() {
        return attention;
    }

    Layer attentionNorm() {
        return attentionNorm;
    }

    Layer feedForward() {
        return feedForward;
    }

    double attentionGate() {
        return parameters.get(ATTENTION_GATE).get(0);
    }

    double feedForwardGate() {
        return parameters.get(FEED_FORWARD_GATE).get(0);
    }

    /** {@code y = x + factor change}. */
    static void add(Compute cpu, Tensor x, Tensor change, double factor, Tensor y) {
        ElementCall.run(
                cpu,
                (values, inputs, room, columns, first) ->
                        RowOps.addScaled(values, 0, ElementCall.padded(columns), inputs, (float) factor),
                x,
                change,
                y);
    }
}
