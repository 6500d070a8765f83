package io.multihead.nn;

import io.multihead.internal.Checks;
import io.multihead.tensor.Tensor;

/** Where the intermediate results of one call lie: the only place of this package that allocates them. */
final class Temporaries {
    /** A dense f32 tensor with arbitrary contents. */
    Tensor f32(long... dims) {
        long elements = 1;
        for (long dim : dims) {
            elements = Math.multiplyExact(elements, dim);
        }
        return Tensor.of(new float[Checks.fitsInt(elements, "elements of a temporary tensor")], dims);
    }

    /** As {@code [batch, tokens, ...]} in the memory order of {@code like}, with another number of features. */
    Tensor f32Like(Tensor like, long features) {
        return Views.tokensFirst(like)
                ? f32(like.dim(1), like.dim(0), features).permute(1, 0, 2)
                : f32(like.dim(0), like.dim(1), features);
    }
}
