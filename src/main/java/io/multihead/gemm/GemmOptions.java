package io.multihead.gemm;

import io.multihead.internal.base.Checks;
import io.multihead.tensor.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * Transposes, factors, bias and activation of {@code C = f(alpha * op(A) * op(B) + beta * C + bias)}. Immutable and thread-safe.
 *
 * @param transposeA whether the last two axes of A are swapped first
 * @param transposeB whether the last two axes of B are swapped first
 * @param alpha factor of the product
 * @param beta factor of the previous contents of C; 0 means that C is not read, so it may hold NaN
 * @param bias {@code [columns]}, added to every row; null for none
 * @param activation the function f of every element, in f32 and before C is rounded; the result has the same bits as the layer applied to a
 *     C of f32, without a second pass over C
 */
public record GemmOptions(
        boolean transposeA,
        boolean transposeB,
        float alpha,
        float beta,
        @Nullable Tensor bias,
        Activation activation) {
    /** {@code C = A * B}. */
    public static final GemmOptions DEFAULT = new GemmOptions(false, false, 1f, 0f, null, Activation.NONE);

    /** Checks the bias and the activation. */
    public GemmOptions {
        Checks.notNull(activation, "activation");
        if (bias != null && bias.rank() != 1) {
            throw Checks.fail("bias", bias.toString(), "expected one axis");
        }
    }

    /**
     * {@return these options with the last two axes of A swapped first, or not}
     *
     * @param transposed whether to swap
     */
    public GemmOptions withTransposeA(boolean transposed) {
        return new GemmOptions(transposed, transposeB, alpha, beta, bias, activation);
    }

    /**
     * {@return these options with the last two axes of B swapped first, or not}
     *
     * @param transposed whether to swap
     */
    public GemmOptions withTransposeB(boolean transposed) {
        return new GemmOptions(transposeA, transposed, alpha, beta, bias, activation);
    }

    /**
     * {@return these options with other factors}
     *
     * @param newAlpha factor of the product
     * @param newBeta factor of the previous contents of C
     */
    public GemmOptions withFactors(float newAlpha, float newBeta) {
        return new GemmOptions(transposeA, transposeB, newAlpha, newBeta, bias, activation);
    }

    /**
     * {@return these options with a bias that is added to every row}
     *
     * @param newBias {@code [columns]}, or null for none
     */
    public GemmOptions withBias(@Nullable Tensor newBias) {
        return new GemmOptions(transposeA, transposeB, alpha, beta, newBias, activation);
    }

    /**
     * {@return these options with a function of every element of the sum}
     *
     * @param newActivation the function
     */
    public GemmOptions withActivation(Activation newActivation) {
        return new GemmOptions(transposeA, transposeB, alpha, beta, bias, newActivation);
    }
}
