package io.multihead.attention;

import io.multihead.compute.Compute;
import io.multihead.internal.Checks;
import io.multihead.tensor.Tensor;
import org.jspecify.annotations.Nullable;

/** What must hold before attention writes anything. */
final class AttentionChecks {
    private AttentionChecks() {}

    static void requireInputs(Compute cpu, Tensor query, Tensor key, Tensor value) {
        requireRank(query, "query", 4, "[batch, queryHeads, queries, headDim]");
        requireRank(key, "key", 4, "[batch, keyHeads, keys, headDim]");
        requireRank(value, "value", 4, "[batch, keyHeads, keys, valueDim]");
        requireSame("key", key, 0, query.dim(0), "batch size", "query", query);
        requireSame("key", key, 3, query.dim(3), "headDim", "query", query);
        requireSame("value", value, 0, query.dim(0), "batch size", "query", query);
        requireSame("value", value, 1, key.dim(1), "keyHeads", "key", key);
        requireSame("value", value, 2, key.dim(2), "keys", "key", key);
        if (key.dim(1) == 0 ? query.dim(1) != 0 : query.dim(1) % key.dim(1) != 0) {
            throw Checks.fail(
                    "query",
                    "shape " + query.shape(),
                    "expected a multiple of the " + key.dim(1) + " heads of key " + key.shape());
        }
        Checks.fitsInt(query.dim(3), "headDim");
        Checks.fitsInt(value.dim(3), "valueDim");
        cpu.requireAccess(query, "query");
        cpu.requireAccess(key, "key");
        cpu.requireAccess(value, "value");
    }

    static void requireOutputs(Compute cpu, AttentionCall call) {
        Tensor output = call.output();
        Tensor logSumExp = call.logSumExp();
        Tensor weights = call.weights();
        requireShape(output, "output", 4, call, call.valueDim);
        requireApart(cpu, output, "output", call);
        if (logSumExp != null) {
            requireShape(logSumExp, "logSumExp", 3, call, 0);
            requireApart(cpu, logSumExp, "logSumExp", call);
            requireApart(output, "output", logSumExp, "logSumExp");
        }
        if (weights != null) {
            requireShape(weights, "weights", 4, call, call.keys);
            requireApart(cpu, weights, "weights", call);
            requireApart(output, "output", weights, "weights");
            if (logSumExp != null) {
                requireApart(logSumExp, "logSumExp", weights, "weights");
            }
        }
    }

    /** Fails unless the tensor is floating, writable, and every element has its own storage. */
    static void requireWritable(Compute cpu, Tensor tensor, String argument) {
        cpu.requireAccess(tensor, argument);
        if (!tensor.dtype().isFloating()) {
            throw Checks.fail(argument, tensor.toString(), "expected a floating element type");
        }
        if (tensor.memory().isReadOnly()) {
            throw Checks.fail(argument, "read-only memory", "expected memory that can be written");
        }
        if (tensor.overlapsItself()) {
            throw Checks.fail(argument, tensor.toString(), "expected every element to have its own storage");
        }
    }

    static void requireApart(Tensor written, String argument, @Nullable Tensor other, String otherArgument) {
        if (other != null && written.overlaps(other)) {
            throw Checks.fail(argument, "overlaps " + otherArgument, "expected memory of its own");
        }
    }

    private static void requireApart(Compute cpu, Tensor written, String argument, AttentionCall call) {
        requireWritable(cpu, written, argument);
        requireApart(written, argument, call.query(), "query");
        requireApart(written, argument, call.key(), "key");
        requireApart(written, argument, call.value(), "value");
        call.mask.requireUsable(cpu, written, argument);
    }

    private static void requireRank(Tensor tensor, String argument, int rank, String axes) {
        if (Checks.notNull(tensor, argument).rank() != rank) {
            throw Checks.fail(argument, "shape " + tensor.shape(), "expected " + axes);
        }
    }

    private static void requireSame(
            String argument, Tensor tensor, int axis, long size, String what, String other, Tensor otherTensor) {
        if (tensor.dim(axis) != size) {
            throw Checks.fail(
                    argument,
                    "shape " + tensor.shape(),
                    "expected " + what + " " + size + ", as in " + other + " " + otherTensor.shape());
        }
    }

    /** Fails unless the shape is {@code [batch, queryHeads, queries]}, with {@code last} behind it at rank 4. */
    private static void requireShape(Tensor tensor, String argument, int rank, AttentionCall call, long last) {
        if (tensor.rank() != rank
                || tensor.dim(0) != call.batches
                || tensor.dim(1) != call.heads
                || tensor.dim(2) != call.queries
                || (rank == 4 && tensor.dim(3) != last)) {
            String wanted =
                    "[" + call.batches + ", " + call.heads + ", " + call.queries + (rank == 4 ? ", " + last : "") + "]";
            throw Checks.fail(argument, "shape " + tensor.shape(), "expected " + wanted);
        }
    }
}
