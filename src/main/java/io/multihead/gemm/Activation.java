package io.multihead.gemm;

import io.multihead.internal.gemm.RowFunction;
import io.multihead.internal.kernel.ActivationOps;
import io.multihead.internal.kernel.Silu;
import org.jspecify.annotations.Nullable;

/** A function of every element: of a product in {@link GemmOptions}, or between the linear layers of a feed-forward
 * network. */
public enum Activation {
    /** No function: elements do not change. */
    NONE(null),
    /** {@code max(x, 0)}, the same as {@code io.multihead.nn.Relu}. */
    RELU((row, at, length, buffer) -> ActivationOps.relu(row, at, length)),
    /** GELU with the error function, the same as {@code io.multihead.nn.Gelu.erf()}. */
    GELU(ActivationOps::gelu),
    /** GELU with the hyperbolic tangent, the same as {@code io.multihead.nn.Gelu.tanh()}. */
    GELU_TANH(ActivationOps::geluTanh),
    /** {@code x / (1 + e^-x)}, also called swish (Elfwing et al. 2017); the gate of SwiGLU. The result is 0 where {@code e^-x} is not
     * a normal f32. */
    SILU(Silu::apply);

    final @Nullable RowFunction function;

    Activation(@Nullable RowFunction function) {
        this.function = function;
    }
}
