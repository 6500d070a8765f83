package io.multihead.reference;

import io.multihead.internal.base.Checks;
import java.util.Arrays;

/** The mean cross-entropy of a softmax and its gradient as plain loops in {@code double}. */
public final class ReferenceCrossEntropy {
    private ReferenceCrossEntropy() {}

    /**
     * Returns the loss.
     *
     * @param logits {@code [rows, classes]}, row-major
     * @param targets the target class of every row
     * @param ignored the target of ignored rows
     * @return the mean of {@code -ln softmax(row)[target]}; 0 if all rows are ignored
     * @throws IllegalArgumentException if the rows differ in length, or a target that is not ignored is not
     *     a class
     */
    public static double forward(double[] logits, int[] targets, int ignored) {
        require(logits, targets, ignored);
        double sum = 0;
        for (int row = 0; row < targets.length; row++) {
            sum -= targets[row] == ignored ? 0 : ReferenceSoftmax.logRow(row(logits, targets, row))[targets[row]];
        }
        return sum / Math.max(1, counted(targets, ignored));
    }

    /**
     * Returns the gradient.
     *
     * @param logits {@code [rows, classes]}, row-major
     * @param targets the target class of every row
     * @param ignored the target of ignored rows
     * @return the loss's gradient with respect to the logits, new
     * @throws IllegalArgumentException if the rows differ in length, or a target that is not ignored is not
     *     a class
     */
    public static double[] backward(double[] logits, int[] targets, int ignored) {
        require(logits, targets, ignored);
        double[] gradient = new double[logits.length];
        for (int row = 0; row < targets.length; row++) {
            if (targets[row] != ignored) {
                double[] p = ReferenceSoftmax.row(row(logits, targets, row));
                p[targets[row]] -= 1;
                for (int j = 0; j < p.length; j++) {
                    gradient[row * p.length + j] = p[j] / counted(targets, ignored);
                }
            }
        }
        return gradient;
    }

    private static void require(double[] logits, int[] targets, int ignored) {
        Checks.notNull(logits, "logits");
        int rows = Checks.notNull(targets, "targets").length;
        if (rows == 0 ? logits.length > 0 : logits.length % rows != 0) {
            throw Checks.fail(
                    "logits", logits.length + " elements", "expected [rows, classes] of " + rows + " targets");
        }
        for (int row = 0; row < rows; row++) {
            if (targets[row] != ignored) {
                Checks.index(targets[row], logits.length / rows, "targets[" + row + "]");
            }
        }
    }

    private static double[] row(double[] logits, int[] targets, int row) {
        int classes = logits.length / targets.length;
        return Arrays.copyOfRange(logits, row * classes, (row + 1) * classes);
    }

    private static long counted(int[] targets, int ignored) {
        return Arrays.stream(targets).filter(target -> target != ignored).count();
    }
}
