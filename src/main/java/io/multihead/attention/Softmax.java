package io.multihead.attention;

import io.multihead.compute.Compute;
import io.multihead.internal.attention.backward.SoftmaxGradientCall;
import io.multihead.internal.attention.forward.SoftmaxCall;
import io.multihead.internal.attention.mask.BoundMask;
import io.multihead.internal.attention.mask.MaskPart;
import io.multihead.internal.base.Checks;
import io.multihead.internal.call.Operation;
import io.multihead.internal.call.TensorChecks;
import io.multihead.internal.exec.ScratchKey;
import io.multihead.internal.nn.RowView;
import io.multihead.tensor.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * Fused scale, mask and softmax over the last axis: {@code p_j = e^(s_j - m) / sum_k e^(s_k - m)} with {@code s = scale * scores + bias}
 * and {@code m = max s}.
 *
 * <p>Scores have one to four axes, aligned from the right with {@code (batch, heads, queries, keys)}, any strides and element types;
 * arithmetic is f32. Masked scores are ignored, even if they are NaN. A row without unmasked scores becomes 0, and its
 * logarithm and log-sum-exp become minus infinity. The default scale is 1.
 *
 * <p>Thread-safe. Results have the same bits for any number of threads. A warm call allocates nothing.
 */
public final class Softmax {
    private static final ScratchKey<SoftmaxCall> CALL = ScratchKey.of(SoftmaxCall::new);
    private static final ScratchKey<SoftmaxGradientCall> GRADIENT = ScratchKey.of(SoftmaxGradientCall::new);

    private Softmax() {}

    /**
     * Computes the softmax of every row.
     *
     * @param cpu threads and scratch
     * @param scores {@code [..., keys]}
     * @param output the same shape, written; may be {@code scores} itself
     * @param logSumExp the same shape without the last axis, written; null if not needed
     * @param options mask and scale; other options are refused
     * @throws IllegalArgumentException if shapes do not fit, memory overlaps otherwise, or the options have dropout, score options or a
     *     mask of blocks; nothing is written
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
     * @param logSumExp the same shape without the last axis, written; null if not needed
     * @param options mask and scale; other options are refused
     * @throws IllegalArgumentException if shapes do not fit, memory overlaps otherwise, or the options have dropout, score options or a
     *     mask of blocks; nothing is written
     */
    public static void logForward(
            Compute cpu, Tensor scores, Tensor output, @Nullable Tensor logSumExp, AttentionOptions options) {
        run(cpu, scores, output, logSumExp, options, true);
    }

    /**
     * Computes the gradient of the scores, {@code ds_j = scale p_j (dp_j - sum_k p_k dp_k)}, from the softmax p that {@link #forward}
     * wrote. An element whose softmax is 0, for example of a masked score, has gradient 0 and is not added to any sum, for every value of
     * its {@code dp}. The gradient of a bias is this gradient divided by the scale, summed over the axes along which it is broadcast.
     *
     * @param cpu threads and scratch
     * @param output {@code [..., keys]}: the output of forward
     * @param outputGradient the same shape: the loss's gradient with respect to the output
     * @param scoresGradient the same shape, written; may be {@code outputGradient} or {@code output} itself
     * @param options the options of forward; only their scale has an effect
     * @throws IllegalArgumentException if shapes do not fit, memory overlaps otherwise, or the options have dropout, score options or a
     *     mask of blocks; nothing is written
     */
    public static void backward(
            Compute cpu, Tensor output, Tensor outputGradient, Tensor scoresGradient, AttentionOptions options) {
        Checks.notNull(cpu, "cpu");
        requirePlain(options);
        requireRank("output", output);
        TensorChecks.requireShape(outputGradient, "outputGradient", output.shape());
        TensorChecks.requireShape(scoresGradient, "scoresGradient", output.shape());
        RowView.requireLength(output.dim(-1), 1, "keys");
        TensorChecks.requireAccess(cpu, output, "output");
        TensorChecks.requireFloating(output, "output");
        TensorChecks.requireAccess(cpu, outputGradient, "outputGradient");
        TensorChecks.requireFloating(outputGradient, "outputGradient");
        TensorChecks.requireWritable(cpu, scoresGradient, "scoresGradient");
        if (scoresGradient != output) {
            TensorChecks.requireApart(scoresGradient, "scoresGradient", output, "output");
        }
        if (scoresGradient != outputGradient) {
            TensorChecks.requireApart(scoresGradient, "scoresGradient", outputGradient, "outputGradient");
        }
        try (SoftmaxGradientCall call = Operation.open(cpu, GRADIENT)) {
            call.bind(output, outputGradient, scoresGradient, options.scaleFor(1));
            call.run();
        }
    }

    private static int requireRank(String argument, Tensor tensor) {
        int rank = Checks.notNull(tensor, argument).rank();
        if (rank < 1 || rank > 4) {
            throw Checks.fail(argument, "shape " + tensor.shape(), "expected one to four axes");
        }
        return rank;
    }

    /** Fails if options would change the scores, or the output, in a way that only attention supports. */
    private static void requirePlain(AttentionOptions options) {
        Checks.notNull(options, "options");
        ScoreOptions scores = options.scores();
        requireNone(options.dropout().rate() > 0, "dropout");
        requireNone(scores.softCap() != 0, "softCap");
        requireNone(scores.sharedSlopes() != null, "slopes");
        requireNone(scores.sharedSinks() != null, "sinks");
        requireNone(scores.modifier() != null, "modifier");
        for (int i = 0; i < options.mask().parts().size(); i++) {
            requireNone(options.mask().parts().get(i) instanceof MaskPart.Blocks, "mask of blocks");
        }
    }

    private static void requireNone(boolean given, String option) {
        if (given) {
            throw Checks.fail(option, "given", "expected none, as the softmax of scores takes a mask and a scale only");
        }
    }

    private static void run(
            Compute cpu,
            Tensor scores,
            Tensor output,
            @Nullable Tensor logSumExp,
            AttentionOptions options,
            boolean logarithm) {
        Checks.notNull(cpu, "cpu");
        requirePlain(options);
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
            mask.requireAccess(cpu);
            mask.requireApart(output, "output");
            if (logSumExp != null) {
                mask.requireApart(logSumExp, "logSumExp");
            }
            call.run();
        }
    }

    private static void requireShapes(Tensor scores, Tensor output, @Nullable Tensor logSumExp) {
        int rank = requireRank("scores", scores);
        TensorChecks.requireShape(output, "output", scores.shape());
        RowView.requireLength(scores.dim(-1), 1, "keys");
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
