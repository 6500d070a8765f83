package io.multihead.nn;

import io.multihead.attention.AttentionDropout;
import io.multihead.attention.AttentionOptions;
import io.multihead.compute.Compute;
import io.multihead.internal.Checks;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * The multi-head attention layer (Vaswani et al. 2017, section 3.2.2): {@code concat(head_1, ..., head_h) W_out} with
 * {@code head_i = attention(query W_q,i, key W_k,i, value W_v,i)}, with every option of PyTorch's
 * {@code nn.MultiheadAttention} and Keras's {@code MultiHeadAttention}, and with query heads that share key and value
 * heads (Ainslie et al. 2023).
 *
 * <p>The layer owns no parameter: it keeps the tensors it was given, and the first inference packs the weights into memory of
 * its own. Parameters must therefore stay alive, and whoever changes them calls {@link #parametersChanged}. Inputs and
 * parameters may have any floating element type and any strides; arithmetic is f32.
 *
 * <p>Thread-safe: one layer serves any number of threads.
 */
public final class MultiHeadAttention implements Layer {
    private final Parameters parameters;
    private volatile @Nullable ForwardPass pass;

    private MultiHeadAttention(Parameters parameters) {
        this.parameters = parameters;
    }

    /**
     * A layer with given parameters, asked for by PyTorch's names: {@code in_proj_weight}, or in its place
     * {@code q_proj_weight}, {@code k_proj_weight} and {@code v_proj_weight}; {@code out_proj.weight}; and where the
     * configuration has them {@code in_proj_bias}, {@code out_proj.bias}, {@code bias_k}, {@code bias_v}. Weights are
     * {@code [out, in]} as in PyTorch; the fused one holds the rows for query, key and value in this order.
     *
     * @param config what the layer computes
     * @param parameters gives the parameter of a name, or null when there is none; the layer shares its memory
     * @return the layer
     * @throws IllegalArgumentException if a parameter is missing, has another shape or is I8
     */
    public static MultiHeadAttention of(Config config, Function<String, @Nullable Tensor> parameters) {
        Checks.notNull(config, "config");
        return new MultiHeadAttention(Parameters.of(config, Checks.notNull(parameters, "parameters")));
    }

    /**
     * A layer with fresh f32 parameters, drawn from PyTorch's distributions: input projections Xavier-uniform (Glorot and
     * Bengio 2010; a fused weight as one matrix), key and value biases Xavier-normal, the output projection uniform within
     * {@code 1 / sqrt(inputs)}, all other biases 0. The numbers depend on the seed and the configuration alone: SplitMix64
     * (Steele et al. 2014), one parameter after the other in the order of {@link #parameters()}. They are not PyTorch's
     * own numbers for that seed.
     *
     * @param config what the layer computes
     * @param seed any number
     * @param arena owns the parameters; must stay open while the layer is used
     * @return the layer
     */
    public static MultiHeadAttention initialise(Config config, long seed, Arena arena) {
        Checks.notNull(config, "config");
        return of(config, Initialiser.draw(config, seed, Checks.notNull(arena, "arena"))::get);
    }

    /**
     * What the layer computes.
     *
     * @return the configuration
     */
    public Config config() {
        return parameters.config();
    }

    /**
     * The parameters by PyTorch's names, in PyTorch's order: the very tensors that the layer was given.
     *
     * @return an unmodifiable map that shares the parameters' memory
     */
    @Override
    public Map<String, Tensor> parameters() {
        return parameters.byName();
    }

    /**
     * How many numbers the parameters hold.
     *
     * @return the same as {@link Config#parameterCount()}
     */
    public long parameterCount() {
        return config().parameterCount();
    }

    /**
     * Self-attention: query, key and value are one tensor, projected by one multiplication.
     *
     * @param cpu threads and scratch memory
     * @param x {@code [batch, tokens, embedDim]}, or as {@link MultiHeadInputs} allows; named {@code query} in errors
     * @param y {@code [batch, tokens, outputShape...]}, any floating type and strides, overlapping no other tensor; named
     *     {@code output} in errors
     * @throws IllegalArgumentException if a shape or element type does not fit, before anything is written
     */
    @Override
    public void forward(Compute cpu, Tensor x, Tensor y) {
        forward(cpu, MultiHeadInputs.of(x), MultiHeadOutputs.of(y));
    }

    /**
     * Attention of queries to keys and values, with the masks of this call added to those of the configuration. A query
     * that sees no key has attention value 0 (its output is the output bias) and weights 0, never NaN.
     *
     * @param cpu threads and scratch memory
     * @param inputs query, key, value and masks
     * @param outputs where results go; memory of the caller that overlaps no input, parameter or other output
     * @throws IllegalArgumentException if a shape or element type does not fit or an output overlaps something, before
     *     anything is written
     */
    public void forward(Compute cpu, MultiHeadInputs inputs, MultiHeadOutputs outputs) {
        Checks.notNull(cpu, "cpu");
        Checks.notNull(inputs, "inputs");
        ForwardPass packed = pass;
        if (packed == null) {
            packed = new ForwardPass(parameters);
            pass = packed;
        }
        packed.run(cpu, inputs, Checks.notNull(outputs, "outputs"));
    }

    @Override
    public Shape outputShape(Shape input) {
        Checks.atLeast(Checks.notNull(input, "input").rank(), 2, "axes of x");
        long[] lead = Arrays.copyOf(input.toArray(), input.rank() - 1);
        long[] dims = Arrays.copyOf(
                lead, lead.length + config().widths().outputShape().rank());
        long[] output = config().widths().outputShape().toArray();
        System.arraycopy(output, 0, dims, lead.length, output.length);
        return Shape.of(dims);
    }

    /** Self-attention as in training, with the configuration's dropout; see the other method. */
    @Override
    public MultiHeadPass record(Compute cpu, Tensor x, Tensor y, long seed) {
        return record(cpu, MultiHeadInputs.of(x), MultiHeadOutputs.of(y), seed);
    }

    /**
     * Computes the outputs as in training and keeps what backward needs: the weights are read as they are, and attention
     * weights are dropped with the configuration's rate.
     *
     * @param cpu threads and scratch memory, for backward too
     * @param inputs query, key, value and masks; must stay alive and unchanged until the pass is closed
     * @param outputs where results go; attention weights are those before dropout
     * @param seed what dropout draws from
     * @return the pass, for one caller at a time
     * @throws IllegalArgumentException if a shape or element type does not fit or an output overlaps something, before
     *     anything is written
     */
    public MultiHeadPass record(Compute cpu, MultiHeadInputs inputs, MultiHeadOutputs outputs, long seed) {
        Checks.notNull(cpu, "cpu");
        Checks.notNull(inputs, "inputs");
        return MultiHeadPass.record(cpu, parameters, inputs, Checks.notNull(outputs, "outputs"), seed);
    }

    @Override
    public void parametersChanged() {
        pass = null;
    }

    /**
     * The layer with some of its heads only: copies of the parameters without the rows and columns of the others, so that it
     * is smaller and faster, not masked.
     *
     * @param arena owns the copies
     * @param heads which heads stay, each at most once, in the order wanted
     * @return the smaller layer; its output differs from this one's with the other heads masked by rounding alone
     * @throws IllegalArgumentException if no head stays, one does not exist or is repeated, or heads share keys
     */
    public MultiHeadAttention keepHeads(Arena arena, int... heads) {
        return Pruning.keep(this, Checks.notNull(arena, "arena"), heads);
    }

    /**
     * What a layer computes. Immutable. {@link #of(long, int)} gives the defaults, {@code withX} changes one of them;
     * {@code docs/layer-options.md} maps PyTorch's and Keras's names.
     *
     * @param widths sizes of what goes in and out
     * @param heads how many heads, and their sizes
     * @param extras which optional parameters and keys there are
     * @param batchFirst whether three axes mean {@code (batch, tokens, features)}, the default, or
     *     {@code (tokens, batch, features)}
     * @param attentionAxes the axes whose positions are the tokens that attend to each other, flattened in this order;
     *     all other axes but the last are batch. Empty, the default, means all axes between the first and the last
     * @param options the scale, and a mask for every call
     */
    public record Config(
            LayerWidths widths,
            LayerHeads heads,
            LayerExtras extras,
            boolean batchFirst,
            List<Integer> attentionAxes,
            AttentionOptions options) {
        /**
         * Checks the parts.
         *
         * @throws IllegalArgumentException if an attention axis is negative or repeated, or given without
         *     {@code batchFirst}
         */
        public Config {
            Checks.notNull(widths, "widths");
            Checks.notNull(heads, "heads");
            Checks.notNull(extras, "extras");
            Checks.notNull(options, "options");
            attentionAxes = Checks.noNulls(attentionAxes, "attentionAxes");
            boolean negative = attentionAxes.stream().anyMatch(axis -> axis < 0);
            if (negative || new HashSet<>(attentionAxes).size() < attentionAxes.size()) {
                throw Checks.fail("attentionAxes", attentionAxes.toString(), "expected different axes, none negative");
            }
            if (!batchFirst && !attentionAxes.isEmpty()) {
                throw Checks.fail("attentionAxes", attentionAxes.toString(), "expected none when batchFirst is false");
            }
        }

        /**
         * Returns a configuration whose heads divide the embedding between them: head dim {@code embedDim / heads}, as many
         * heads for keys and values as for queries, with biases, without a mask.
         *
         * @param embedDim features of every input and of the output
         * @param heads how many heads
         * @return the configuration
         * @throws IllegalArgumentException if {@code heads} does not divide {@code embedDim}
         */
        public static Config of(long embedDim, int heads) {
            if (Checks.atLeast(embedDim, 1, "embedDim") % Checks.atLeast(heads, 1, "heads") != 0) {
                String expected = "expected a divisor of embedDim " + embedDim + ", or a head dim of its own";
                throw Checks.fail("heads", String.valueOf(heads), expected);
            }
            return of(embedDim, heads, embedDim / heads);
        }

        /**
         * Returns a configuration whose heads have a size of their own, as in Keras; with biases, without a mask.
         *
         * @param embedDim features of every input and of the output
         * @param heads how many heads
         * @param headDim features of one head's query, key and value
         * @return the configuration
         */
        public static Config of(long embedDim, int heads, long headDim) {
            LayerWidths widths = new LayerWidths(embedDim, embedDim, embedDim, Shape.of(embedDim));
            LayerHeads sizes = new LayerHeads(heads, heads, headDim, headDim);
            return new Config(
                    widths, sizes, new LayerExtras(true, false, false), true, List.of(), AttentionOptions.DEFAULT);
        }

        /**
         * Fewer heads for keys and values than for queries.
         *
         * @param kvHeads a divisor of the number of heads
         * @return changed configuration
         */
        public Config withKvHeads(int kvHeads) {
            return with(new LayerHeads(heads.queryHeads(), kvHeads, heads.headDim(), heads.valueDim()));
        }

        /**
         * Values of another size than keys.
         *
         * @param valueDim features of one head's value
         * @return changed configuration
         */
        public Config withValueDim(long valueDim) {
            return with(new LayerHeads(heads.queryHeads(), heads.kvHeads(), heads.headDim(), valueDim));
        }

        /**
         * Keys and values that come in with other widths than queries.
         *
         * @param keyInputDim features of a key before projection
         * @param valueInputDim features of a value before projection
         * @return changed configuration
         */
        public Config withInputDims(long keyInputDim, long valueInputDim) {
            return with(new LayerWidths(widths.embedDim(), keyInputDim, valueInputDim, widths.outputShape()));
        }

        /**
         * An output of another shape than the query's features.
         *
         * @param dims the axes that replace the features, one or more
         * @return changed configuration
         */
        public Config withOutputShape(long... dims) {
            return with(
                    new LayerWidths(widths.embedDim(), widths.keyInputDim(), widths.valueInputDim(), Shape.of(dims)));
        }

        /**
         * With or without biases in the four projections.
         *
         * @param bias whether to add biases
         * @return changed configuration
         */
        public Config withBias(boolean bias) {
            return with(new LayerExtras(bias, extras.keyValueBias(), extras.zeroKey()));
        }

        /**
         * With or without a learned key and value after the projected ones.
         *
         * @param keyValueBias whether they are there
         * @return changed configuration
         */
        public Config withKeyValueBias(boolean keyValueBias) {
            return with(new LayerExtras(extras.bias(), keyValueBias, extras.zeroKey()));
        }

        /**
         * With or without a key and value of zeros after all others.
         *
         * @param zeroKey whether they are there
         * @return changed configuration
         */
        public Config withZeroKey(boolean zeroKey) {
            return with(new LayerExtras(extras.bias(), extras.keyValueBias(), zeroKey));
        }

        /**
         * Three axes mean {@code (batch, tokens, features)} or {@code (tokens, batch, features)}.
         *
         * @param first whether batch comes first
         * @return changed configuration
         */
        public Config withBatchFirst(boolean first) {
            return new Config(widths, heads, extras, first, attentionAxes, options);
        }

        /**
         * Attention along some axes only; the other axes but the last become batch.
         *
         * @param axes axes of the inputs, counted from 0; none for all between the first and the last
         * @return changed configuration
         */
        public Config withAttentionAxes(int... axes) {
            List<Integer> list =
                    IntStream.of(Checks.notNull(axes, "attentionAxes")).boxed().toList();
            return new Config(widths, heads, extras, batchFirst, list, options);
        }

        /**
         * Another scale, or a mask for every call.
         *
         * @param newOptions scale and mask
         * @return changed configuration
         */
        public Config withOptions(AttentionOptions newOptions) {
            return new Config(widths, heads, extras, batchFirst, attentionAxes, newOptions);
        }

        /**
         * How many numbers the layer's parameters hold: {@code 4 d^2} for {@link #of(long, int)} without biases,
         * {@code 4 d^2 + 4 d} with them.
         *
         * @return the sum over all parameters
         */
        public long parameterCount() {
            return Parameters.shapes(this, false).values().stream()
                    .mapToLong(Shape::elements)
                    .sum();
        }

        /**
         * Dropout of attention weights in training; inference drops nothing.
         *
         * @param rate probability to drop a weight, 0 to 1
         * @return changed configuration
         */
        public Config withDropout(double rate) {
            return withOptions(options.withDropout(new AttentionDropout(rate, 0)));
        }

        private Config with(LayerWidths changed) {
            return new Config(changed, heads, extras, batchFirst, attentionAxes, options);
        }

        private Config with(LayerHeads changed) {
            return new Config(widths, changed, extras, batchFirst, attentionAxes, options);
        }

        private Config with(LayerExtras changed) {
            return new Config(widths, heads, changed, batchFirst, attentionAxes, options);
        }
    }
}
