package io.multihead.position;

import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.internal.base.VectorApiCheck;
import io.multihead.internal.call.Operation;
import io.multihead.internal.call.TensorChecks;
import io.multihead.internal.position.AngleLayout;
import io.multihead.internal.position.AngleTensors;
import io.multihead.internal.position.RopeCall;
import io.multihead.internal.position.RopeChecks;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;

/**
 * Cosines and sines for the tokens of one call, instead of for positions: the ONNX operator RotaryEmbedding (opset 23) without {@code
 * position_ids}, and models that compute both once per step for all layers. If angles belong to positions, use {@link Rope}.
 *
 * <p>Both tensors are {@code [batch, tokens, rotaryDims / 2]}, or {@code [tokens, rotaryDims / 2]} for all sequences, of any strides and
 * floating-point element types, and pass through f32. The caller owns them, and each call reads them, so one object serves every step whose
 * cosines are written to the same memory. As in {@link Rope}, elements beyond {@code rotaryDims} are copied, bit by bit between equal
 * types.
 *
 * <p>Immutable and thread-safe, as long as no thread writes to the tensors during a call; same bits for any number of threads, layout
 * and vector width. A warm call allocates nothing.
 */
public final class TokenAngles {
    private final AngleTensors angles;

    private TokenAngles(AngleTensors angles) {
        this.angles = angles;
    }

    /**
     * {@return the angles that are in two tensors at the time of each call}
     *
     * @param cos cosines, times an attention factor if the model has one
     * @param sin sines, the same shape
     * @param pairing which elements form a pair
     * @throws IllegalArgumentException if the tensors have neither 2 nor 3 axes, their shapes differ, a row has no element or
     *     more than 32768, or a type is not floating-point
     */
    public static TokenAngles of(Tensor cos, Tensor sin, Rope.Pairing pairing) {
        RopeChecks.requireTables(cos, sin, 2, 3, "[tokens, rotaryDims / 2] or [batch, tokens, rotaryDims / 2]");
        boolean interleaved = Checks.notNull(pairing, "pairing") == Rope.Pairing.INTERLEAVED;
        AngleLayout layout = new AngleLayout((int) cos.dim(-1), interleaved);
        return new TokenAngles(new AngleTensors(cos, sin, layout));
    }

    /**
     * Rotates every token by its angles.
     *
     * @param cpu threads and scratch
     * @param x {@code [batch, heads, tokens, headDim]}, floating-point
     * @param y the same shape, floating-point, written; may be {@code x} itself
     * @throws IllegalArgumentException if shapes do not fit, or memory overlaps otherwise; nothing is written
     */
    public void apply(Compute cpu, Tensor x, Tensor y) {
        run(cpu, x, y, 1f);
    }

    /**
     * Rotates by the negative angles: the gradient of {@link #apply}, and its inverse where {@code cos^2 + sin^2 = 1}.
     *
     * @param cpu threads and scratch
     * @param x {@code [batch, heads, tokens, headDim]}, floating-point: the gradient of the rotated tensor, or that tensor
     * @param y the same shape, floating-point, written; may be {@code x} itself
     * @throws IllegalArgumentException if shapes do not fit, or memory overlaps otherwise; nothing is written
     */
    public void applyInverse(Compute cpu, Tensor x, Tensor y) {
        run(cpu, x, y, -1f);
    }

    private void run(Compute cpu, Tensor x, Tensor y, float direction) {
        VectorApiCheck.requireVectorModule();
        Tensor cos = angles.cos();
        Tensor sin = angles.sin();
        RopeChecks.requireTensors(cpu, x, y, 2 * angles.layout().pairs());
        requireTokens(cos, x);
        TensorChecks.requireAccess(cpu, cos, "cos");
        TensorChecks.requireAccess(cpu, sin, "sin");
        TensorChecks.requireApart(y, "y", cos, "cos");
        TensorChecks.requireApart(y, "y", sin, "sin");
        try (RopeCall call = Operation.open(cpu, RopeCall.CALL)) {
            call.run(x, y, angles, direction);
        }
    }

    private static void requireTokens(Tensor cos, Tensor x) {
        boolean fits = cos.dim(-2) == x.dim(2) && (cos.rank() == 2 || cos.dim(0) == x.dim(0));
        if (!fits) {
            throw Checks.fail(
                    "cos",
                    "shape " + cos.shape(),
                    "expected " + Shape.of(x.dim(2), cos.dim(-1)) + " or " + Shape.of(x.dim(0), x.dim(2), cos.dim(-1))
                            + " for x " + x.shape());
        }
    }
}
