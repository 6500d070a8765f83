package io.multihead.attention;

import io.multihead.compute.Compute;
import io.multihead.internal.attention.AttentionBlocking;
import io.multihead.internal.attention.forward.SplitStates;
import io.multihead.internal.base.Checks;
import io.multihead.internal.call.TensorChecks;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.util.List;

/** Checks the states of splits that are merged, before anything is written. */
final class SplitChecks {
    private SplitChecks() {}

    /** Fails unless the states are the states of all splits in order and fit the outputs, and the outputs overlap no other tensor. */
    static void require(Compute cpu, List<Tensor> states, AttentionOutputs outputs) {
        if (states.isEmpty()) {
            throw Checks.fail("states", "none", "expected the states of at least one shard");
        }
        requireOutputs(cpu, outputs);
        for (int i = 0; i < states.size(); i++) {
            requireState(cpu, states.get(i), name(i), outputs);
        }
        Tensor output = outputs.output();
        for (long batch = 0; output.dim(2) > 0 && batch < output.dim(0); batch++) {
            for (long head = 0; head < output.dim(1); head++) {
                requireOrder(states, batch, head);
            }
        }
    }

    private static void requireOutputs(Compute cpu, AttentionOutputs outputs) {
        if (outputs.weights() != null || outputs.scores() != null) {
            String actual = outputs.weights() != null ? "weights" : "scores";
            throw Checks.fail(
                    "outputs", actual, "expected only output and logSumExp, since states have no weights and scores");
        }
        Tensor output = outputs.output();
        Tensor logSumExp = outputs.logSumExp();
        if (output.rank() != 4) {
            throw Checks.fail(
                    "output", "shape " + output.shape(), "expected [sequences, queryHeads, queries, valueDim]");
        }
        Checks.fitsInt(output.dim(0), "sequences");
        Checks.fitsInt(output.dim(1), "queryHeads");
        AttentionChecks.requireDim(output.dim(3), AttentionBlocking.MAX_DIM, "valueDim");
        TensorChecks.requireWritable(cpu, output, "output");
        if (logSumExp != null) {
            if (logSumExp.rank() != 3 || !hasRowsOf(output, logSumExp)) {
                throw Checks.fail(
                        "logSumExp",
                        "shape " + logSumExp.shape(),
                        "expected the first three sizes of output " + output.shape());
            }
            TensorChecks.requireWritable(cpu, logSumExp, "logSumExp");
            TensorChecks.requireApart(output, "output", logSumExp, "logSumExp");
        }
    }

    private static boolean hasRowsOf(Tensor output, Tensor tensor) {
        return tensor.dim(0) == output.dim(0) && tensor.dim(1) == output.dim(1) && tensor.dim(2) == output.dim(2);
    }

    private static void requireState(Compute cpu, Tensor states, String argument, AttentionOutputs outputs) {
        Tensor output = outputs.output();
        int size = SplitStates.size((int) output.dim(3));
        boolean fits = states.rank() == 5 && hasRowsOf(output, states) && states.dim(4) == size;
        if (!fits || states.dtype() != DType.F32) {
            String rows = output.dim(0) + ", " + output.dim(1) + ", " + output.dim(2);
            throw Checks.fail(
                    argument,
                    states.toString(),
                    "expected F32 of shape [" + rows + ", splits, " + size + "], for output " + output.shape());
        }
        Checks.atLeast(states.dim(3), 1, argument + " splits");
        TensorChecks.requireAccess(cpu, states, argument);
        TensorChecks.requireApart(output, "output", states, argument);
        if (outputs.logSumExp() != null) {
            TensorChecks.requireApart(outputs.logSumExp(), "logSumExp", states, argument);
        }
    }

    /**
     * Fails unless all splits of a head are present once and in order, were computed with the same options, and are complete except for the
     * last.
     */
    private static void requireOrder(List<Tensor> states, long batch, long head) {
        Tensor first = states.getFirst();
        float scale = SplitStates.scale(first, 0, 0, 0);
        float sink = SplitStates.sink(first, 0, head, 0);
        float keysBefore = AttentionBlocking.KEY_SPLIT;
        long expected = 0;
        for (int i = 0; i < states.size(); i++) {
            Tensor from = states.get(i);
            for (long at = 0; at < from.dim(3); at++) {
                float own = SplitStates.scale(from, batch, head, at);
                requireScale(own, i);
                requireSame("scale", own, scale, i);
                requireSame("sink", SplitStates.sink(from, batch, head, at), sink, i);
                float split = SplitStates.split(from, batch, head, at);
                if (split != expected) {
                    throw Checks.fail(
                            name(i),
                            "split " + (long) split,
                            "expected split " + expected + ": states of all shards, once and in order of keys");
                }
                float keys = SplitStates.keys(from, batch, head, at);
                if (keys > 0 && keysBefore < AttentionBlocking.KEY_SPLIT) {
                    throw Checks.fail(
                            name(i),
                            "split " + expected + " after a split of " + (long) keysBefore + " keys",
                            "expected whole splits of " + AttentionBlocking.KEY_SPLIT + " keys before the last");
                }
                keysBefore = keys;
                expected++;
            }
        }
    }

    private static void requireScale(float scale, int index) {
        if (!(scale > 0 && scale <= Float.MAX_VALUE)) {
            throw Checks.fail(name(index), "scale " + scale, "expected states that AttentionSplits.forward wrote");
        }
    }

    private static void requireSame(String what, float actual, float expected, int index) {
        if (Float.compare(actual, expected) != 0) {
            throw Checks.fail(
                    name(index),
                    what + " " + actual,
                    "expected " + expected + ", as in states[0]: options of one call");
        }
    }

    private static String name(int index) {
        return "states[" + index + "]";
    }
}
