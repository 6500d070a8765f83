package io.multihead.nn.attention;

import io.multihead.compute.Compute;
import io.multihead.internal.nn.TensorArena;
import io.multihead.internal.nn.TensorMath;
import io.multihead.tensor.Tensor;
import org.jspecify.annotations.Nullable;

/** The gradients of the weights that a recorded call returned, in the form that attention takes. */
final class WeightsGradient {
    private WeightsGradient() {}

    /**
     * Returns the gradient of every head's weights {@code [batch, heads, queries, keys]}, to which the gradient of the averaged weights
     * adds {@code 1 / heads} of itself; null if the caller gives neither gradient. The result is a view of the caller's tensor if nothing
     * needs to be computed.
     */
    static @Nullable Tensor perHead(Compute cpu, TensorArena scratch, long heads, MultiHeadOutputs gradients) {
        Tensor perHead = gradients.headWeights() == null ? null : HeadWeights.batched(gradients.headWeights(), 4);
        if (gradients.averageWeights() == null) {
            return perHead;
        }
        Tensor average = HeadWeights.batched(gradients.averageWeights(), 3);
        Tensor share = scratch.f32(average.shape().toArray());
        TensorMath.scale(cpu, average, 1.0 / heads, share);
        Tensor shares = share.reshape(share.dim(0), 1, share.dim(1), share.dim(2))
                .broadcast(share.dim(0), heads, share.dim(1), share.dim(2));
        if (perHead == null) {
            return shares;
        }
        Tensor sum = scratch.f32(perHead.shape().toArray());
        TensorMath.add(cpu, perHead, shares, sum);
        return sum;
    }

    /**
     * Returns {@code -sum_j W_ij dW_ij} of every row, {@code [batch, heads, queries]}: the contribution of some keys of a softmax to the
     * gradient of log-sum-exp for its other keys.
     */
    static Tensor ofLogSumExp(Compute cpu, TensorArena scratch, Tensor weights, Tensor gradients) {
        long heads = weights.dim(1);
        long queries = weights.dim(2);
        Tensor sums = scratch.f64(weights.dim(0), heads, queries);
        TensorMath.weightedSums(
                cpu,
                weights,
                gradients,
                sums.shape().elements(),
                (row, dot) -> sums.set(-dot, row / queries / heads, row / queries % heads, row % queries));
        return sums;
    }
}
