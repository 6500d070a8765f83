package io.multihead.support;

import io.multihead.attention.Mask;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;

/**
 * The masks of PyTorch's {@code nn.MultiheadAttention}. A nonzero I8 element hides a key, and a floating-point element
 * is added to the score.
 */
public final class PyTorchMasks {
    private PyTorchMasks() {}

    /** Returns the mask of {@code key_padding_mask}, {@code [batch, keys]} or {@code [keys]}. */
    public static Mask padding(Tensor padding) {
        if (padding.dtype() == DType.I8) {
            return Mask.keyPadding(padding);
        }
        return Mask.bias(padding.rank() == 1 ? padding : padding.reshape(padding.dim(0), 1, 1, padding.dim(1)));
    }

    /** Returns the mask of {@code attn_mask}, {@code [queries, keys]} or {@code [batch * heads, queries, keys]}. */
    public static Mask scores(Tensor scores, long heads) {
        Tensor perHead = perHead(scores, heads);
        return scores.dtype() == DType.I8 ? Mask.drop(perHead) : Mask.bias(perHead);
    }

    /** Returns a view {@code [batch, heads, queries, keys]} of {@code [batch * heads, queries, keys]}. */
    public static Tensor perHead(Tensor scores, long heads) {
        return scores.rank() == 2 ? scores : scores.reshape(scores.dim(0) / heads, heads, scores.dim(1), scores.dim(2));
    }
}
