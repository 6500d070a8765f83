package io.multihead.nn.attention;

import io.multihead.attention.Mask;
import io.multihead.attention.PackedSequences;
import io.multihead.compute.Compute;
import io.multihead.gemm.Activation;
import io.multihead.internal.base.Checks;
import io.multihead.internal.call.TensorChecks;
import io.multihead.internal.nn.InitialTensors;
import io.multihead.nn.Dropout;
import io.multihead.nn.FeedForward;
import io.multihead.nn.Layer;
import io.multihead.nn.LayerNorm;
import io.multihead.nn.Pass;
import io.multihead.nn.Residual;
import io.multihead.nn.RmsNorm;
import io.multihead.nn.Sequence;
import io.multihead.nn.Sequence.Part;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Self-attention and a feed-forward network, each with a residual connection and layer normalization: the encoder layer of Vaswani
 * et al. (2017, section 3.1), like PyTorch's {@code nn.TransformerEncoderLayer} with its parameter names ({@code self_attn.*},
 * {@code linear1.*}, {@code linear2.*}, {@code norm1.*}, {@code norm2.*}). With a causal mask it is the layer of a decoder-only
 * model. {@link Config#withRmsNorm} and {@link Config#withGate} give a block like Llama's, for training.
 *
 * <p>Post-norm, as in the paper, is {@code norm(x + f(x))}; pre-norm is {@code x + f(norm(x))} (Xiong et al. 2020). Inputs and
 * outputs are {@code [batch, tokens, embedDim]}, or in the form that the attention's configuration sets. Thread-safe in
 * inference.
 */
public final class TransformerBlock implements Layer {
    private final Config config;
    private final SelfAttention attention;
    private final FeedForward feedForward;
    private final Layer norm1;
    private final Layer norm2;
    private final Sequence layers;
    /** Parameters in PyTorch's order, which is not the order of computation and does not depend on {@code normFirst}. */
    private final Map<String, Tensor> parameters;

    private TransformerBlock(
            Config config, SelfAttention attention, FeedForward feedForward, Layer norm1, Layer norm2) {
        this.config = config;
        this.attention = attention;
        this.feedForward = feedForward;
        this.norm1 = norm1;
        this.norm2 = norm2;
        Part attend = new Part("self_attn.", attention);
        Part transform = new Part("", feedForward);
        Part first = new Part("norm1.", norm1);
        Part second = new Part("norm2.", norm2);
        this.layers = assemble(config, attend, transform, first, second);
        this.parameters = Sequence.of(attend, transform, first, second).parameters();
    }

    private static Sequence assemble(Config config, Part attend, Part transform, Part first, Part second) {
        return config.layers.normFirst
                ? Sequence.of(residual(config, first, attend), residual(config, second, transform))
                : Sequence.of(residual(config, attend), first, residual(config, transform), second);
    }

    /** Returns a residual connection around parts and dropout. */
    private static Part residual(Config config, Part... parts) {
        List<Part> all = new ArrayList<>(List.of(parts));
        if (config.dropout > 0) {
            all.add(new Part("", Dropout.of(config.dropout)));
        }
        return new Part("", Residual.of(Sequence.of(all.toArray(Part[]::new))));
    }

    /**
     * {@return a block with given parameters}
     *
     * @param config the configuration of the block
     * @param parameters gives the tensor of a name, or null if there is none, as for {@link MultiHeadAttention#of}; shared, not copied
     * @throws IllegalArgumentException if a parameter is missing, or a shape or element type does not fit
     */
    public static TransformerBlock of(Config config, Function<String, @Nullable Tensor> parameters) {
        Checks.notNull(config, "config");
        Checks.notNull(parameters, "parameters");
        MultiHeadAttention attention =
                MultiHeadAttention.of(config.attention, name -> parameters.apply("self_attn." + name));
        return new TransformerBlock(
                config,
                new SelfAttention(attention, Mask.NONE, null, null),
                feedForward(config, parameters),
                norm(config.layers.rmsNorm, config.embedDim(), config.epsilon(), "norm1.", parameters),
                norm(config.layers.rmsNorm, config.embedDim(), config.epsilon(), "norm2.", parameters));
    }

    private static FeedForward feedForward(Config config, Function<String, @Nullable Tensor> parameters) {
        long dim = config.embedDim();
        return config.layers.gated
                ? FeedForward.gated(dim, config.feedForward, config.activation, config.dropout, parameters)
                : FeedForward.of(dim, config.feedForward, config.activation, config.dropout, parameters);
    }

    /**
     * {@return a block with new f32 parameters from PyTorch's distributions: attention as in {@link MultiHeadAttention#initialize},
     * linear layers uniform within {@code 1 / sqrt(inputs)} (without biases if there is a gate), norms 1 and 0}
     *
     * @param arena owns the parameters; must stay open while the block is used
     * @param config the configuration of the block
     * @param seed any number
     */
    public static TransformerBlock initialize(Arena arena, Config config, long seed) {
        Map<String, Tensor> drawn = new LinkedHashMap<>();
        long embedDim = Checks.notNull(config, "config").embedDim();
        InitialWeights.draw(config.attention, seed, Checks.notNull(arena, "arena"))
                .forEach((name, tensor) -> drawn.put("self_attn." + name, tensor));
        InitialTensors random = new InitialTensors(~seed, arena);
        drawn.putAll(
                config.layers.gated
                        ? random.gatedFeedForward(embedDim, config.feedForward)
                        : random.feedForward(embedDim, config.feedForward));
        drawn.putAll(InitialTensors.norm("norm1.", embedDim, arena));
        drawn.putAll(InitialTensors.norm("norm2.", embedDim, arena));
        return of(config, drawn::get);
    }

    /** Returns the normalization of a block's features. */
    static Layer norm(
            boolean rms, long features, double epsilon, String prefix, Function<String, @Nullable Tensor> parameters) {
        Shape shape = Shape.of(features);
        Tensor weight = TensorChecks.requireParameter(parameters.apply(prefix + "weight"), prefix + "weight", shape);
        if (rms) {
            return RmsNorm.of(shape, epsilon, weight);
        }
        Tensor bias = TensorChecks.requireParameter(parameters.apply(prefix + "bias"), prefix + "bias", shape);
        return LayerNorm.of(shape, epsilon, weight, bias);
    }

    /**
     * {@return this block with a mask for every call, in addition to the configuration's}. It shares the parameters.
     *
     * @param mask replaces the previous value
     */
    public TransformerBlock withMask(Mask mask) {
        return with(new SelfAttention(
                attention.attention(), Checks.notNull(mask, "mask"), attention.headMask(), attention.sequences()));
    }

    /**
     * Returns this block with every head's output multiplied by a factor, which counts as the parameter
     * {@code self_attn.head_mask}: its gradient is available under this name.
     *
     * @param factors {@code [heads]} or {@code [batch, heads]}, any floating-point type; replaces the previous value
     * @return a block with this head mask
     * @throws IllegalArgumentException if the tensor is I8
     */
    public TransformerBlock withHeadMask(Tensor factors) {
        TensorChecks.requireFloating(factors, "headMask");
        return with(new SelfAttention(attention.attention(), attention.mask(), factors, attention.sequences()));
    }

    /**
     * Returns this block for sequences of different lengths, packed one after another in {@code [tokens, embedDim]}; see
     * {@link MultiHeadInputs#withSequences(PackedSequences)}. A block for the next batch is cheap: it shares parameters and packed
     * weights with this one.
     *
     * @param sequences the boundaries of the sequences; replaces the previous value
     * @return a block for these sequences
     */
    public TransformerBlock withSequences(PackedSequences sequences) {
        Checks.notNull(sequences, "sequences");
        return with(new SelfAttention(attention.attention(), attention.mask(), attention.headMask(), sequences));
    }

    private TransformerBlock with(SelfAttention changed) {
        return new TransformerBlock(config, changed, feedForward, norm1, norm2);
    }

    /**
     * Returns this block with only some of its attention's heads, and without masks and sequences; see {@link
     * MultiHeadAttention#keepHeads}.
     *
     * @param arena owns the copies of the attention's parameters; all others are shared
     * @param heads the heads to keep
     * @return the smaller block
     */
    public TransformerBlock keepHeads(Arena arena, int... heads) {
        MultiHeadAttention kept = attention.attention().keepHeads(arena, heads);
        return new TransformerBlock(
                config.withAttention(kept.config()),
                new SelfAttention(kept, Mask.NONE, null, null),
                feedForward,
                norm1,
                norm2);
    }

    @Override
    public Map<String, Tensor> parameters() {
        return parameters;
    }

    @Override
    public List<Tensor> buffers() {
        return layers.buffers();
    }

    @Override
    public Shape outputShape(Shape input) {
        return layers.outputShape(input);
    }

    @Override
    public int independentAxes(Shape input) {
        return layers.independentAxes(input);
    }

    @Override
    public void forward(Compute cpu, Tensor x, Tensor y) {
        layers.forward(cpu, x, y);
    }

    @Override
    public Pass record(Compute cpu, Tensor x, Tensor y, long seed) {
        return layers.record(cpu, x, y, seed);
    }

    @Override
    public void parametersChanged() {
        layers.parametersChanged();
    }

    /** {@return the configuration} */
    public Config config() {
        return config;
    }

    /** {@return the block's attention layer} */
    public MultiHeadAttention attention() {
        return attention.attention();
    }

    /**
     * The kinds of layers in a block. Immutable.
     *
     * @param normFirst whether it is pre-norm
     * @param rmsNorm whether its norms are RMS norms, as in Llama, instead of layer norms
     * @param gated whether its feed-forward network has a gate, as in Llama
     */
    public record Layers(boolean normFirst, boolean rmsNorm, boolean gated) {
        /** Post-norm, layer norms, no gate. */
        public static final Layers PYTORCH = new Layers(false, false, false);
    }

    /**
     * The configuration of a block. Immutable.
     *
     * @param attention configuration of self-attention; its dropout applies to the attention
     *     weights
     * @param feedForward features between the two linear layers
     * @param activation the function after the first linear layer
     * @param layers the kinds and places of the block's layers
     * @param dropout dropout rate after attention, activation and feed-forward network, in training
     * @param epsilon the epsilon of the normalizations
     */
    public record Config(
            MultiHeadConfig attention,
            long feedForward,
            Activation activation,
            Layers layers,
            double dropout,
            double epsilon) {
        /**
         * Checks the parts.
         *
         * @throws IllegalArgumentException if a size is below 1, the rate is not a probability, or the attention's output and input differ
         *     in size
         */
        public Config {
            BlockChecks.require(attention, feedForward, activation, dropout, epsilon);
            Checks.notNull(layers, "layers");
        }

        /**
         * {@return PyTorch's defaults except for dropout: post-norm, ReLU, epsilon 1e-5, no
         * dropout}
         *
         * @param embedDim features of a token
         * @param heads number of heads
         * @param feedForward features between the two linear layers
         */
        public static Config of(long embedDim, int heads, long feedForward) {
            return new Config(
                    MultiHeadConfig.of(embedDim, heads), feedForward, Activation.RELU, Layers.PYTORCH, 0, 1e-5);
        }

        /**
         * {@return this configuration with pre-norm or post-norm}
         *
         * @param first whether normalization comes first
         */
        public Config withNormFirst(boolean first) {
            return with(new Layers(first, layers.rmsNorm, layers.gated));
        }

        /**
         * {@return this configuration with normalization by the root mean square, or layer normalization}
         *
         * @param rms whether norms are RMS norms, which have no bias
         */
        public Config withRmsNorm(boolean rms) {
            return with(new Layers(layers.normFirst, rms, layers.gated));
        }

        /**
         * {@return this configuration with a feed-forward network with a gate, or without; see {@link FeedForward#gated}}
         *
         * @param gate whether the network has a gate
         */
        public Config withGate(boolean gate) {
            return with(new Layers(layers.normFirst, layers.rmsNorm, gate));
        }

        private Config with(Layers changed) {
            return new Config(attention, feedForward, activation, changed, dropout, epsilon);
        }

        /** {@return whether the block is pre-norm} */
        public boolean normFirst() {
            return layers.normFirst;
        }

        /**
         * {@return this configuration with another activation}
         *
         * @param changed the activation after the first linear layer
         */
        public Config withActivation(Activation changed) {
            return new Config(attention, feedForward, changed, layers, dropout, epsilon);
        }

        /**
         * {@return this configuration with dropout in training, of attention weights too}
         *
         * @param rate probability to drop
         */
        public Config withDropout(double rate) {
            return new Config(attention.withDropout(rate), feedForward, activation, layers, rate, epsilon);
        }

        /**
         * {@return this configuration with other attention}
         *
         * @param changed the configuration of self-attention
         */
        public Config withAttention(MultiHeadConfig changed) {
            return new Config(changed, feedForward, activation, layers, dropout, epsilon);
        }

        /**
         * {@return this configuration with another epsilon of the normalizations}
         *
         * @param changed added to the variance; at least 0
         * @throws IllegalArgumentException if it is negative or not finite
         */
        public Config withEpsilon(double changed) {
            return new Config(attention, feedForward, activation, layers, dropout, changed);
        }

        /** {@return the features of a token} */
        public long embedDim() {
            return attention.embedDim();
        }
    }
}
