package io.multihead.internal.nn;

import io.multihead.tensor.Tensor;

/** Views of tensors: axes viewed as one, features as heads. Stateless. */
public final class Views {
    private Views() {}

    /** Returns the heads {@code [batch, heads, tokens, features / heads]} in {@code [batch, tokens, features]}. */
    public static Tensor splitHeads(Tensor x, long heads) {
        return x.reshape(x.dim(0), x.dim(1), heads, x.dim(2) / heads).transpose(1, 2);
    }

    /** Returns whether the axes {@code from} to {@code to - 1} can be viewed as one. */
    public static boolean collapses(Tensor x, int from, int to) {
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

    /** Returns whether all axes but the last can be viewed as one. */
    public static boolean flattens(Tensor x) {
        return collapses(x, 0, x.rank() - 1);
    }

    /** Returns the tensor as {@code [rows, features]}; a tensor of one axis is one row. */
    public static Tensor flattened(Tensor x) {
        long rows = 1;
        for (int axis = 0; axis < x.rank() - 1; axis++) {
            rows *= x.dim(axis);
        }
        return x.reshape(rows, x.dim(-1));
    }

    /** Returns whether the tokens of {@code [batch, tokens, features]} are stored in the order {@code (tokens, batch, features)}. */
    public static boolean tokensFirst(Tensor x) {
        return x.dim(0) > 1 && x.stride(0) < x.stride(1);
    }
}
