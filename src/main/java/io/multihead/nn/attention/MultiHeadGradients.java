package io.multihead.nn.attention;

import io.multihead.tensor.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * The tensors to which {@link MultiHeadPass} writes the gradients of the inputs of a call of {@link MultiHeadAttention}. The caller owns all memory.
 * Element types are floating-point, strides are arbitrary, and no two tensors may overlap. A gradient that is null is not computed.
 *
 * <p>If one tensor was given as query and key, or as key and value, the first of the two gradients receives the whole gradient and the other must be
 * null.
 *
 * @param query a tensor of the query's shape
 * @param key a tensor of the key's shape
 * @param value a tensor of the value's shape
 * @param scoreBias of the shape of the mask's bias: the gradient of the scores, summed over the axes along which the bias is broadcast
 * @param headMask of the head mask's shape: {@code sum att_h o dAtt_h} for every head, or for every head of every example, from which Michel et al.
 *     (2019, equation 2) compute the importance of a head. If the call had no head mask, which means factors of 1, the shape is {@code [heads]} or
 *     {@code [batch, heads]}
 * @param sinks {@code [queryHeads]}: gradient of the sinks of the configuration's options
 */
public record MultiHeadGradients(
        @Nullable Tensor query,
        @Nullable Tensor key,
        @Nullable Tensor value,
        @Nullable Tensor scoreBias,
        @Nullable Tensor headMask,
        @Nullable Tensor sinks) {
    /** No gradient of any input. */
    public static final MultiHeadGradients NONE = new MultiHeadGradients(null, null, null, null, null, null);

    /**
     * Allocates the gradient of self-attention's one input.
     *
     * @param x a tensor of the input's shape; null if not needed
     * @return the tensors of the gradients
     */
    public static MultiHeadGradients of(@Nullable Tensor x) {
        return new MultiHeadGradients(x, null, null, null, null, null);
    }

    /**
     * Creates the gradients of cross-attention with one tensor as key and value.
     *
     * @param query a tensor of the query's shape
     * @param memory of the shape of the tensor that was key and value; null if not needed
     * @return the tensors of the gradients
     */
    public static MultiHeadGradients of(@Nullable Tensor query, @Nullable Tensor memory) {
        return new MultiHeadGradients(query, memory, null, null, null, null);
    }

    /**
     * Allocates the gradients of three different inputs.
     *
     * @param query a tensor of the query's shape
     * @param key a tensor of the key's shape
     * @param value a tensor of the value's shape
     * @return the tensors of the gradients
     */
    public static MultiHeadGradients of(@Nullable Tensor query, @Nullable Tensor key, @Nullable Tensor value) {
        return new MultiHeadGradients(query, key, value, null, null, null);
    }

    /**
     * {@return these gradients, and the gradient of a bias of the mask}
     *
     * @param tensor a tensor of the bias's shape
     */
    public MultiHeadGradients withScoreBias(@Nullable Tensor tensor) {
        return new MultiHeadGradients(query, key, value, tensor, headMask, sinks);
    }

    /**
     * {@return these gradients, and the gradient of the head mask}
     *
     * @param tensor {@code [heads]} or {@code [batch, heads]}
     */
    public MultiHeadGradients withHeadMask(@Nullable Tensor tensor) {
        return new MultiHeadGradients(query, key, value, scoreBias, tensor, sinks);
    }

    /**
     * {@return these gradients, and the gradient of the sinks of the configuration's options}
     *
     * @param tensor {@code [queryHeads]}
     */
    public MultiHeadGradients withSinks(@Nullable Tensor tensor) {
        return new MultiHeadGradients(query, key, value, scoreBias, headMask, tensor);
    }

    /** Returns the tensor that receives the gradient of one projection's input. */
    @Nullable
    Tensor of(Projection projection) {
        return switch (projection) {
            case QUERY -> query;
            case KEY -> key;
            case VALUE -> value;
        };
    }
}
