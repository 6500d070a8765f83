package io.multihead.nn;

import static io.multihead.internal.nn.ElementwiseCall.padded;

import io.multihead.gemm.Activation;
import io.multihead.internal.kernel.ActivationOps;
import io.multihead.internal.nn.ElementwiseCall;

/**
 * The Gaussian error linear unit (Hendrycks and Gimpel 2016), like PyTorch's {@code nn.GELU}, on every element of a tensor of any
 * shape.
 *
 * <p>Results are accurate to a few units in the last place of f32, also for negative numbers. For large negative numbers, a result of
 * magnitude below {@code 2^-122} becomes 0. Minus infinity gives 0; NaN stays NaN. Without parameters; immutable and thread-safe; the
 * same bits for any number of threads.
 */
public final class Gelu extends ElementLayer {
    private Gelu(Activation activation, ElementwiseCall.Function function, ElementwiseCall.Function gradient) {
        super(activation, function, gradient);
    }

    /** {@return the exact form, {@code x Phi(x)} with {@code Phi(x) = (1 + erf(x / sqrt 2)) / 2}} */
    public static Gelu erf() {
        return new Gelu(
                Activation.GELU,
                (values, inputs, buffer, columns, first) -> ActivationOps.gelu(values, 0, padded(columns), buffer),
                (values, inputs, buffer, columns, first) ->
                        ActivationOps.geluGradient(inputs, values, padded(columns), buffer));
    }

    /** {@return the approximation {@code x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))}} */
    public static Gelu tanh() {
        return new Gelu(
                Activation.GELU_TANH,
                (values, inputs, buffer, columns, first) -> ActivationOps.geluTanh(values, 0, padded(columns), buffer),
                (values, inputs, buffer, columns, first) ->
                        ActivationOps.geluTanhGradient(inputs, values, padded(columns), buffer));
    }
}
