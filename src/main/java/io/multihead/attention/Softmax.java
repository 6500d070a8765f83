package io.multihead.attention;

import io.multihead.compute.Compute;
import io.multihead.internal.attention.forward.SoftmaxCall;
import io.multihead.internal.attention.mask.BoundMask;
import io.multihead.internal.base.Checks;
import io.multihead.internal.call.Operation;
import io.multihead.internal.call.TensorChecks;
import io.multihead.internal.exec.ScratchKey;
import io.multihead.tensor.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * Fused scale, mask and softmax over the last axis: {@code p_j = e^(s_j - m) / sum_k e^(s_k - m)} with
 * {@code s = scale * scores + bias} and {@code m = max s}.
 *
 * <p>Scores have one to four axes, aligned from the right with {@code (batch, heads, queries, keys)}, any strides and element
 * types; arithmetic is f32. Masked scores do not exist, whatever they hold; a row without unmasked scores becomes 0, its logarithm
 * and log-sum-exp are minus infinity. The default scale is 1.
 *
 * <p>Thread-safe; same bits for any number of threads; a warm call allocates nothing.
 */
public final class Softmax {
    private static final ScratchKey<SoftmaxCall> CALL = ScratchKey.of(SoftmaxCall::new);

    private Softmax() {}

    /**
     * Computes the softmax of every row.
     *
     * @param cpu threads and scratch
     * @param scores {@code [..., keys]}
     * @param output the same shape, written; may be {@code scores} itself
     * @param logSumExp the same shape without the last axis, written; null when not wanted
     * @param options mask and scale
     * @throws IllegalArgumentException if shapes do not fit or memory overlaps otherwise; nothing has been written then
     */
    public static void forward(
            Compute cpu, Tensor scores, Tensor output, @Nullable Tensor logSumExp, AttentionOptions options) {
        run(cpu, scores, output, logSumExp, options, false);
    }

    /**
     * Computes the logarithm of the softmax of every row, {@code s_j - logSumExp}.
     *
     * @param cpu threads and scratch
     * @param scores {@code [..., keys]}
     * @param output the same shape, written; may be {@code scores} itself
     * @param logSumExp the same shape without the last axis, written; null when not wanted
     * @param options mask and scale
     * @throws IllegalArgumentException if shapes do not fit or memory overlaps otherwise; nothing has been written then
     */
    public static void logForward(
            Compute cpu, Tensor scores, Tensor output, @Nullable Tensor logSumExp, AttentionOptions options) {
        run(cpu, scores, output, logSumExp, options, true);
    }

    private static void run(
            Compute cpu,
            Tensor scores,
            Tensor output,
            @Nullable Tensor logSumExp,
            AttentionOptions options,
            boolean logarithm) {
        Checks.notNull(cpu, "cpu");
        Checks.notNull(options, "options");
        requireShapes(scores, output, logSumExp);
        TensorChecks.requireAccess(cpu, scores, "scores");
        TensorChecks.requireWritable(cpu, output, "output");
        if (output != scores) {
            TensorChecks.requireApart(output, "output", scores, "scores");
        }
        if (logSumExp != null) {
            TensorChecks.requireWritable(cpu, logSumExp, "logSumExp");
            TensorChecks.requireApart(logSumExp, "logSumExp", scores, "scores");
            TensorChecks.requireApart(logSumExp, "logSumExp", output, "output");
        }
        try (SoftmaxCall call = Operation.open(cpu, CALL)) {
            call.bind(scores, output, logSumExp, logarithm, options.scaleFor(1));
            BoundMask mask = call.bindMask(options.mask().parts());
            if (!options.scores().isNone() || mask.blocks().hides()) {
                throw Checks.fail(
                        "options", options.toString(), "expected no score options and no blocks for scores alone");
            }
            mask.requireUsable(cpu, output, "output");
            if (logSumExp != null) {
                mask.requireUsable(cpu, logSumExp, "logSumExp");
            }
            call.run();
        }
    }

    private static void requireShapes(Tensor scores, Tensor output, @Nullable Tensor logSumExp) {
        int rank = Checks.notNull(scores, "scores").rank();
        if (rank < 1 || rank > 4) {
            throw Checks.fail("scores", "shape " + scores.shape(), "expected one to four axes");
        }
        TensorChecks.requireShape(output, "output", scores.shape());
        Checks.fitsInt(scores.dim(-1), "keys");
        boolean fits = logSumExp == null || logSumExp.rank() == rank - 1;
        for (int axis = 0; fits && logSumExp != null && axis < rank - 1; axis++) {
            fits = logSumExp.dim(axis) == scores.dim(axis);
        }
        if (logSumExp != null && !fits) {
            throw Checks.fail(
                    "logSumExp",
                    "shape " + logSumExp.shape(),
                    "expected scores' " + scores.shape() + " without the last axis");
        }
    }
}
