package io.multihead.attention;

import io.multihead.compute.Compute;
import io.multihead.internal.attention.forward.StateMerge;
import io.multihead.internal.base.Checks;
import io.multihead.internal.call.Operation;
import io.multihead.internal.call.TensorChecks;
import io.multihead.internal.nn.RowView;
import io.multihead.tensor.Tensor;

/**
 * The result of attention over a part of the keys: the normalized output and the log-sum-exp. Two states of the same queries over different
 * keys can be merged. For example, a shared prefix is computed once (cascade inference), or a cache is distributed over machines.
 *
 * <p>Merging is associative and commutative except for rounding; {@link AttentionSplits} has the same bits as one call over all keys. The
 * caller owns the memory. A sink counts once in each state that was computed with it, so at most one of the merged states may have the sinks.
 *
 * @param output {@code [batch, queryHeads, queries, valueDim]}
 * @param logSumExp {@code [batch, queryHeads, queries]}; minus infinity where no key was seen, and the output is then
 *     ignored. F64 is exact; F32 adds the rounding error of a logarithm of this size
 */
public record AttentionState(Tensor output, Tensor logSumExp) {
    /**
     * Checks the shapes.
     *
     * @throws IllegalArgumentException if the shapes do not fit
     */
    public AttentionState {
        Checks.notNull(output, "output");
        Checks.notNull(logSumExp, "logSumExp");
        boolean fits = output.rank() == 4 && logSumExp.rank() == 3;
        for (int axis = 0; fits && axis < 3; axis++) {
            fits = output.dim(axis) == logSumExp.dim(axis);
        }
        if (!fits) {
            throw Checks.fail(
                    "logSumExp",
                    "shape " + logSumExp.shape(),
                    "expected the first three sizes of output " + output.shape());
        }
    }

    /** {@return the outputs with which attention writes this state, without weights} */
    public AttentionOutputs outputs() {
        return new AttentionOutputs(output, logSumExp, null);
    }

    /**
     * Merges two states: {@code l = log(e^l1 + e^l2)}, {@code o = o1 e^(l1 - l) + o2 e^(l2 - l)} (Ye et al. 2025, section 2.2). A state
     * that saw no key does not change the bits of the other. A state that saw a key contributes its NaN and infinities for any share of the
     * weights, as in one call over all keys. Outputs of any type are read as f32; the sum is computed in {@code double} and rounded once.
     *
     * @param cpu threads and scratch
     * @param left the state over some keys
     * @param right the state over other keys
     * @param merged written; may be {@code left} or {@code right} itself
     * @throws IllegalArgumentException if shapes differ or memory overlaps otherwise; nothing is written
     */
    public static void merge(Compute cpu, AttentionState left, AttentionState right, AttentionState merged) {
        Checks.notNull(cpu, "cpu");
        require(cpu, left, "left", merged);
        require(cpu, right, "right", merged);
        RowView.requireLength(merged.output.dim(3), 1, "valueDim");
        TensorChecks.requireWritable(cpu, merged.output, "merged output");
        TensorChecks.requireWritable(cpu, merged.logSumExp, "merged logSumExp");
        TensorChecks.requireApart(merged.output, "merged output", merged.logSumExp, "merged logSumExp");
        try (StateMerge call = Operation.open(cpu, StateMerge.CALL)) {
            call.bindLeft(left.output, left.logSumExp, null);
            call.bindRight(right.output, right.logSumExp, null);
            call.bindMerged(merged.output, merged.logSumExp);
            call.run();
        }
    }

    private static void require(Compute cpu, AttentionState part, String argument, AttentionState merged) {
        Checks.notNull(part, argument);
        Checks.notNull(merged, "merged");
        if (!part.output.shape().equals(merged.output.shape())) {
            throw Checks.fail(
                    argument,
                    "output shape " + part.output.shape(),
                    "expected " + merged.output.shape() + ", as in merged");
        }
        TensorChecks.requireFloating(part.logSumExp, argument + " logSumExp");
        TensorChecks.requireAccess(cpu, part.output, argument);
        TensorChecks.requireAccess(cpu, part.logSumExp, argument);
        if (part != merged) {
            TensorChecks.requireApart(merged.output, "merged output", part.output, argument);
            TensorChecks.requireApart(merged.output, "merged output", part.logSumExp, argument);
            TensorChecks.requireApart(merged.logSumExp, "merged logSumExp", part.output, argument);
            TensorChecks.requireApart(merged.logSumExp, "merged logSumExp", part.logSumExp, argument);
        }
    }
}
