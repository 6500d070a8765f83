package io.multihead.bits;

import io.multihead.support.Layout;
import io.multihead.tensor.DType;
import java.util.Arrays;

/** The sizes of one call of attention, and tensors of these sizes. */
record Shapes(int batch, int heads, int keyValueHeads, int queries, int keys, int headDim, int valueDim) {
    /** Returns sizes with one batch, and one head of keys for each head of queries. */
    static Shapes of(int heads, int queries, int keys, int dim) {
        return new Shapes(1, heads, heads, queries, keys, dim, dim);
    }

    Calls.Inputs inputs(Bits bits) {
        return inputs(bits, DType.F32, DType.F32, DType.F32, Layout.DENSE);
    }

    Calls.Inputs inputs(Bits bits, DType query, DType key, DType value, Layout layout) {
        return new Calls.Inputs(
                bits.normal(query, layout, batch, heads, queries, headDim),
                bits.normal(key, layout, batch, keyValueHeads, keys, headDim),
                bits.normal(value, layout, batch, keyValueHeads, keys, valueDim));
    }

    /** Returns memory for the output in f32 and for log-sum-exp in f64. */
    Calls.Results results(Bits bits) {
        return results(bits, DType.F32, DType.F64, Layout.DENSE);
    }

    Calls.Results results(Bits bits, DType output, DType logSumExp, Layout layout) {
        return new Calls.Results(
                bits.empty(output, layout, batch, heads, queries, valueDim),
                bits.empty(logSumExp, layout, batch, heads, queries),
                null);
    }

    /** Returns memory for the output, log-sum-exp and weights. */
    Calls.Results withWeights(Bits bits, DType weights, Layout layout) {
        Calls.Results results = results(bits);
        return new Calls.Results(
                results.output(), results.logSumExp(), bits.empty(weights, layout, batch, heads, queries, keys));
    }

    /** Returns random gradients of the output, and of log-sum-exp and weights if requested. */
    Calls.Results upstream(Bits bits, DType dtype, Layout layout, boolean logSumExp, boolean weights) {
        return new Calls.Results(
                bits.normal(dtype, layout, batch, heads, queries, valueDim),
                logSumExp ? bits.normal(dtype, layout, batch, heads, queries) : null,
                weights ? bits.normal(dtype, layout, batch, heads, queries, keys) : null);
    }

    /** Returns the shape of a mask that is repeated along the axes whose bit is not set. Leading axes of size 1 are omitted. */
    long[] broadcastable(int axes) {
        long[] full = {batch, heads, queries, keys};
        int first = 3;
        for (int axis = 3; axis >= 0; axis--) {
            boolean own = (axes >> axis & 1) != 0;
            full[axis] = own ? full[axis] : 1;
            first = own ? axis : first;
        }
        return Arrays.copyOfRange(full, first, 4);
    }
}
