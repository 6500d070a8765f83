package io.multihead.model;

import io.multihead.compute.Compute;
import io.multihead.gemm.Activation;
import io.multihead.gemm.Gemm;
import io.multihead.gemm.GemmOptions;
import io.multihead.gemm.PackedWeights;
import io.multihead.internal.base.Checks;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A linear layer {@code y = f(scale x W + b)} whose weights exist only in packed form, of any format of {@link PackedWeights}. Bias, factor
 * and activation are applied in the product's write-back. Immutable and thread-safe; the memory of the weights is theirs. A warm call
 * allocates nothing.
 */
public final class PackedLinear {
    private final PackedWeights weights;
    private final GemmOptions options;
    /** The same, added to what the output holds. */
    private final GemmOptions adding;

    private PackedLinear(PackedWeights weights, GemmOptions options) {
        this.weights = weights;
        this.options = options;
        adding = options.withFactors(options.alpha(), 1f);
    }

    /**
     * Returns a layer without bias.
     *
     * @param weights {@code [inputs, outputs]}
     * @return the layer
     */
    public static PackedLinear of(PackedWeights weights) {
        return of(weights, null);
    }

    /**
     * Returns a layer.
     *
     * @param weights {@code [inputs, outputs]}
     * @param bias {@code [outputs]}, any element type, copied as f32; null for none
     * @return the layer
     * @throws IllegalArgumentException if the bias does not fit
     */
    public static PackedLinear of(PackedWeights weights, @Nullable Tensor bias) {
        Checks.notNull(weights, "weights");
        if (bias != null && (bias.rank() != 1 || bias.dim(0) != weights.outputs())) {
            throw Checks.fail("bias", "shape " + bias.shape(), "expected [" + weights.outputs() + "]");
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
     * {@return this layer with another factor of the product, to which the bias is added}
     *
     * @param scale the factor, as of residuals or logits
     */
    public PackedLinear withScale(double scale) {
        return new PackedLinear(weights, options.withFactors((float) scale, 0f));
    }

    /**
     * {@return the elements of an input row}
     */
    public int inputs() {
        return Checks.fitsInt(weights.inputs(), "inputs");
    }

    /**
     * {@return the elements of an output row}
     */
    public int outputs() {
        return Checks.fitsInt(weights.outputs(), "outputs");
    }

    /**
     * {@return the weights, shared}
     */
    public PackedWeights weights() {
        return weights;
    }

    /**
     * {@return the bias, shared and not to be changed; null for none}
     */
    public @Nullable Tensor bias() {
        return options.bias();
    }

    GemmOptions options() {
        return options;
    }

    /** Returns a layer with copies of some inputs' rows of the weights (axis 0), or of some outputs' columns and biases (axis 1). */
    PackedLinear select(int axis, Arena arena, int... indices) {
        try (Arena temporary = Arena.ofConfined()) {
            Tensor some = select(weights.unpack(temporary), axis, temporary, indices);
            PackedWeights packed = PackedWeights.of(some, weights.format(), arena);
            Tensor bias = options.bias();
            if (axis == 0 || bias == null) {
                return new PackedLinear(packed, options);
            }
            float[] biases = select(bias, 0, temporary, indices).toArray();
            return new PackedLinear(packed, options.withBias(Tensor.of(biases)));
        }
    }

    /** Returns a copy of some positions of an axis, run by run. */
    private static Tensor select(Tensor all, int axis, Arena arena, int... indices) {
        List<Tensor> runs = new ArrayList<>();
        int first = 0;
        for (int i = 1; i <= indices.length; i++) {
            if (i == indices.length || indices[i] != indices[i - 1] + 1) {
                runs.add(all.slice(axis, indices[first], indices[i - 1] + 1L));
                first = i;
            }
        }
        long[] dims = all.shape().toArray();
        dims[axis] = indices.length;
        Tensor some = Tensor.allocate(arena, DType.F32, Shape.of(dims));
        Tensor.concat(axis, some, runs.toArray(Tensor[]::new));
        return some;
    }

    /**
     * Computes the layer's output.
     *
     * @param cpu threads and scratch
     * @param x {@code [..., rows, inputs]}, any strides and element type
     * @param y {@code [..., rows, outputs]}, any strides: rows of a larger buffer as well; written
     * @throws IllegalArgumentException if shapes do not fit or memory overlaps; nothing has been written then
     */
    public void forward(Compute cpu, Tensor x, Tensor y) {
        Gemm.multiply(cpu, x, weights, y, options);
    }

    /**
     * Adds the layer's output to what {@code y} holds, before the activation: a residual connection without a pass of its own.
     *
     * @param cpu threads and scratch
     * @param x {@code [..., rows, inputs]}, any strides and element type
     * @param y {@code [..., rows, outputs]}, read and written
     * @throws IllegalArgumentException if shapes do not fit or memory overlaps; nothing has been written then
     */
    public void add(Compute cpu, Tensor x, Tensor y) {
        Gemm.multiply(cpu, x, weights, y, adding);
    }
}
