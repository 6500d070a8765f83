package io.multihead.nn;

import static io.multihead.internal.nn.ElementwiseCall.padded;

import io.multihead.gemm.Activation;
import io.multihead.internal.kernel.ActivationOps;

/**
 * {@code max(x, 0)}, like PyTorch's {@code nn.ReLU}, on every element of a tensor of any shape; the derivative at 0 is 0, and
 * NaN stays NaN. Without parameters; immutable and thread-safe.
 */
public final class Relu extends ElementLayer {
    private Relu() {
        super(
                Activation.RELU,
                (values, inputs, buffer, columns, first) -> ActivationOps.relu(values, 0, padded(columns)),
                (values, inputs, buffer, columns, first) ->
                        ActivationOps.reluGradient(inputs, values, padded(columns)));
    }

    /** {@return the layer, which has no options} */
    public static Relu of() {
        return new Relu();
    }
}
