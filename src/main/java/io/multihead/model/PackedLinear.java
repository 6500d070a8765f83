package io.multihead.model;

import io.multihead.compute.Compute;
import io.multihead.gemm.Activation;
import io.multihead.gemm.Gemm;
import io.multihead.gemm.GemmOptions;
import io.multihead.gemm.PackedWeights;
import io.multihead.internal.base.Checks;
import io.multihead.internal.call.TensorChecks;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import org.jspecify.annotations.Nullable;

/**
 * A linear layer {@code y = f(scale x W + b)} whose weights exist only in packed form, in any format of {@link PackedWeights}. Bias, factor
 * and activation are applied in the product's write-back. Immutable and thread-safe; the weights own their memory. A warm call allocates
 * nothing.
 */
public final class PackedLinear {
    private final PackedWeights weights;
    private final GemmOptions options;
    /** The same options, with the result added to the output. */
    private final GemmOptions adding;

    private PackedLinear(PackedWeights weights, GemmOptions options) {
        this.weights = weights;
        this.options = options;
        adding = options.withFactors(options.alpha(), 1f);
    }

    /**
     * {@return a layer without bias}
     *
     * @param weights {@code [inputs, outputs]}
     */
    public static PackedLinear of(PackedWeights weights) {
        return of(weights, null);
    }

    /**
     * {@return a layer}
     *
     * @param weights {@code [inputs, outputs]}
     * @param bias {@code [outputs]}, any element type, copied as f32; null for none
     * @throws IllegalArgumentException if the bias does not fit
     */
    public static PackedLinear of(PackedWeights weights, @Nullable Tensor bias) {
        Checks.notNull(weights, "weights");
        if (bias != null) {
            TensorChecks.requireShape(bias, "bias", Shape.of(weights.outputs()));
        }
        return new PackedLinear(weights, GemmOptions.DEFAULT.withBias(bias == null ? null : Tensor.of(bias.toArray())));
    }

    /**
     * {@return this layer followed by a function of every element}
     *
     * @param activation the function
     */
    public PackedLinear withActivation(Activation activation) {
        return new PackedLinear(weights, options.withActivation(activation));
    }

    /**
     * {@return this layer with another factor of the product; the bias is added after the factor}
     *
     * @param scale the factor, for example of residuals or logits
     */
    public PackedLinear withScale(double scale) {
        return new PackedLinear(weights, options.withFactors((float) scale, 0f));
    }

    /** Fails unless a layer has these sizes. */
    static void requireSizes(PackedLinear layer, int inputs, int outputs, String argument) {
        if (Checks.notNull(layer, argument).inputs() != inputs || layer.outputs() != outputs) {
            throw Checks.fail(
                    argument,
                    layer.inputs() + " inputs, " + layer.outputs() + " outputs",
                    "expected " + inputs + " and " + outputs);
        }
    }

    /** {@return the number of elements of an input row} */
    public int inputs() {
        return Checks.fitsInt(weights.inputs(), "inputs");
    }

    /** {@return the number of elements of an output row} */
    public int outputs() {
        return Checks.fitsInt(weights.outputs(), "outputs");
    }

    /** {@return the weights, shared} */
    public PackedWeights weights() {
        return weights;
    }

    /** {@return the bias, which is shared and must not be changed; null for none} */
    public @Nullable Tensor bias() {
        return options.bias();
    }

    GemmOptions options() {
        return options;
    }

    /** Returns a layer with copies of some inputs' rows of the weights. */
    PackedLinear selectInputs(Arena arena, int... inputs) {
        return new PackedLinear(weights.selectInputs(arena, inputs), options);
    }

    /** Returns a layer with copies of some outputs' columns of the weights, and of their biases. */
    PackedLinear selectOutputs(Arena arena, int... outputs) {
        Tensor bias = options.bias();
        if (bias == null) {
            return new PackedLinear(weights.selectOutputs(arena, outputs), options);
        }
        float[] all = bias.toArray();
        float[] some = new float[outputs.length];
        for (int i = 0; i < some.length; i++) {
            some[i] = all[outputs[i]];
        }
        return new PackedLinear(weights.selectOutputs(arena, outputs), options.withBias(Tensor.of(some)));
    }

    /** Returns this layer with a copy of its weights in f32. */
    PackedLinear widened(Arena arena) {
        try (Arena temporary = Arena.ofConfined()) {
            return new PackedLinear(PackedWeights.ofInputRows(arena, weights.unpack(temporary)), options);
        }
    }

    /**
     * Computes the layer's output.
     *
     * @param cpu threads and scratch
     * @param x {@code [..., rows, inputs]}, any strides and element type
     * @param y {@code [..., rows, outputs]}, any strides, so it may be a part of the rows of a larger buffer;
     *     written
     * @throws IllegalArgumentException if shapes do not fit or memory overlaps; nothing is written
     */
    public void forward(Compute cpu, Tensor x, Tensor y) {
        Gemm.multiply(cpu, x, weights, y, options);
    }

    /**
     * Adds the layer's output, before the activation, to {@code y}: a residual connection without a separate pass.
     *
     * @param cpu threads and scratch
     * @param x {@code [..., rows, inputs]}, any strides and element type
     * @param y {@code [..., rows, outputs]}, read and written
     * @throws IllegalArgumentException if shapes do not fit or memory overlaps; nothing is written
     */
    public void add(Compute cpu, Tensor x, Tensor y) {
        Gemm.multiply(cpu, x, weights, y, adding);
    }

    /** Computes the layer's output, or adds it to {@code y}. */
    void forward(Compute cpu, Tensor x, Tensor y, boolean adds) {
        Gemm.multiply(cpu, x, weights, y, adds ? adding : options);
    }
}
