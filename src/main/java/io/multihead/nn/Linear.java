package io.multihead.nn;

import io.multihead.compute.Compute;
import io.multihead.gemm.Activation;
import io.multihead.gemm.Gemm;
import io.multihead.gemm.GemmOptions;
import io.multihead.gemm.PackedWeights;
import io.multihead.internal.base.Checks;
import io.multihead.internal.call.TensorChecks;
import io.multihead.internal.nn.InitialTensors;
import io.multihead.internal.nn.TensorArena;
import io.multihead.internal.nn.Views;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * {@code y = x W^T + b} on the last axis, like PyTorch's {@code nn.Linear}: {@code weight [outputs, inputs]}, and
 * {@code bias [outputs]} or none. The input has one axis or more.
 *
 * <p>{@link #forward} multiplies with packed weights: the given weights, or a copy that is packed at the first call, and again at the
 * first call after {@link #parametersChanged}. {@link #record} reads the weights without packing. Both give the same bits, for any number of
 * threads. Sums are f32. Thread safety is as documented in {@link Layer}. The caller owns the parameters.
 */
public final class Linear implements Layer {
    private static final String WEIGHT = "weight";
    private static final String BIAS = "bias";
    private static final Tensor ONE = Tensor.of(new float[] {1f}, 1, 1);

    private final long inputs;
    private final long outputs;
    /** Null if the layer has only packed weights. */
    private final @Nullable Tensor weight;

    private final @Nullable Tensor bias;
    private final Map<String, Tensor> parameters;
    private volatile @Nullable PackedWeights packed;

    private Linear(
            long inputs, long outputs, @Nullable Tensor weight, @Nullable PackedWeights packed, @Nullable Tensor bias) {
        this.inputs = inputs;
        this.outputs = outputs;
        this.weight = weight;
        this.packed = packed;
        this.bias = bias;
        Map<String, Tensor> named = new LinkedHashMap<>();
        if (weight != null) {
            named.put(WEIGHT, weight);
        }
        if (bias != null) {
            named.put(BIAS, bias);
        }
        this.parameters = Collections.unmodifiableMap(named);
    }

    /**
     * Returns a layer with given parameters.
     *
     * @param weight {@code [outputs, inputs]}, any floating-point type and strides
     * @param bias {@code [outputs]}, or null for none
     * @return the layer, which reads the tensors and owns none
     * @throws IllegalArgumentException if a shape or element type does not fit
     */
    public static Linear of(Tensor weight, @Nullable Tensor bias) {
        TensorChecks.requireFloating(weight, WEIGHT);
        if (weight.rank() != 2) {
            throw Checks.fail(WEIGHT, "shape " + weight.shape(), "expected [outputs, inputs]");
        }
        requireBias(bias, weight.dim(0), "weight " + weight.shape());
        return new Linear(weight.dim(1), weight.dim(0), weight, null, bias);
    }

    /**
     * Returns a layer with frozen weights, packed in any format, for example from a file. Its weight is not a parameter and has no gradient.
     * There is no other copy of the weights: gradients with respect to inputs are products with the panels, as {@link Gemm#multiply(Compute,
     * Tensor, PackedWeights, Tensor, GemmOptions)} computes them.
     *
     * @param weights weights with the layer's inputs and outputs
     * @param bias {@code [outputs]}, or null for none
     * @return the layer, which reads the weights and does not own them
     * @throws IllegalArgumentException if the bias does not fit
     */
    public static Linear of(PackedWeights weights, @Nullable Tensor bias) {
        Checks.notNull(weights, "weights");
        requireBias(bias, weights.outputs(), "weights of " + weights.outputs() + " outputs");
        return new Linear(weights.inputs(), weights.outputs(), null, weights, bias);
    }

    private static void requireBias(@Nullable Tensor bias, long outputs, String weights) {
        if (bias == null) {
            return;
        }
        TensorChecks.requireFloating(bias, BIAS);
        if (bias.rank() != 1 || bias.dim(0) != outputs) {
            throw Checks.fail(BIAS, "shape " + bias.shape(), "expected [" + outputs + "], as " + weights);
        }
    }

    /**
     * {@return a layer with new f32 parameters from PyTorch's distribution: weight and bias uniform within {@code 1 / sqrt(inputs)},
     * drawn with SplitMix64}
     *
     * @param arena owns the parameters; must stay open while the layer is used
     * @param inputs features of an input
     * @param outputs features of an output
     * @param seed any number; the same one gives the same parameters
     * @throws IllegalArgumentException if a size is below 1
     */
    public static Linear initialize(Arena arena, long inputs, long outputs, long seed) {
        return initialize(arena, inputs, outputs, true, seed);
    }

    /**
     * {@return a layer with new f32 parameters from PyTorch's distribution, with or without a bias; the weight is the same in both cases}
     *
     * @param arena owns the parameters; must stay open while the layer is used
     * @param inputs features of an input
     * @param outputs features of an output
     * @param bias whether there is a bias
     * @param seed any number; the same one gives the same parameters
     * @throws IllegalArgumentException if a size is below 1
     */
    public static Linear initialize(Arena arena, long inputs, long outputs, boolean bias, long seed) {
        Checks.atLeast(inputs, 1, "inputs");
        Checks.atLeast(outputs, 1, "outputs");
        InitialTensors random = new InitialTensors(seed, Checks.notNull(arena, "arena"));
        Tensor weight = random.linearPart(inputs, Shape.of(outputs, inputs));
        return of(weight, bias ? random.linearPart(inputs, Shape.of(outputs)) : null);
    }

    long inputs() {
        return inputs;
    }

    long outputs() {
        return outputs;
    }

    @Override
    public Map<String, Tensor> parameters() {
        return parameters;
    }

    @Override
    public Shape outputShape(Shape input) {
        if (Checks.notNull(input, "input").rank() < 1 || input.dim(-1) != inputs) {
            throw Checks.fail("x", "shape " + input, "expected [..., " + inputs + "]");
        }
        long[] dims = input.toArray();
        dims[dims.length - 1] = outputs;
        return Shape.of(dims);
    }

    @Override
    public int independentAxes(Shape input) {
        return Math.max(0, Checks.notNull(input, "input").rank() - 1);
    }

    @Override
    public void forward(Compute cpu, Tensor x, Tensor y) {
        forward(cpu, x, y, Activation.NONE);
    }

    /** Computes the layer and the activation that follows it. */
    void forward(Compute cpu, Tensor x, Tensor y, Activation activation) {
        LayerChecks.forward(cpu, this, x, y);
        PackedWeights weights = packed;
        if (weights == null) {
            weights = PackedWeights.ofOutputRows(Checks.notNull(weight, WEIGHT));
            packed = weights;
        }
        boolean flat = Views.flattens(x) && Views.flattens(y);
        GemmOptions options = GemmOptions.DEFAULT.withBias(bias).withActivation(activation);
        Gemm.multiply(cpu, matrices(x, flat), weights, matrices(y, flat), options);
    }

    @Override
    public Pass record(Compute cpu, Tensor x, Tensor y, long seed) {
        LayerChecks.forward(cpu, this, x, y);
        multiply(cpu, x, y, GemmOptions.DEFAULT.withBias(bias), true);
        return new Recorded(cpu, x, y);
    }

    /** Multiplies by the stored weights: by the transpose of {@code weight} in the forward direction, otherwise by {@code weight}. */
    private void multiply(Compute cpu, Tensor from, Tensor to, GemmOptions options, boolean forward) {
        boolean flat = Views.flattens(from) && Views.flattens(to);
        Tensor left = matrices(from, flat);
        Tensor result = matrices(to, flat);
        if (weight == null) {
            PackedWeights frozen = Checks.notNull(packed, "weights"); // rows of packed weights are inputs
            Gemm.multiply(cpu, left, frozen, result, options.withTransposeB(!forward));
        } else {
            Gemm.multiply(cpu, left, weight, result, options.withTransposeB(forward));
        }
    }

    @Override
    public void parametersChanged() {
        if (weight != null) {
            packed = null;
        }
    }

    /** Returns the tensor as one matrix {@code [rows, features]} if {@code flat}, otherwise unchanged, as a batch of matrices. */
    private static Tensor matrices(Tensor tensor, boolean flat) {
        return flat ? Views.flattened(tensor) : tensor;
    }

    private final class Recorded extends RecordedPass {
        Recorded(Compute cpu, Tensor x, Tensor y) {
            super(Linear.this, cpu, x, y);
        }

        @Override
        void differentiate(Tensor dy, @Nullable Tensor dx, Map<String, Tensor> gradients) {
            if (dx != null) {
                multiply(cpu, dy, dx, GemmOptions.DEFAULT, false);
            }
            Tensor weightGradient = gradients.get(WEIGHT);
            Tensor biasGradient = bias == null ? null : gradients.get(BIAS);
            if (weightGradient == null && biasGradient == null) {
                return;
            }
            try (TensorArena arena = new TensorArena(cpu)) {
                addGradients(arena, dy, weightGradient, biasGradient);
            }
        }

        /** Adds the gradients of weight and bias, each as one product over all rows, so that the sums are the same for all strides. */
        private void addGradients(
                TensorArena arena, Tensor dy, @Nullable Tensor weightGradient, @Nullable Tensor biasGradient) {
            Tensor rows = asRows(arena, dy);
            GemmOptions add = GemmOptions.DEFAULT.withFactors(1, 1);
            if (weightGradient != null) {
                Gemm.multiply(cpu, rows, asRows(arena, x), weightGradient, add.withTransposeA(true));
            }
            if (biasGradient != null) {
                Tensor ones = ONE.broadcast(1, rows.dim(0));
                Gemm.multiply(cpu, ones, rows, biasGradient.reshape(1, -1), add);
            }
        }

        private static Tensor asRows(TensorArena arena, Tensor tensor) {
            if (Views.flattens(tensor)) {
                return Views.flattened(tensor);
            }
            Tensor dense = arena.f32(tensor.shape().toArray());
            tensor.copyTo(dense);
            return Views.flattened(dense);
        }
    }
}
