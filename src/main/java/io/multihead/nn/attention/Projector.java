package io.multihead.nn.attention;

import io.multihead.compute.Compute;
import io.multihead.internal.nn.TensorArena;
import io.multihead.tensor.Tensor;

/** Projects the inputs and the output of a layer: with packed weights, or with linear layers that record the values that backward needs. */
interface Projector {
    /**
     * Projects query, key and value {@code [batch, tokens, features]}. If all three are one tensor, the call is self-attention, and a fused
     * weight needs only one product.
     */
    ProjectedHeads project(Compute cpu, TensorArena arena, Tensor query, Tensor key, Tensor value);

    /** Projects the concatenated heads {@code [batch, queries, heads * valueDim]} into a result of that shape except the last axis. */
    void projectOutput(Compute cpu, TensorArena arena, Tensor attended, Tensor result);

    /** Allocates {@code [batch, tokens, features]} in the memory order that is best for the next step. */
    Tensor allocate(TensorArena arena, Tensor like, long features);
}
