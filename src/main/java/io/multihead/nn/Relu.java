package io.multihead.nn;

import static io.multihead.internal.nn.ElementwiseCall.padded;

import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.internal.kernel.ActivationOps;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.util.Map;

/**
 * {@code max(x, 0)}, as PyTorch's {@code nn.ReLU}, on every element of a tensor of any shape; the derivative at 0 is 0, and
 * NaN stays NaN. Without parameters; immutable and thread-safe.
 */
public final class Relu implements Layer {
    private final ElementLayer elements = new ElementLayer(
            (values, inputs, room, columns, first) -> ActivationOps.relu(values, 0, padded(columns)),
            (values, inputs, room, columns, first) -> ActivationOps.reluGradient(inputs, values, padded(columns)));

    private Relu() {}

    /**
     * Returns the layer, which has no options.
     *
     * @return a new layer
     */
    public static Relu of() {
        return new Relu();
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
