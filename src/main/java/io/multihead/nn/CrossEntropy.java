package io.multihead.nn;

import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.internal.call.TensorChecks;
import io.multihead.internal.nn.CrossEntropyCall;
import io.multihead.internal.nn.RowView;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * The mean cross-entropy between a softmax over the last axis and one target class per row, like PyTorch's {@code
 * nn.CrossEntropyLoss}: the mean of {@code log sum_j e^(x_j - m) - (x_target - m)} with {@code m = max x} over all rows whose
 * target is not ignored. If every row is ignored, the loss and the gradient are 0; PyTorch gives NaN.
 *
 * <p>The computation is stable for logits of any size. A logit of minus infinity has probability 0; a row that holds NaN,
 * plus infinity, or only minus infinity makes the loss NaN. Sums over classes are f32, and sums over rows are {@code double},
 * in row order, so results have the same bits for any number of threads. Immutable and thread-safe; the caller owns tensors
 * and targets.
 */
public final class CrossEntropy {
    private static final int PYTORCH_IGNORES = -100;

    private final int ignored;

    private CrossEntropy(int ignored) {
        this.ignored = ignored;
    }

    /** {@return the loss that ignores rows with target -100, as PyTorch's does} */
    public static CrossEntropy of() {
        return new CrossEntropy(PYTORCH_IGNORES);
    }

    /**
     * {@return the loss that ignores rows with a given target}
     *
     * @param target the ignored target; it may also be a class
     */
    public static CrossEntropy ignoring(int target) {
        return new CrossEntropy(target);
    }

    /**
     * Computes the loss.
     *
     * @param cpu threads and scratch
     * @param logits {@code [..., classes]}, any floating-point type and strides
     * @param targets the target class of every row, row-major
     * @return the loss
     * @throws IllegalArgumentException if a shape or target does not fit
     */
    public double forward(Compute cpu, Tensor logits, int[] targets) {
        int[] rows = Checks.notNull(targets, "targets").clone();
        check(cpu, logits, rows);
        return run(cpu, logits, rows, null);
    }

    /**
     * Computes the loss and its gradient, {@code (softmax - target) / rows} and 0 in ignored rows.
     *
     * @param cpu threads and scratch
     * @param logits {@code [..., classes]}, any floating-point type and strides
     * @param targets the target class of every row, row-major
     * @param gradient a tensor of the logits' shape, written; may be {@code logits} itself
     * @return the loss
     * @throws IllegalArgumentException if a shape or target does not fit or memory overlaps otherwise; nothing is written
     */
    public double lossAndGradient(Compute cpu, Tensor logits, int[] targets, Tensor gradient) {
        int[] rows = Checks.notNull(targets, "targets").clone(); // a caller could change the targets after the check
        TensorChecks tensors = check(cpu, logits, rows);
        Shape shape = logits.shape();
        if (gradient == logits) {
            new TensorChecks(cpu).writes("gradient", gradient, shape);
        } else {
            tensors.writes("gradient", gradient, shape);
        }
        return run(cpu, logits, rows, gradient);
    }

    private TensorChecks check(Compute cpu, Tensor logits, int[] targets) {
        TensorChecks tensors = new TensorChecks(cpu)
                .reads("logits", logits, Checks.notNull(logits, "logits").shape());
        if (logits.rank() < 1 || logits.dim(-1) < 1) {
            throw Checks.fail("logits", "shape " + logits.shape(), "expected [..., classes] with one class or more");
        }
        long classes = RowView.requireLength(logits.dim(-1), 1, "classes");
        long rows = logits.shape().elements() / classes;
        if (targets.length != rows) {
            throw Checks.fail(
                    "targets", targets.length + " targets", "expected " + rows + ", one per row of " + logits.shape());
        }
        for (int row = 0; row < targets.length; row++) {
            if (targets[row] != ignored && (targets[row] < 0 || targets[row] >= classes)) {
                throw Checks.fail(
                        "targets[" + row + "]",
                        String.valueOf(targets[row]),
                        "expected 0 to " + (classes - 1) + ", or " + ignored + " to ignore the row");
            }
        }
        return tensors;
    }

    private double run(Compute cpu, Tensor logits, int[] targets, @Nullable Tensor gradient) {
        int counted = 0;
        for (int target : targets) {
            counted += target == ignored ? 0 : 1;
        }
        CrossEntropyCall call = new CrossEntropyCall(logits, gradient, targets, ignored, counted);
        call.run(cpu);
        return counted == 0 ? 0 : call.sum() / counted;
    }
}
