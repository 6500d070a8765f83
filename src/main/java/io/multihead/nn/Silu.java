package io.multihead.nn;

import static io.multihead.internal.nn.ElementwiseCall.padded;

import io.multihead.gemm.Activation;

/**
 * The sigmoid linear unit {@code x / (1 + e^-x)}, also called swish (Elfwing et al. 2017), like PyTorch's {@code nn.SiLU}, on every
 * element of a tensor of any shape.
 *
 * <p>Results are accurate to a few units in the last place of f32; below -87.34, where {@code e^x} is not a normal f32, the result
 * is 0. Minus infinity gives 0; NaN stays NaN. Without parameters; immutable and thread-safe; the same bits for any number of
 * threads.
 */
public final class Silu extends ElementLayer {
    private Silu() {
        super(
                Activation.SILU,
                (values, inputs, buffer, columns, first) ->
                        io.multihead.internal.kernel.Silu.apply(values, 0, padded(columns), buffer),
                (values, inputs, buffer, columns, first) ->
                        io.multihead.internal.kernel.Silu.gradient(inputs, values, padded(columns), buffer));
    }

    /** {@return the layer, which has no options} */
    public static Silu of() {
        return new Silu();
    }
}
