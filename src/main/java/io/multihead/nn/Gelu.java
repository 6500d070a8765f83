package io.multihead.nn;

import static io.multihead.internal.nn.ElementwiseCall.padded;

import io.multihead.compute.Compute;
import io.multihead.gemm.Activation;
import io.multihead.internal.base.Checks;
import io.multihead.internal.kernel.ActivationOps;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.util.Map;

/**
 * The Gaussian error linear unit (Hendrycks and Gimpel 2016), as PyTorch's {@code nn.GELU}, on every element of a tensor of
 * any shape.
 *
 * <p>Accurate to a few units in the last place of f32 for negative numbers too, until the result is below
 * {@code 2^-122}, where it is 0. Minus infinity gives 0; NaN stays NaN. Without parameters; immutable and thread-safe; the
 * same bits for any number of threads.
 */
public final class Gelu implements Layer {
    private final ElementLayer elements;
    private final Activation activation;

    private Gelu(ElementLayer elements, Activation activation) {
        this.elements = elements;
        this.activation = activation;
    }

    /**
     * {@return the exact form, {@code x Phi(x)} with {@code Phi(x) = (1 + erf(x / sqrt 2)) / 2}}
     */
    public static Gelu erf() {
        ElementLayer elements = new ElementLayer(
                (values, inputs, room, columns, first) -> ActivationOps.gelu(values, 0, padded(columns), room),
                (values, inputs, room, columns, first) ->
                        ActivationOps.geluGradient(inputs, values, padded(columns), room));
        return new Gelu(elements, Activation.GELU);
    }

    /**
     * {@return the approximation {@code x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))}}
     */
    public static Gelu tanh() {
        ElementLayer elements = new ElementLayer(
                (values, inputs, room, columns, first) -> ActivationOps.geluTanh(values, 0, padded(columns), room),
                (values, inputs, room, columns, first) ->
                        ActivationOps.geluTanhGradient(inputs, values, padded(columns), room));
        return new Gelu(elements, Activation.GELU_TANH);
    }

    /** Returns the same function as part of a product. */
    Activation activation() {
        return activation;
    }

    @Override
    public Map<String, Tensor> parameters() {
        return Map.of();
    }

    @Override
    public Shape outputShape(Shape input) {
        return Checks.notNull(input, "input");
    }

    @Override
    public int independentAxes(Shape input) {
        return Checks.notNull(input, "input").rank();
    }

    @Override
    public void forward(Compute cpu, Tensor x, Tensor y) {
        elements.forward(this, cpu, x, y);
    }

    @Override
    public Pass record(Compute cpu, Tensor x, Tensor y, long seed) {
        return elements.record(this, cpu, x, y);
    }
}
