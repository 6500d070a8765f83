package io.multihead.attention;

import io.multihead.tensor.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * The tensors to which {@link Attention#backward} writes gradients. The caller owns all memory. Element types are floating-point,
 * strides are arbitrary, and no two tensors may overlap. A gradient that is null is not computed.
 *
 * @param query {@code [batch, queryHeads, queries, headDim]}
 * @param key {@code [batch, keyValueHeads, keys, headDim]}
 * @param value {@code [batch, keyValueHeads, keys, valueDim]}
 * @param bias the gradient of a bias of the mask, of any shape that broadcasts to {@code (batch, queryHeads, queries, keys)}:
 *     the scores' gradient, summed over the axes along which it is broadcast
 * @param sinks {@code [queryHeads]}: the gradient of the sinks of {@link ScoreOptions}
 */
public record AttentionGradients(
        @Nullable Tensor query,
        @Nullable Tensor key,
        @Nullable Tensor value,
        @Nullable Tensor bias,
        @Nullable Tensor sinks) {
    /**
     * Returns gradients of query, key and value.
     *
     * @param query {@code [batch, queryHeads, queries, headDim]}
     * @param key {@code [batch, keyValueHeads, keys, headDim]}
     * @param value {@code [batch, keyValueHeads, keys, valueDim]}
     * @return gradients without a bias and without sinks
     */
    public static AttentionGradients of(@Nullable Tensor query, @Nullable Tensor key, @Nullable Tensor value) {
        return new AttentionGradients(query, key, value, null, null);
    }

    /**
     * {@return these gradients, and the gradient of a bias of the mask}
     *
     * @param tensor of the bias's shape
     */
    public AttentionGradients withBias(@Nullable Tensor tensor) {
        return new AttentionGradients(query, key, value, tensor, sinks);
    }

    /**
     * {@return these gradients, and the gradient of the sinks}
     *
     * @param tensor {@code [queryHeads]}
     */
    public AttentionGradients withSinks(@Nullable Tensor tensor) {
        return new AttentionGradients(query, key, value, bias, tensor);
    }
}
