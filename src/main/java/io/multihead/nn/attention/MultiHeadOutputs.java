package io.multihead.nn.attention;

import io.multihead.internal.base.Checks;
import io.multihead.tensor.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * The tensors to which one call of {@link MultiHeadAttention} writes. The caller owns all memory. Element types are floating-point, strides
 * are arbitrary, and no two tensors may overlap. With weights, attention holds the whole score matrix.
 *
 * <p>{@code keys} includes the extra keys of the configuration, which come last. Weights of inputs without a batch have no batch axis. Weights of
 * packed sequences have as many keys as the longest sequence, and 0 after the end of shorter sequences. With several token or batch axes, weights
 * have the flattened sizes.
 *
 * @param output the query's shape with its features replaced by the configuration's output shape
 * @param averageWeights {@code [batch, queries, keys]}: attention weights, averaged over heads; null if not needed
 * @param headWeights {@code [batch, heads, queries, keys]}: attention weights of every head; null if not needed
 */
public record MultiHeadOutputs(
        Tensor output,
        @Nullable Tensor averageWeights,
        @Nullable Tensor headWeights) {
    /** Checks that there is an output. */
    public MultiHeadOutputs {
        Checks.notNull(output, "output");
    }

    /**
     * {@return outputs without weights}
     *
     * @param output the query's shape with its features replaced by the configuration's output shape
     */
    public static MultiHeadOutputs of(Tensor output) {
        return new MultiHeadOutputs(output, null, null);
    }

    /**
     * {@return these outputs with attention weights averaged over heads}
     *
     * @param weights {@code [batch, queries, keys]}
     */
    public MultiHeadOutputs withAverageWeights(@Nullable Tensor weights) {
        return new MultiHeadOutputs(output, weights, headWeights);
    }

    /**
     * {@return these outputs with attention weights of every head}
     *
     * @param weights {@code [batch, heads, queries, keys]}
     */
    public MultiHeadOutputs withHeadWeights(@Nullable Tensor weights) {
        return new MultiHeadOutputs(output, averageWeights, weights);
    }
}
