package io.multihead.nn.attention;

import io.multihead.attention.Mask;
import io.multihead.compute.Compute;
import io.multihead.gemm.Activation;
import io.multihead.internal.base.Checks;
import io.multihead.internal.call.Operation;
import io.multihead.internal.call.TensorChecks;
import io.multihead.internal.exec.Execution;
import io.multihead.internal.nn.InitialTensors;
import io.multihead.internal.nn.TensorArena;
import io.multihead.internal.nn.TensorMath;
import io.multihead.nn.Dropout;
import io.multihead.nn.FeedForward;
import io.multihead.nn.Layer;
import io.multihead.nn.Sequence;
import io.multihead.nn.Sequence.Part;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Gated cross-attention (Alayrac et al. 2022, "Flamingo", section 2.2 and appendix A.1.2): {@code y = x + tanh(attn_gate) attention(norm(x),
 * media)}, then {@code y + tanh(ff_gate) feedForward(norm(y))}. The gates start at 0. Then the block is the identity, and a frozen model around it
 * has the same results as without it. In training, dropout comes before the gates.
 *
 * <p>Parameters: {@code attn.*}, {@code attn_norm.*}, {@code attn_gate} {@code [1]}, {@code ff.linear1.*}, {@code ff.linear2.*},
 * {@code ff_norm.*}, {@code ff_gate} {@code [1]}. Thread-safe in inference. It is not a {@link Layer}, since it has two inputs.
 */
public final class GatedCrossAttention {
    private final GatedParts parts;

    private GatedCrossAttention(GatedParts parts) {
        this.parts = parts;
    }

    /**
     * {@return a block with given parameters}
     *
     * @param config the configuration of the block
     * @param parameters gives the tensor of a name, or null if there is none, as for {@link MultiHeadAttention#of}; tensors are shared,
     *     not copied
     * @throws IllegalArgumentException if a parameter is missing, or a shape or element type does not fit
     */
    public static GatedCrossAttention of(Config config, Function<String, @Nullable Tensor> parameters) {
        Checks.notNull(parameters, "parameters");
        long features = Checks.notNull(config, "config").embedDim();
        MultiHeadAttention attention =
                MultiHeadAttention.of(config.attention(), name -> parameters.apply("attn." + name));
        Layer attentionNorm = TransformerBlock.norm(false, features, config.epsilon(), "attn_norm.", parameters);
        Layer norm = TransformerBlock.norm(false, features, config.epsilon(), "ff_norm.", parameters);
        Layer network = FeedForward.of(
                config.embedDim(),
                config.feedForward(),
                config.activation(),
                config.dropout(),
                name -> parameters.apply("ff." + name));
        Map<String, Tensor> named = new LinkedHashMap<>();
        attention.parameters().forEach((name, tensor) -> named.put("attn." + name, tensor));
        attentionNorm.parameters().forEach((name, tensor) -> named.put("attn_norm." + name, tensor));
        named.put(GatedParts.ATTENTION_GATE, gate(GatedParts.ATTENTION_GATE, parameters));
        network.parameters().forEach((name, tensor) -> named.put("ff." + name, tensor));
        norm.parameters().forEach((name, tensor) -> named.put("ff_norm." + name, tensor));
        named.put(GatedParts.FEED_FORWARD_GATE, gate(GatedParts.FEED_FORWARD_GATE, parameters));
        Dropout dropout = config.dropout() > 0 ? Dropout.of(config.dropout()) : null;
        Part first = new Part("ff_norm.", norm);
        Part second = new Part("ff.", network);
        Layer feedForward =
                dropout == null ? Sequence.of(first, second) : Sequence.of(first, second, new Part("", dropout));
        return new GatedCrossAttention(
                new GatedParts(attention, attentionNorm, dropout, feedForward, Collections.unmodifiableMap(named)));
    }

    /**
     * {@return a block with new f32 parameters: attention as in {@link MultiHeadAttention#initialize}, linear layers uniform
     * within {@code 1 / sqrt(inputs)}, normalizations 1 and 0, gates 0, so that the block begins as the identity}
     *
     * @param arena owns the parameters; must stay open while the block is used
     * @param config the configuration of the block
     * @param seed any number; the same one gives the same parameters
     */
    public static GatedCrossAttention initialize(Arena arena, Config config, long seed) {
        Map<String, Tensor> drawn = new LinkedHashMap<>();
        long embedDim = Checks.notNull(config, "config").embedDim();
        InitialWeights.draw(config.attention(), seed, Checks.notNull(arena, "arena"))
                .forEach((name, tensor) -> drawn.put("attn." + name, tensor));
        new InitialTensors(~seed, arena)
                .feedForward(embedDim, config.feedForward())
                .forEach((name, tensor) -> drawn.put("ff." + name, tensor));
        drawn.putAll(InitialTensors.norm("attn_norm.", embedDim, arena));
        drawn.putAll(InitialTensors.norm("ff_norm.", embedDim, arena));
        drawn.put(GatedParts.ATTENTION_GATE, Tensor.zeros(arena, DType.F32, 1));
        drawn.put(GatedParts.FEED_FORWARD_GATE, Tensor.zeros(arena, DType.F32, 1));
        return of(config, drawn::get);
    }

    private static Tensor gate(String name, Function<String, @Nullable Tensor> parameters) {
        return TensorChecks.requireParameter(parameters.apply(name), name, Shape.of(1));
    }

    /** {@return the parameters by name; an unmodifiable map of the same tensor objects that the block was
     * given} */
    public Map<String, Tensor> parameters() {
        return parts.parameters();
    }

    /** Makes {@link #forward} use parameters that an optimizer has changed. */
    public void parametersChanged() {
        parts.attention().parametersChanged();
        parts.attentionNorm().parametersChanged();
        parts.feedForward().parametersChanged();
    }

    /**
     * Computes the output and keeps no values for backward.
     *
     * @param cpu threads and scratch memory
     * @param inputs x {@code [batch, tokens, embedDim]} as query, the media {@code [batch, mediaTokens, mediaDim]} as both key and
     *     value ({@link MultiHeadInputs#of(Tensor, Tensor)}), and a mask; the media may be x itself
     * @param y a tensor of x's shape, written; overlaps no input, mask or parameter
     * @throws IllegalArgumentException if a shape or element type does not fit, before anything is written
     */
    public void forward(Compute cpu, MultiHeadInputs inputs, Tensor y) {
        check(cpu, inputs, y);
        Tensor x = inputs.query();
        try (TensorArena arena = TensorArena.ofCall(cpu)) {
            Tensor normalized = arena.f32(x.shape().toArray());
            Tensor change = arena.f32(x.shape().toArray());
            Tensor middle = arena.f32(x.shape().toArray());
            parts.attentionNorm().forward(cpu, x, normalized);
            parts.attention().forward(cpu, inputs.withQuery(normalized), MultiHeadOutputs.of(change));
            TensorMath.addScaled(cpu, x, change, parts.attentionFactor(), middle);
            parts.feedForward().forward(cpu, middle, change);
            TensorMath.addScaled(cpu, middle, change, parts.feedForwardFactor(), y);
        }
    }

    /**
     * Computes the output as in training and keeps the values for backward.
     *
     * @param cpu threads and scratch memory, for backward too
     * @param inputs as for {@link #forward}; must stay alive and unchanged until the pass is closed
     * @param y a tensor of x's shape, written
     * @param seed the seed of dropout
     * @return the pass, for one caller at a time
     * @throws IllegalArgumentException if a shape or element type does not fit, before anything is written
     */
    @SuppressWarnings("try") // the call ends with the block
    public GatedPass record(Compute cpu, MultiHeadInputs inputs, Tensor y, long seed) {
        check(cpu, inputs, y);
        try (Execution.Running call = Operation.execution(cpu).begin()) {
            return new GatedPass(parts, cpu, inputs, y, seed);
        }
    }

    private void check(Compute cpu, MultiHeadInputs inputs, Tensor y) {
        Checks.notNull(inputs, "inputs");
        if (inputs.value() != inputs.key()) {
            throw Checks.fail("value", "another tensor than key", "expected the media as key and value in one");
        }
        Shape shape = parts.attentionNorm().outputShape(inputs.query().shape());
        TensorChecks tensors = new TensorChecks(cpu)
                .reads("x", inputs.query(), shape)
                .reads("media", inputs.key(), inputs.key().shape())
                .reads(parts.parameters());
        Mask mask = parts.attention().config().options().mask().and(inputs.mask());
        ForwardChecks.readMasks(tensors, mask, inputs.headMask());
        tensors.writes("y", y, shape);
    }

    /**
     * The configuration of a block, which always normalizes first. Immutable.
     *
     * @param attention with the media's width as key and value input; its dropout applies to the attention weights
     * @param feedForward features between the two linear layers
     * @param activation the function after the first linear layer
     * @param dropout dropout rate after attention, activation and feed-forward network, in training
     * @param epsilon the epsilon of the normalizations
     */
    public record Config(
            MultiHeadConfig attention, long feedForward, Activation activation, double dropout, double epsilon) {
        /**
         * Checks the parts.
         *
         * @throws IllegalArgumentException if a size is below 1, the rate is not a probability, epsilon is negative or not
         *     finite, or the attention's output and input differ in size
         */
        public Config {
            BlockChecks.require(attention, feedForward, activation, dropout, epsilon);
        }

        /**
         * {@return a configuration with ReLU, epsilon 1e-5 and no dropout}
         *
         * @param embedDim features of a token
         * @param mediaDim features of a key and of a value
         * @param heads number of heads
         * @param feedForward features between the two linear layers
         */
        public static Config of(long embedDim, long mediaDim, int heads, long feedForward) {
            MultiHeadConfig attention = MultiHeadConfig.of(embedDim, heads).withInputDims(mediaDim, mediaDim);
            return new Config(attention, feedForward, Activation.RELU, 0, 1e-5);
        }

        /**
         * {@return this configuration with another activation}
         *
         * @param changed the activation after the first linear layer
         */
        public Config withActivation(Activation changed) {
            return new Config(attention, feedForward, changed, dropout, epsilon);
        }

        /**
         * {@return this configuration with dropout in training, of attention weights too}
         *
         * @param rate probability to drop
         */
        public Config withDropout(double rate) {
            return new Config(attention.withDropout(rate), feedForward, activation, rate, epsilon);
        }

        /**
         * {@return this configuration with other attention}
         *
         * @param changed the configuration of cross-attention
         */
        public Config withAttention(MultiHeadConfig changed) {
            return new Config(changed, feedForward, activation, dropout, epsilon);
        }

        /**
         * {@return this configuration with another epsilon of the normalizations}
         *
         * @param changed added to the variance; at least 0
         * @throws IllegalArgumentException if it is negative or not finite
         */
        public Config withEpsilon(double changed) {
            return new Config(attention, feedForward, activation, dropout, changed);
        }

        /** {@return the features of a token} */
        public long embedDim() {
            return attention.embedDim();
        }
    }
}
