package io.multihead.nn;

import static io.multihead.internal.nn.ElementwiseCall.padded;

import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.util.Map;

/**
 * The sigmoid linear unit {@code x / (1 + e^-x)}, also called swish (Elfwing et al. 2017), as PyTorch's {@code nn.SiLU}, on every
 * element of a tensor of any shape.
 *
 * <p>Accurate to a few units in the last place of f32; below -87.34, where {@code e^x} is no normal f32, the result is 0. Minus infinity
 * gives 0; NaN stays NaN. Without parameters; immutable and thread-safe; the same bits for any number of threads.
 */
public final class Silu implements Layer {
    private final ElementLayer elements = new ElementLayer(
            (values, inputs, room, columns, first) ->
                    io.multihead.internal.kernel.Silu.apply(values, 0, padded(columns), room),
            (values, inputs, room, columns, first) ->
                    io.multihead.internal.kernel.Silu.gradient(inputs, values, padded(columns), room));

    private Silu() {}

    /**
     * Returns the layer, which has no options.
     *
     * @return a new layer
     */
    public static Silu of() {
        return new Silu();
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
