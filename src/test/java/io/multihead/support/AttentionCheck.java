package io.multihead.support;

import io.multihead.attention.AttentionOutputs;
import io.multihead.reference.ReferenceAttention;
import io.multihead.reference.Tolerance;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;

/** Compares results of attention with their specification. A value outside its bound is an {@link AssertionError}. */
public final class AttentionCheck {
    private AttentionCheck() {}

    /** The largest error of an output in units of its bound, and whether the call has mean 0 and scores up to 10. */
    public record Error(double ratio, boolean ordinary) {}

    /** Checks all outputs of a call, and the memory around them. */
    public static Error all(AttentionCase attentionCase, AttentionOutputs outputs, ReferenceAttention.Result expected) {
        DType dtype = attentionCase.storage().output();
        boolean ordinary = attentionCase.mean() == 0 && expected.maxScore() <= 10;
        double ratio = Tolerance.ratio(Numbers.of(outputs.output()), expected.output(), expected.errorScale(), dtype);
        double limit = ordinary ? Tolerance.FORWARD_ORDINARY : Tolerance.FORWARD;
        require(ratio <= limit, "R = " + ratio + ", limit " + limit);
        logSumExp(Numbers.of(outputs.logSumExp()), expected);
        untouched(outputs.output(), "the output");
        untouched(outputs.logSumExp(), "logSumExp");
        if (outputs.weights() != null) {
            weights(Numbers.of(outputs.weights()), expected);
            untouched(outputs.weights(), "the weights");
        }
        return new Error(ratio, ordinary);
    }

    /**
     * Checks log-sum-exp. The bound is the error of scores, plus 16 u (1 + |s|) for scale, exponentials and sums, plus
     * u |lse| for the store.
     */
    public static void logSumExp(double[] actual, ReferenceAttention.Result expected) {
        for (int row = 0; row < actual.length; row++) {
            double exact = expected.logSumExp()[row];
            if (exact == Double.NEGATIVE_INFINITY) {
                require(actual[row] == exact, "logSumExp " + actual[row] + " for " + exact);
            } else {
                double rest = 0x1p-24 * (16 * (1 + expected.maxScore()) + Math.abs(exact));
                double tolerance = expected.scoreError() + rest;
                require(Math.abs(actual[row] - exact) <= tolerance, "logSumExp " + actual[row] + " for " + exact);
            }
        }
    }

    /** Checks weights. The errors of its score and of lse are a relative error of a weight {@code e^(s - lse)}. */
    public static void weights(double[] actual, ReferenceAttention.Result expected) {
        double relative = 2 * expected.scoreError() + 0x1p-24 * (32 * (1 + expected.maxScore()) + 8);
        for (int i = 0; i < actual.length; i++) {
            double exact = expected.weights()[i];
            require(
                    Math.abs(actual[i] - exact) <= relative * exact + 0x1p-126,
                    "weight " + actual[i] + " for " + exact);
        }
    }

    private static void untouched(Tensor tensor, String name) {
        require(Layout.untouchedOutside(tensor), "bytes around " + name + " were written");
    }

    private static void require(boolean holds, String message) {
        if (!holds) {
            throw new AssertionError(message);
        }
    }
}
