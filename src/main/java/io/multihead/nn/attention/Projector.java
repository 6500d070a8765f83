package io.multihead.nn.attention;

import io.multihead.compute.Compute;
import io.multihead.internal.nn.TensorArena;
import io.multihead.tensor.Tensor;

/** Projects the inputs and the output of a layer: with packed weights, or with linear layers that record the values that backward needs. */
interface Projector {
    /**
     * Projects query, key and value {@code [batch, tokens, features]}; if all three are one tensor, this is self-attention, for which a
     * fused weight needs one product.
     */
    ProjectedHeads project(Compute cpu, TensorArena arena, Tensor query, Tensor key, Tensor value);

    /** Projects the concatenated heads {@code [batch, queries, heads * valueDim]} into a result of that shape except the last axis. */
    void projectOutput(Compute cpu, TensorArena arena, Tensor attended, Tensor result);

    /** Allocates {@code [batch, tokens, features]} in the memory order that is best for the next step. */
    Tensor allocate(TensorArena arena, Tensor like, long features);
}
