package io.multihead.nn.attention;

import io.multihead.attention.AttentionDropout;
import io.multihead.attention.AttentionOptions;
import io.multihead.internal.base.Checks;
import io.multihead.position.Rope;
import io.multihead.tensor.Shape;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.OptionalDouble;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * The configuration of a {@link MultiHeadAttention}. {@link #of(long, int)} gives the defaults, {@code withX} changes one of them; {@code
 * docs/reference/layer-options.md} maps PyTorch's and Keras's names. Immutable and thread-safe. Two configurations with the same options
 * are equal if masks and sinks are the same objects.
 */
public final class MultiHeadConfig {
    private final Options options;

    /** All options. Each nested record checks its own options. */
    private record Options(
            Features features,
            Heads heads,
            Extras extras,
            Stages stages,
            boolean batchFirst,
            List<Integer> attentionAxes,
            AttentionOptions attention) {
        Options {
            attentionAxes = List.copyOf(attentionAxes);
            Checks.notNull(attention, "options");
            boolean negative = attentionAxes.stream().anyMatch(axis -> axis < 0);
            if (negative || new HashSet<>(attentionAxes).size() < attentionAxes.size()) {
                throw Checks.fail("attentionAxes", attentionAxes.toString(), "expected different axes, none negative");
            }
            if (!batchFirst && !attentionAxes.isEmpty()) {
                throw Checks.fail("attentionAxes", attentionAxes.toString(), "expected none when batchFirst is false");
            }
        }

        Options with(Features changed) {
            return new Options(changed, heads, extras, stages, batchFirst, attentionAxes, attention);
        }

        Options with(Heads changed) {
            return new Options(features, changed, extras, stages, batchFirst, attentionAxes, attention);
        }

        Options with(Extras changed) {
            return new Options(features, heads, changed, stages, batchFirst, attentionAxes, attention);
        }

        Options with(Stages changed) {
            return new Options(features, heads, extras, changed, batchFirst, attentionAxes, attention);
        }

        Options with(List<Integer> changed) {
            return new Options(features, heads, extras, stages, batchFirst, changed, attention);
        }

        Options with(AttentionOptions changed) {
            return new Options(features, heads, extras, stages, batchFirst, attentionAxes, changed);
        }
    }

    /** The steps on heads of queries and keys between projection and attention. */
    private record Stages(OptionalDouble headNorm, @Nullable Rope rope) {
        static final Stages NONE = new Stages(OptionalDouble.empty(), null);
    }

    /** Sizes of inputs and output. */
    private record Features(long embedDim, long keyInputDim, long valueInputDim, Shape outputShape) {
        Features {
            Checks.atLeast(embedDim, 1, "embedDim");
            Checks.atLeast(keyInputDim, 1, "keyInputDim");
            Checks.atLeast(valueInputDim, 1, "valueInputDim");
            if (outputShape.rank() == 0 || outputShape.elements() == 0) {
                throw Checks.fail("outputShape", outputShape.toString(), "expected at least one axis; no size is 0");
            }
        }
    }

    /** Numbers of heads, and their sizes. */
    private record Heads(int query, int keyValue, long headDim, long valueDim) {
        Heads {
            Checks.atLeast(query, 1, "heads");
            Checks.atLeast(keyValue, 1, "keyValueHeads");
            Checks.atLeast(headDim, 1, "headDim");
            Checks.atLeast(valueDim, 1, "valueDim");
            // up to this limit, the widths of all three projections add up without overflow
            long most = Long.MAX_VALUE / 3 / query;
            requireAtMost(headDim, most, query, "headDim");
            requireAtMost(valueDim, most, query, "valueDim");
            if (query % keyValue != 0) {
                throw Checks.fail("keyValueHeads", String.valueOf(keyValue), "expected a divisor of heads " + query);
            }
        }
    }

    private static void requireAtMost(long size, long most, int heads, String argument) {
        if (size > most) {
            throw Checks.fail(argument, String.valueOf(size), "expected at most " + most + " with " + heads + " heads");
        }
    }

    /** Optional parameters and keys. */
    private record Extras(boolean bias, boolean keyValueBias, boolean zeroKey) {}

    private MultiHeadConfig(Options options) {
        this.options = options;
    }

    /**
     * {@return a configuration whose heads divide the embedding between them: head dim {@code embedDim / heads}, the
     * same number of heads for keys and values as for queries, with biases, without a mask}
     *
     * @param embedDim features of every input and of the output
     * @param heads number of heads
     * @throws IllegalArgumentException if {@code heads} does not divide {@code embedDim}
     */
    public static MultiHeadConfig of(long embedDim, int heads) {
        if (Checks.atLeast(embedDim, 1, "embedDim") % Checks.atLeast(heads, 1, "heads") != 0) {
            String expected = "expected a divisor of embedDim " + embedDim + ", or a separate head dim";
            throw Checks.fail("heads", String.valueOf(heads), expected);
        }
        return of(embedDim, heads, embedDim / heads);
    }

    /**
     * {@return a configuration with an independent size of heads, as in Keras; with biases, without a mask}
     *
     * @param embedDim features of every input and of the output
     * @param heads number of heads
     * @param headDim features of one head's query, key and value
     */
    public static MultiHeadConfig of(long embedDim, int heads, long headDim) {
        return new MultiHeadConfig(new Options(
                new Features(embedDim, embedDim, embedDim, Shape.of(embedDim)),
                new Heads(heads, heads, headDim, headDim),
                new Extras(true, false, false),
                Stages.NONE,
                true,
                List.of(),
                AttentionOptions.DEFAULT));
    }

    /**
     * {@return this configuration with fewer heads for keys and values than for queries}
     *
     * @param keyValueHeads a divisor of the number of query heads
     * @throws IllegalArgumentException if it does not divide the number of query heads
     */
    public MultiHeadConfig withKeyValueHeads(int keyValueHeads) {
        return new MultiHeadConfig(options.with(new Heads(queryHeads(), keyValueHeads, headDim(), valueDim())));
    }

    /**
     * {@return this configuration with values of another size than keys}
     *
     * @param valueDim features of one head's value
     */
    public MultiHeadConfig withValueDim(long valueDim) {
        return new MultiHeadConfig(options.with(new Heads(queryHeads(), keyValueHeads(), headDim(), valueDim)));
    }

    /** Returns this configuration for some of its heads, with the options of these heads. Each head has its own key. */
    MultiHeadConfig selectHeads(Arena arena, int... heads) {
        AttentionOptions attention = options.attention.selectHeads(arena, heads);
        return new MultiHeadConfig(options.with(new Heads(heads.length, heads.length, headDim(), valueDim())))
                .withOptions(attention);
    }

    /**
     * {@return this configuration for keys and values of other widths than queries}
     *
     * @param keyInputDim features of a key before projection
     * @param valueInputDim features of a value before projection
     */
    public MultiHeadConfig withInputDims(long keyInputDim, long valueInputDim) {
        return new MultiHeadConfig(options.with(new Features(embedDim(), keyInputDim, valueInputDim, outputShape())));
    }

    /**
     * {@return this configuration with an output of another shape than the query's features}
     *
     * @param dims the axes that replace the features, one or more
     */
    public MultiHeadConfig withOutputShape(long... dims) {
        return new MultiHeadConfig(
                options.with(new Features(embedDim(), keyInputDim(), valueInputDim(), Shape.of(dims))));
    }

    /**
     * {@return this configuration with or without biases in the four projections}
     *
     * @param bias whether to add biases
     */
    public MultiHeadConfig withBias(boolean bias) {
        return new MultiHeadConfig(options.with(new Extras(bias, keyValueBias(), zeroKey())));
    }

    /**
     * {@return this configuration with or without a learned key and value after the projected ones} Scale, soft-cap and dropout
     * apply to its score, too; masks, linear biases and modifiers do not.
     *
     * @param keyValueBias whether the layer has this key and value
     */
    public MultiHeadConfig withKeyValueBias(boolean keyValueBias) {
        return new MultiHeadConfig(options.with(new Extras(bias(), keyValueBias, zeroKey())));
    }

    /**
     * {@return this configuration with or without a key and value of zeros after all others} Options apply to its score in the same way as in
     * {@link #withKeyValueBias}.
     *
     * @param zeroKey whether the layer has this key and value
     */
    public MultiHeadConfig withZeroKey(boolean zeroKey) {
        return new MultiHeadConfig(options.with(new Extras(bias(), keyValueBias(), zeroKey)));
    }

    /**
     * {@return this configuration with three axes meaning {@code (batch, tokens, features)} or {@code (tokens, batch, features)}}
     *
     * @param first whether batch comes first
     * @throws IllegalArgumentException if attention axes are given and batch does not come first
     */
    public MultiHeadConfig withBatchFirst(boolean first) {
        return new MultiHeadConfig(new Options(
                options.features,
                options.heads,
                options.extras,
                options.stages,
                first,
                options.attentionAxes,
                options.attention));
    }

    /**
     * {@return this configuration with attention along some axes only; the other axes except the last become batch}
     *
     * @param axes axes of the inputs, counted from 0; no axes means all axes between the first and the last
     * @throws IllegalArgumentException if an axis is negative or repeated, or batch does not come first
     */
    public MultiHeadConfig withAttentionAxes(int... axes) {
        List<Integer> list =
                IntStream.of(Checks.notNull(axes, "attentionAxes")).boxed().toList();
        return new MultiHeadConfig(options.with(list));
    }

    /**
     * {@return this configuration with rotary positions (Su et al. 2021): after projection, heads of queries and keys are rotated} The
     * queries and the keys of each sequence are at the positions 0, 1, 2 and so on. Extra keys are not rotated.
     *
     * @param rope rotates the first {@code rotaryDims} elements of a head; null for none, the default
     * @throws IllegalArgumentException if heads have fewer elements than are rotated
     */
    public MultiHeadConfig withRope(@Nullable Rope rope) {
        if (rope != null && rope.rotaryDims() > headDim()) {
            throw Checks.fail("rope", rope.rotaryDims() + " elements", "expected at most headDim " + headDim());
        }
        return new MultiHeadConfig(options.with(new Stages(options.stages.headNorm, rope)));
    }

    /**
     * {@return this configuration with a root mean square norm of each head of queries and keys, before they are rotated, as in Qwen 3} The
     * parameters are {@code q_norm.weight} and {@code k_norm.weight}, {@code [headDim]} each, which all heads share.
     *
     * @param epsilon added to the mean square, at least 0
     */
    public MultiHeadConfig withHeadNorm(double epsilon) {
        Checks.finiteAtLeast(epsilon, 0, "epsilon");
        return new MultiHeadConfig(options.with(new Stages(OptionalDouble.of(epsilon), options.stages.rope)));
    }

    /**
     * {@return this configuration with another scale, a mask for every call, or score options}
     *
     * @param attention replaces the former options, including the rate of {@link #withDropout}; the seed of its dropout is not used, because a
     *     recorded call has its own
     */
    public MultiHeadConfig withOptions(AttentionOptions attention) {
        return new MultiHeadConfig(options.with(attention));
    }

    /**
     * {@return this configuration with dropout of attention weights in training; inference drops nothing}
     *
     * @param rate probability to drop a weight, 0 to 1
     */
    public MultiHeadConfig withDropout(double rate) {
        return withOptions(options.attention.withDropout(new AttentionDropout(rate, 0)));
    }

    /** {@return the features of a query; at least 1} */
    public long embedDim() {
        return options.features.embedDim;
    }

    /** {@return the features of a key before projection; at least 1} */
    public long keyInputDim() {
        return options.features.keyInputDim;
    }

    /** {@return the features of a value before projection; at least 1} */
    public long valueInputDim() {
        return options.features.valueInputDim;
    }

    /** {@return the axes that replace the features in the output; at least one axis; no size is 0} */
    public Shape outputShape() {
        return options.features.outputShape;
    }

    /** {@return the number of query heads; at least 1} */
    public int queryHeads() {
        return options.heads.query;
    }

    /**
     * {@return the number of heads of keys and values; each serves {@code queryHeads / keyValueHeads} neighboring query heads; a divisor of
     * {@link #queryHeads}}
     */
    public int keyValueHeads() {
        return options.heads.keyValue;
    }

    /** {@return the features of one head's query and key; at least 1} */
    public long headDim() {
        return options.heads.headDim;
    }

    /** {@return the features of one head's value; at least 1} */
    public long valueDim() {
        return options.heads.valueDim;
    }

    /** {@return whether the four projections add biases; true by default} */
    public boolean bias() {
        return options.extras.bias;
    }

    /** {@return whether a learned key and value follow the projected ones; false by default}. No mask hides them. */
    public boolean keyValueBias() {
        return options.extras.keyValueBias;
    }

    /** {@return whether a key and value of zeros come last; false by default}. No mask hides them. */
    public boolean zeroKey() {
        return options.extras.zeroKey;
    }

    /** {@return whether three axes mean {@code (batch, tokens, features)}, or else {@code (tokens, batch, features)}; true by default} */
    public boolean batchFirst() {
        return options.batchFirst;
    }

    /**
     * Returns the axes whose positions are the tokens that attend to each other, flattened in this order; all other axes but the
     * last are batch.
     *
     * @return the axes; an empty array, the default, means all axes between the first and the last
     */
    public List<Integer> attentionAxes() {
        return options.attentionAxes;
    }

    /** {@return the scale, and the mask, dropout and score options of every call} */
    public AttentionOptions options() {
        return options.attention;
    }

    /** {@return the rotary positions of heads of queries and keys; null by default} */
    public @Nullable Rope rope() {
        return options.stages.rope;
    }

    /** {@return the epsilon of the norm of heads of queries and keys; empty by default: heads are not normalized} */
    public OptionalDouble headNorm() {
        return options.stages.headNorm;
    }

    /** Returns the number of keys after the projected keys. */
    int extraKeys() {
        return (keyValueBias() ? 1 : 0) + (zeroKey() ? 1 : 0);
    }

    /**
     * Returns the number of elements of all parameters: {@code 4 d^2} for {@link #of(long, int)} without biases,
     * {@code 4 d^2 + 4 d} with them.
     *
     * @return the sum over all parameters
     * @throws IllegalArgumentException if it does not fit a {@code long}
     */
    public long parameterCount() {
        long query = queryHeads() * headDim();
        long key = keyValueHeads() * headDim();
        long value = keyValueHeads() * valueDim();
        long outputs = outputShape().elements();
        List<Shape> shapes = new ArrayList<>(List.of(
                Shape.of(query, embedDim()),
                Shape.of(key, keyInputDim()),
                Shape.of(value, valueInputDim()),
                Shape.of(outputs, queryHeads() * valueDim())));
        if (bias()) {
            shapes.add(Shape.of(query + key + value));
            shapes.add(Shape.of(outputs));
        }
        if (keyValueBias()) {
            shapes.add(Shape.of(key + value));
        }
        if (headNorm().isPresent()) {
            shapes.add(Shape.of(2, headDim()));
        }
        try {
            return shapes.stream().mapToLong(Shape::elements).reduce(0, Math::addExact);
        } catch (ArithmeticException overflow) {
            throw Checks.fail("parameters", "shapes " + shapes, "expected fewer than 2^63 elements");
        }
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof MultiHeadConfig that && options.equals(that.options);
    }

    @Override
    public int hashCode() {
        return options.hashCode();
    }

    /** Returns all options as text. */
    @Override
    public String toString() {
        return options.toString();
    }
}
