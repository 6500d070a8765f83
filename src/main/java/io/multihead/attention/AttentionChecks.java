package io.multihead.attention;

import io.multihead.compute.Compute;
import io.multihead.internal.Checks;
import io.multihead.internal.call.Operation;
import io.multihead.tensor.Tensor;
import org.jspecify.annotations.Nullable;

/** What must hold before attention writes anything. */
final class AttentionChecks {
    private AttentionChecks() {}

    static void requireInputs(Compute cpu, Tensor query, Tensor key, Tensor value) {
        requireRank(query, "query", 4, "[batch, queryHeads, queries, headDim]");
        requireRank(key, "key", 4, "[batch, keyHeads, keys, headDim]");
        requireSame("key", key, 0, query.dim(0), "batch size", "query", query);
        requireSame("key", key, 3, query.dim(3), "headDim", "query", query);
        requireKeyValues(key, value);
        if (key.dim(1) == 0 ? query.dim(1) != 0 : query.dim(1) % key.dim(1) != 0) {
            throw Checks.fail(
                    "query",
                    "shape " + query.shape(),
                    "expected a multiple of the " + key.dim(1) + " heads of key " + key.shape());
        }
        Operation.execution(cpu).requireAccess(query, "query");
        Operation.execution(cpu).requireAccess(key, "key");
        Operation.execution(cpu).requireAccess(value, "value");
    }

    /** Fails unless keys and values fit each other. */
    static void requireKeyValues(Tensor key, Tensor value) {
        requireRank(key, "key", 4, "[batch, keyHeads, keys, headDim]");
        requireRank(value, "value", 4, "[batch, keyHeads, keys, valueDim]");
        requireSame("value", value, 0, key.dim(0), "batch size", "key", key);
        requireSame("value", value, 1, key.dim(1), "keyHeads", "key", key);
        requireSame("value", value, 2, key.dim(2), "keys", "key", key);
        Checks.fitsInt(key.dim(0), "batch");
        Checks.fitsInt(key.dim(1), "keyHeads");
        Checks.fitsInt(key.dim(3), "headDim");
        Checks.fitsInt(value.dim(3), "valueDim");
    }

    /** Fails unless the tensor is {@code [1, heads, tokens, dim]} and the offsets divide its tokens. */
    static void requirePacked(long[] offsets, Tensor tensor, String argument) {
        if (Checks.notNull(tensor, argument).rank() != 4 || tensor.dim(0) != 1) {
            throw Checks.fail(argument, "shape " + tensor.shape(), "expected [1, heads, tokens, dim] of packed tokens");
        }
        Checks.offsets(offsets, tensor.dim(2), tensor.shape());
    }

    /** Fails unless the tensor is {@code [sequences, heads, maxTokens, dim]} and the lengths are one per sequence. */
    static void requireLengths(long[] lengths, Tensor key) {
        requireRank(key, "key", 4, "[sequences, keyHeads, maxTokens, headDim]");
        if (Checks.notNull(lengths, "lengths").length != key.dim(0)) {
            throw Checks.fail(
                    "lengths",
                    lengths.length + " lengths",
                    "expected one per sequence of " + key.dim(0) + ", as in key " + key.shape());
        }
        for (long length : lengths) {
            if (length < 0 || length > key.dim(2)) {
                throw Checks.fail(
                        "lengths",
                        String.valueOf(length),
                        "expected 0 to " + key.dim(2) + ", the tokens of key " + key.shape());
            }
        }
    }

    /** Fails unless the query fits the view, in the one way without offsets and in the other with them. */
    static void requireQuery(Compute cpu, Tensor query, KeyValueView view, long @Nullable [] offsets) {
        if (offsets == null) {
            requireRank(query, "query", 4, "[sequences, queryHeads, queries, headDim]");
        } else {
            requirePacked(offsets, query, "query");
        }
        long sequences = offsets == null ? query.dim(0) : offsets.length - 1;
        if (sequences != view.sequences()) {
            throw Checks.fail(
                    "query",
                    sequences + " sequences in shape " + query.shape(),
                    "expected the " + view.sequences() + " of keyValues");
        }
        if (query.dim(3) != view.headDim()) {
            throw Checks.fail(
                    "query", "shape " + query.shape(), "expected headDim " + view.headDim() + ", as in keyValues");
        }
        if (view.heads() == 0 ? query.dim(1) != 0 : query.dim(1) % view.heads() != 0) {
            throw Checks.fail(
                    "query",
                    "shape " + query.shape(),
                    "expected a multiple of the " + view.heads() + " heads of keyValues");
        }
        Operation.execution(cpu).requireAccess(query, "query");
    }

    static void requireOutputs(Compute cpu, ForwardCall forward) {
        AttentionCall call = forward.arguments;
        Tensor output = call.output();
        Tensor logSumExp = call.logSumExp();
        Tensor weights = call.weights();
        requireShape(output, "output", 4, call, call.valueDim);
        requireApart(cpu, output, "output", forward);
        if (logSumExp != null) {
            requireShape(logSumExp, "logSumExp", 3, call, 0);
            requireApart(cpu, logSumExp, "logSumExp", forward);
            requireApart(output, "output", logSumExp, "logSumExp");
        }
        if (weights != null) {
            requireShape(weights, "weights", 4, call, call.keys);
            requireApart(cpu, weights, "weights", forward);
            requireApart(output, "output", weights, "weights");
            if (logSumExp != null) {
                requireApart(logSumExp, "logSumExp", weights, "weights");
            }
        }
    }

    /** Fails unless the tensor is floating, writable, and every element has its own storage. */
    static void requireWritable(Compute cpu, Tensor tensor, String argument) {
        Operation.execution(cpu).requireAccess(tensor, argument);
        requireFloating(tensor, argument);
        if (tensor.memory().isReadOnly()) {
            throw Checks.fail(argument, "read-only memory", "expected memory that can be written");
        }
        if (tensor.overlapsItself()) {
            throw Checks.fail(argument, tensor.toString(), "expected every element to have its own storage");
        }
    }

    static void requireFloating(Tensor tensor, String argument) {
        if (!tensor.dtype().isFloating()) {
            throw Checks.fail(argument, tensor.toString(), "expected a floating element type");
        }
    }

    static void requireApart(Tensor written, String argument, @Nullable Tensor other, String otherArgument) {
        if (other != null && written.overlaps(other)) {
            throw Checks.fail(argument, "overlaps " + otherArgument, "expected memory of its own");
        }
    }

    private static void requireApart(Compute cpu, Tensor written, String argument, ForwardCall forward) {
        requireWritable(cpu, written, argument);
        requireApart(written, argument, forward.arguments.query(), "query");
        forward.view().requireUsable(cpu, written, argument);
        forward.arguments.mask.requireUsable(cpu, written, argument);
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

    /** Fails unless the shape is the query's with {@code last} as its last size, left out at rank 3. */
    private static void requireShape(Tensor tensor, String argument, int rank, AttentionCall call, long last) {
        Tensor query = call.query();
        if (tensor.rank() != rank
                || tensor.dim(0) != query.dim(0)
                || tensor.dim(1) != query.dim(1)
                || tensor.dim(2) != query.dim(2)
                || (rank == 4 && tensor.dim(3) != last)) {
            String wanted = "[" + query.dim(0) + ", " + query.dim(1) + ", " + query.dim(2)
                    + (rank == 4 ? ", " + last : "") + "]";
            throw Checks.fail(argument, "shape " + tensor.shape(), "expected " + wanted);
        }
    }
}
