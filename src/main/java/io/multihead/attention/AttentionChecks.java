package io.multihead.attention;

import io.multihead.compute.Compute;
import io.multihead.internal.attention.AttentionBlocking;
import io.multihead.internal.attention.AttentionProblem;
import io.multihead.internal.attention.QueryTensors;
import io.multihead.internal.attention.forward.ForwardCall;
import io.multihead.internal.attention.forward.SplitStates;
import io.multihead.internal.attention.keyvalue.KeyValueSource;
import io.multihead.internal.base.Checks;
import io.multihead.internal.call.TensorChecks;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import org.jspecify.annotations.Nullable;

/** Checks the arguments of attention before anything is written. */
final class AttentionChecks {
    private AttentionChecks() {}

    static void requireInputs(Tensor query, Tensor key, Tensor value) {
        requireRank(query, "query", 4, "[batch, queryHeads, queries, headDim]");
        requireRank(key, "key", 4, "[batch, keyValueHeads, keys, headDim]");
        requireSame("key", key, 0, query.dim(0), "batch size", "query", query);
        requireSame("key", key, 3, query.dim(3), "headDim", "query", query);
        requireKeyValues(key, value);
        requireGroups(query, key.dim(1), key);
    }

    /**
     * Fails unless the number of query heads is a multiple of the number of key heads, which come from a tensor or from {@code keyValues}.
     */
    private static void requireGroups(Tensor query, long heads, @Nullable Tensor key) {
        if (heads == 0 ? query.dim(1) != 0 : query.dim(1) % heads != 0) {
            String of = key == null ? "keyValues" : "key " + key.shape();
            throw Checks.fail(
                    "query", "shape " + query.shape(), "expected a multiple of the " + heads + " heads of " + of);
        }
    }

    /** Fails unless keys and values fit each other. */
    static void requireKeyValues(Tensor key, Tensor value) {
        requireRank(key, "key", 4, "[batch, keyValueHeads, keys, headDim]");
        requireRank(value, "value", 4, "[batch, keyValueHeads, keys, valueDim]");
        requireSame("value", value, 0, key.dim(0), "batch size", "key", key);
        requireSame("value", value, 1, key.dim(1), "keyValueHeads", "key", key);
        requireSame("value", value, 2, key.dim(2), "keys", "key", key);
        Checks.fitsInt(key.dim(0), "batch");
        Checks.fitsInt(key.dim(1), "keyValueHeads");
        requireDims(key.dim(3), value.dim(3), AttentionBlocking.MAX_DIM);
    }

    /** Fails if queries and keys, or values, have more elements than the scratch memory of a call can hold. */
    static void requireDims(long headDim, long valueDim, int most) {
        requireDim(headDim, most, "headDim");
        requireDim(valueDim, most, "valueDim");
    }

    /** Fails if a size exceeds the largest supported size; the message names the argument. */
    static void requireDim(long dim, int most, String argument) {
        if (dim > most) {
            throw Checks.fail(argument, String.valueOf(dim), "expected at most " + most);
        }
    }

    /** Fails unless the tensor is {@code [1, heads, tokens, dim]} and has as many tokens as the sequences. */
    static void requirePacked(PackedSequences sequences, String name, Tensor tensor, String argument) {
        Checks.notNull(sequences, name);
        if (Checks.notNull(tensor, argument).rank() != 4 || tensor.dim(0) != 1) {
            throw Checks.fail(argument, "shape " + tensor.shape(), "expected [1, heads, tokens, dim] of packed tokens");
        }
        Checks.packedTokens(tensor.dim(2), tensor.shape(), sequences.tokens(), sequences, argument);
    }

    /** Fails unless the tensor is {@code [sequences, heads, maxTokens, dim]} and there is one length per sequence. */
    static void requireLengths(long[] lengths, Tensor key) {
        requireRank(key, "key", 4, "[sequences, keyValueHeads, maxTokens, headDim]");
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

    /** Fails unless the query fits the keys and values: one batch per sequence, or packed sequences. */
    static void requireQuery(Tensor query, KeyValueSource view, @Nullable PackedSequences queries) {
        if (queries == null) {
            requireRank(query, "query", 4, "[sequences, queryHeads, queries, headDim]");
        } else {
            requirePacked(queries, "queries", query, "query");
        }
        long sequences = queries == null ? query.dim(0) : queries.count();
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
        requireDims(view.headDim(), view.valueDim(), AttentionBlocking.MAX_DIM);
        requireGroups(query, view.heads(), null);
    }

    /** Fails unless all threads may use the inputs of a bound call. */
    static void requireAccess(Compute cpu, ForwardCall call) {
        TensorChecks.requireAccess(cpu, call.tensors().query(), "query");
        call.source().requireAccess(cpu);
        call.mask().requireAccess(cpu);
    }

    /** Fails unless the outputs of a bound call have the right shapes and overlap no other tensor. */
    static void requireOutputs(Compute cpu, ForwardCall call) {
        QueryTensors tensors = call.tensors();
        AttentionProblem problem = call.problem();
        Tensor output = tensors.output();
        Tensor logSumExp = tensors.logSumExp();
        Tensor weights = tensors.weights();
        requireShape(output, "output", 4, tensors.query(), problem.valueDim());
        requireApart(cpu, output, "output", call);
        if (logSumExp != null) {
            requireShape(logSumExp, "logSumExp", 3, tensors.query(), 0);
            requireApart(cpu, logSumExp, "logSumExp", call);
            TensorChecks.requireApart(output, "output", logSumExp, "logSumExp");
        }
        if (weights != null) {
            requireShape(weights, "weights", 4, tensors.query(), problem.keys());
            requireApart(cpu, weights, "weights", call);
            TensorChecks.requireApart(output, "output", weights, "weights");
            if (logSumExp != null) {
                TensorChecks.requireApart(logSumExp, "logSumExp", weights, "weights");
            }
        }
        if (tensors.scores() != null) {
            requireScores(cpu, tensors.scores(), call);
        }
    }

    /** Fails unless the states of a bound call have the right shape and overlap no other tensor. */
    static void requireStates(Compute cpu, Tensor states, ForwardCall call) {
        TensorChecks.requireFloating(states, "states");
        Tensor query = call.tensors().query();
        if (states.dtype() != DType.F32 || !SplitStates.hasShape(states, query, call.source())) {
            Shape expected = SplitStates.shape(query, call.source());
            throw Checks.fail("states", states.toString(), "expected F32 of shape " + expected);
        }
        requireApart(cpu, states, "states", call);
    }

    private static void requireScores(Compute cpu, Tensor scores, ForwardCall call) {
        QueryTensors tensors = call.tensors();
        requireShape(scores, "scores", 4, tensors.query(), call.problem().keys());
        requireApart(cpu, scores, "scores", call);
        TensorChecks.requireApart(scores, "scores", tensors.output(), "output");
        TensorChecks.requireApart(scores, "scores", tensors.logSumExp(), "logSumExp");
        TensorChecks.requireApart(scores, "scores", tensors.weights(), "weights");
    }

    private static void requireApart(Compute cpu, Tensor written, String argument, ForwardCall call) {
        TensorChecks.requireWritable(cpu, written, argument);
        TensorChecks.requireApart(written, argument, call.tensors().query(), "query");
        call.source().requireApart(written, argument);
        call.mask().requireApart(written, argument);
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

    /** Fails unless the tensor has the shape of the query with {@code last} as the last size, or, at rank 3, without the last axis. */
    private static void requireShape(Tensor tensor, String argument, int rank, Tensor query, long last) {
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
