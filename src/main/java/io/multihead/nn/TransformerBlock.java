package io.multihead.nn;

import io.multihead.internal.Checks;
import io.multihead.nn.Sequence.Part;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Self-attention and a feed-forward network, each with a residual connection and layer normalisation: the encoder layer of
 * Vaswani et al. (2017, section 3.1), as PyTorch's {@code nn.TransformerEncoderLayer} with its parameter names
 * ({@code self_attn.*}, {@code linear1.*}, {@code linear2.*}, {@code norm1.*}, {@code norm2.*}). With a causal mask it is the
 * layer of a decoder-only model.
 *
 * <p>Post-norm is {@code norm(x + f(x))}, the paper's; pre-norm {@code x + f(norm(x))} (Xiong et al. 2020). Inputs and outputs are
 * {@code [batch, tokens, embedDim]}, or as the attention's configuration says. Thread-safe in inference.
 */
public final class TransformerBlock extends Composite {
    private final Config config;
    private final MultiHeadAttention attention;
    private final FeedForward feedForward;
    private final Layer norm1;
    private final Layer norm2;

    private TransformerBlock(
            Config config,
            MultiHeadAttention attention,
            FeedForward feedForward,
            Layer norm1,
            Layer norm2,
            MultiHeadMasks masks) {
        super(assemble(config, new MaskedAttention(attention, masks), feedForward, norm1, norm2));
        this.config = config;
        this.attention = attention;
        this.feedForward = feedForward;
        this.norm1 = norm1;
        this.norm2 = norm2;
    }

    private static Sequence assemble(
            Config config, Layer attention, FeedForward feedForward, Layer norm1, Layer norm2) {
        Part attend = new Part("self_attn.", attention);
        Part transform = new Part("", feedForward.whole());
        Part first = new Part("norm1.", norm1);
        Part second = new Part("norm2.", norm2);
        return config.normFirst
                ? Sequence.of(residual(config, first, attend), residual(config, second, transform))
                : Sequence.of(residual(config, attend), first, residual(config, transform), second);
    }

    /** The parts and dropout, added to what comes in. */
    private static Part residual(Config config, Part... parts) {
        List<Part> all = new ArrayList<>(List.of(parts));
        if (config.dropout > 0) {
            all.add(new Part("", Dropout.of(config.dropout)));
        }
        return new Part("", Residual.of(Sequence.of(all.toArray(Part[]::new))));
    }

    /**
     * A block with given parameters.
     *
     * @param config what the block computes
     * @param parameters gives the tensor of a name; shared, not copied
     * @return the block
     * @throws IllegalArgumentException if a parameter is missing, or a shape or element type does not fit
     */
    public static TransformerBlock of(Config config, Function<String, @Nullable Tensor> parameters) {
        Checks.notNull(config, "config");
        Checks.notNull(parameters, "parameters");
        MultiHeadAttention attention =
                MultiHeadAttention.of(config.attention, name -> parameters.apply("self_attn." + name));
        return new TransformerBlock(
                config,
                attention,
                FeedForward.of(config.embedDim(), config.feedForward, config.activation, config.dropout, parameters),
                norm(config, "norm1.", parameters),
                norm(config, "norm2.", parameters),
                MultiHeadMasks.NONE);
    }

    /**
     * A block with fresh f32 parameters from PyTorch's distributions: attention as
     * {@link MultiHeadAttention#initialise}, linear layers uniform within {@code 1 / sqrt(inputs)}, norms 1 and 0.
     *
     * @param config what the block computes
     * @param seed any number
     * @param arena owns the parameters; must stay open while the block is used
     * @return the block
     */
    public static TransformerBlock initialise(Config config, long seed, Arena arena) {
        Checks.notNull(config, "config");
        Checks.notNull(arena, "arena");
        return of(config, Initialiser.block(config, seed, arena)::get);
    }

    private static Layer norm(Config config, String prefix, Function<String, @Nullable Tensor> parameters) {
        Shape shape = Shape.of(config.embedDim());
        return LayerNorm.of(
                shape,
                config.epsilon,
                CallTensors.requireParameter(prefix + "weight", parameters.apply(prefix + "weight"), shape),
                CallTensors.requireParameter(prefix + "bias", parameters.apply(prefix + "bias"), shape));
    }

    /**
     * The same block, with masks for every call: the same parameters, shared, not copied.
     *
     * @param masks what is hidden from whom
     * @return a block with these masks
     */
    public TransformerBlock withMasks(MultiHeadMasks masks) {
        return new TransformerBlock(config, attention, feedForward, norm1, norm2, Checks.notNull(masks, "masks"));
    }

    /**
     * The same block with some of its attention's heads only; see {@link MultiHeadAttention#keepHeads}.
     *
     * @param arena owns the copies of the attention's parameters; all others are shared
     * @param heads which heads stay
     * @return the smaller block
     */
    public TransformerBlock keepHeads(Arena arena, int... heads) {
        MultiHeadAttention kept = attention.keepHeads(arena, heads);
        Config smaller = new Config(
                kept.config(), config.feedForward, config.activation, config.normFirst, config.dropout, config.epsilon);
        return new TransformerBlock(smaller, kept, feedForward, norm1, norm2, MultiHeadMasks.NONE);
    }

    /**
     * What the block computes.
     *
     * @return the configuration
     */
    public Config config() {
        return config;
    }

    /**
     * The block's attention.
     *
     * @return the very layer
     */
    public MultiHeadAttention attention() {
        return attention;
    }

    /**
     * What a block computes. Immutable.
     *
     * @param attention of self-attention; its dropout is that of the attention weights
     * @param feedForward features between the two linear layers
     * @param activation what follows the first of them
     * @param normFirst whether it is pre-norm
     * @param dropout rate behind attention, activation and feed-forward network, in training
     * @param epsilon of the normalisations
     */
    public record Config(
            MultiHeadAttention.Config attention,
            long feedForward,
            FeedForward.Activation activation,
            boolean normFirst,
            double dropout,
            double epsilon) {
        /**
         * Checks the parts.
         *
         * @throws IllegalArgumentException if a size is below 1, the rate no probability, or the attention's output not of its
         *     input's size
         */
        public Config {
            Checks.notNull(attention, "attention");
            Checks.notNull(activation, "activation");
            Checks.atLeast(feedForward, 1, "feedForward");
            if (!(dropout >= 0 && dropout <= 1)) {
                throw Checks.fail("dropout", String.valueOf(dropout), "expected 0 to 1");
            }
            Shape output = attention.widths().outputShape();
            if (!output.equals(Shape.of(attention.widths().embedDim()))) {
                throw Checks.fail(
                        "attention",
                        "output shape " + output,
                        "expected [" + attention.widths().embedDim() + "], as the input has");
            }
        }

        /**
         * PyTorch's defaults but dropout: post-norm, ReLU, epsilon 1e-5, no dropout.
         *
         * @param embedDim features of a token
         * @param heads how many heads
         * @param feedForward features between the two linear layers
         * @return the configuration
         */
        public static Config of(long embedDim, int heads, long feedForward) {
            return new Config(
                    MultiHeadAttention.Config.of(embedDim, heads),
                    feedForward,
                    FeedForward.Activation.RELU,
                    false,
                    0,
                    1e-5);
        }

        /**
         * Pre-norm or post-norm.
         *
         * @param first whether normalisation comes first
         * @return changed configuration
         */
        public Config withNormFirst(boolean first) {
            return new Config(attention, feedForward, activation, first, dropout, epsilon);
        }

        /**
         * Another activation.
         *
         * @param changed what follows the first linear layer
         * @return changed configuration
         */
        public Config withActivation(FeedForward.Activation changed) {
            return new Config(attention, feedForward, changed, normFirst, dropout, epsilon);
        }

        /**
         * Dropout in training, of attention weights too.
         *
         * @param rate probability to drop
         * @return changed configuration
         */
        public Config withDropout(double rate) {
            return new Config(attention.withDropout(rate), feedForward, activation, normFirst, rate, epsilon);
        }

        /**
         * Another configuration of the attention.
         *
         * @param changed of self-attention
         * @return changed configuration
         */
        public Config withAttention(MultiHeadAttention.Config changed) {
            return new Config(changed, feedForward, activation, normFirst, dropout, epsilon);
        }

        /**
         * Features of a token.
         *
         * @return the embedding's size
         */
        public long embedDim() {
            return attention.widths().embedDim();
        }
    }
}
