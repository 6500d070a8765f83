package io.multihead.nn;

import io.multihead.attention.AttentionOptions;
import io.multihead.compute.Compute;
import io.multihead.internal.Checks;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
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
 * <p>The layer owns no parameter: it keeps the tensors it was given, packs the weights once into memory of its own, and
 * reads biases and, when a call with different inputs first needs them apart, weights again. Parameters must therefore
 * stay alive and unchanged while the layer is used. Inputs and parameters may have any floating element type and any
 * strides; arithmetic is f32.
 *
 * <p>Immutable and thread-safe: one layer serves any number of threads.
 */
public final class MultiHeadAttention {
    private final Parameters parameters;
    private final ForwardPass pass;

    private MultiHeadAttention(Parameters parameters) {
        this.parameters = parameters;
        this.pass = new ForwardPass(parameters);
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
        pass.run(cpu, inputs, Checks.notNull(outputs, "outputs"));
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
            Widths widths,
            Heads heads,
            Extras extras,
            boolean batchFirst,
            List<Integer> attentionAxes,
            AttentionOptions options) {
        /**
         * Sizes of what goes in and out.
         *
         * @param embedDim features of a query
         * @param keyInputDim features of a key before projection
         * @param valueInputDim features of a value before projection
         * @param outputShape the axes that replace the features in the output
         */
        public record Widths(long embedDim, long keyInputDim, long valueInputDim, Shape outputShape) {
            /**
             * Checks the sizes.
             *
             * @throws IllegalArgumentException if one is below 1 or the output shape has no axis
             */
            public Widths {
                Checks.atLeast(embedDim, 1, "embedDim");
                Checks.atLeast(keyInputDim, 1, "keyInputDim");
                Checks.atLeast(valueInputDim, 1, "valueInputDim");
                if (Checks.notNull(outputShape, "outputShape").rank() == 0 || outputShape.elements() == 0) {
                    throw Checks.fail(
                            "outputShape", outputShape.toString(), "expected at least one axis, none of size 0");
                }
            }
        }

        /**
         * How many heads, and their sizes.
         *
         * @param queryHeads heads that ask
         * @param kvHeads heads that hold keys and values; each serves {@code queryHeads / kvHeads} neighbouring query heads
         * @param headDim features of one head's query and key
         * @param valueDim features of one head's value
         */
        public record Heads(int queryHeads, int kvHeads, long headDim, long valueDim) {
            /**
             * Checks the sizes.
             *
             * @throws IllegalArgumentException if one is below 1 or {@code kvHeads} does not divide {@code queryHeads}
             */
            public Heads {
                Checks.atLeast(queryHeads, 1, "heads");
                Checks.atLeast(kvHeads, 1, "kvHeads");
                Checks.atLeast(headDim, 1, "headDim");
                Checks.atLeast(valueDim, 1, "valueDim");
                if (queryHeads % kvHeads != 0) {
                    throw Checks.fail("kvHeads", String.valueOf(kvHeads), "expected a divisor of heads " + queryHeads);
                }
            }
        }

        /**
         * Which optional parameters and keys there are.
         *
         * @param bias whether the four projections add biases
         * @param keyValueBias whether a learned key and value follow the projected ones; no mask hides them
         * @param zeroKey whether a key and value of zeros come last; no mask hides them
         */
        public record Extras(boolean bias, boolean keyValueBias, boolean zeroKey) {}

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
            attentionAxes = List.copyOf(Checks.notNull(attentionAxes, "attentionAxes"));
            boolean negative = attentionAxes.stream().anyMatch(axis -> axis < 0);
            if (negative || new HashSet<>(attentionAxes).size() < attentionAxes.size()) {
                throw Checks.fail("attentionAxes", attentionAxes.toString(), "expected different axes, none negative");
            }
            if (!batchFirst && !attentionAxes.isEmpty()) {
                throw Checks.fail("attentionAxes", attentionAxes.toString(), "expected none when batchFirst is false");
            }
        }

        /**
         * Heads that share out the embedding: head dim {@code embedDim / heads}, with biases, unmasked.
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
         * Heads of any size, as Keras has them.
         *
         * @param embedDim features of every input and of the output
         * @param heads how many heads
         * @param headDim features of one head's query, key and value
         * @return the configuration
         */
        public static Config of(long embedDim, int heads, long headDim) {
            Widths widths = new Widths(embedDim, embedDim, embedDim, Shape.of(embedDim));
            Heads sizes = new Heads(heads, heads, headDim, headDim);
            return new Config(widths, sizes, new Extras(true, false, false), true, List.of(), AttentionOptions.DEFAULT);
        }

        /**
         * Fewer heads for keys and values than for queries.
         *
         * @param kvHeads a divisor of the number of heads
         * @return changed configuration
         */
        public Config withKvHeads(int kvHeads) {
            return with(new Heads(heads.queryHeads, kvHeads, heads.headDim, heads.valueDim));
        }

        /**
         * Values of another size than keys.
         *
         * @param valueDim features of one head's value
         * @return changed configuration
         */
        public Config withValueDim(long valueDim) {
            return with(new Heads(heads.queryHeads, heads.kvHeads, heads.headDim, valueDim));
        }

        /**
         * Keys and values that come in with other widths than queries.
         *
         * @param keyInputDim features of a key before projection
         * @param valueInputDim features of a value before projection
         * @return changed configuration
         */
        public Config withInputDims(long keyInputDim, long valueInputDim) {
            return with(new Widths(widths.embedDim, keyInputDim, valueInputDim, widths.outputShape));
        }

        /**
         * An output of another shape than the query's features.
         *
         * @param dims the axes that replace the features, one or more
         * @return changed configuration
         */
        public Config withOutputShape(long... dims) {
            return with(new Widths(widths.embedDim, widths.keyInputDim, widths.valueInputDim, Shape.of(dims)));
        }

        /**
         * With or without biases in the four projections.
         *
         * @param bias whether to add biases
         * @return changed configuration
         */
        public Config withBias(boolean bias) {
            return with(new Extras(bias, extras.keyValueBias, extras.zeroKey));
        }

        /**
         * With or without a learned key and value after the projected ones.
         *
         * @param keyValueBias whether they are there
         * @return changed configuration
         */
        public Config withKeyValueBias(boolean keyValueBias) {
            return with(new Extras(extras.bias, keyValueBias, extras.zeroKey));
        }

        /**
         * With or without a key and value of zeros after all others.
         *
         * @param zeroKey whether they are there
         * @return changed configuration
         */
        public Config withZeroKey(boolean zeroKey) {
            return with(new Extras(extras.bias, extras.keyValueBias, zeroKey));
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
            List<Integer> list = IntStream.of(axes).boxed().toList();
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

        private Config with(Widths changed) {
            return new Config(changed, heads, extras, batchFirst, attentionAxes, options);
        }

        private Config with(Heads changed) {
            return new Config(widths, changed, extras, batchFirst, attentionAxes, options);
        }

        private Config with(Extras changed) {
            return new Config(widths, heads, changed, batchFirst, attentionAxes, options);
        }
    }
}
