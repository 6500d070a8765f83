package io.multihead.nn;

import io.multihead.compute.Compute;
import io.multihead.gemm.Gemm;
import io.multihead.gemm.GemmOptions;
import io.multihead.gemm.PackedWeights;
import io.multihead.tensor.Tensor;
import org.jspecify.annotations.Nullable;

/** Views of {@code [batch, tokens, features]}: as heads, as the rows of one matrix. */
final class Views {
    private Views() {}

    /** The heads {@code [batch, heads, tokens, features / heads]} in {@code [batch, tokens, features]}. */
    static Tensor splitHeads(Tensor x, long heads) {
        return x.reshape(x.dim(0), x.dim(1), heads, x.dim(2) / heads).permute(0, 2, 1, 3);
    }

    /** Whether the axes {@code from} to {@code to - 1} can be seen as one. */
    static boolean collapses(Tensor x, int from, int to) {
        long step = -1;
        for (int axis = to - 1; axis >= from && x.shape().elements() > 0; axis--) {
            if (x.dim(axis) != 1) {
                if (step >= 0 && x.stride(axis) != step) {
                    return false;
                }
                step = x.stride(axis) * x.dim(axis);
            }
        }
        return true;
    }

    /** Whether all axes but the last can be seen as one. */
    static boolean flattens(Tensor x) {
        return collapses(x, 0, x.rank() - 1);
    }

    /** As {@code [rows, features]}; a tensor of one axis is one row. */
    static Tensor flattened(Tensor x) {
        long rows = 1;
        for (int axis = 0; axis < x.rank() - 1; axis++) {
            rows *= x.dim(axis);
        }
        return x.reshape(rows, x.dim(-1));
    }

    /** Whether tokens lie farther apart than batches, as in memory of shape {@code (tokens, batch, features)}. */
    static boolean tokensFirst(Tensor x) {
        return x.dim(0) > 1 && x.stride(0) < x.stride(1);
    }

    /** {@code result = x W + bias} on every token, as one multiplication of many rows where strides allow. */
    static void project(Compute cpu, Tensor x, PackedWeights weight, @Nullable Tensor bias, Tensor result) {
        boolean swap = tokensFirst(x);
        Tensor from = swap ? x.permute(1, 0, 2) : x;
        Tensor to = swap ? result.permute(1, 0, 2) : result;
        if (collapses(from, 0, 2) && collapses(to, 0, 2)) {
            from = from.reshape(x.dim(0) * x.dim(1), x.dim(2));
            to = to.reshape(x.dim(0) * x.dim(1), result.dim(2));
        }
        Gemm.multiply(cpu, from, weight, to, GemmOptions.DEFAULT.withBias(bias));
    }
}
