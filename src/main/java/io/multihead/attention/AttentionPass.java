package io.multihead.attention;

import io.multihead.internal.base.Checks;
import io.multihead.tensor.Tensor;

/**
 * The tensors that backward needs: inputs and outputs of a call of {@link Attention#forward(io.multihead.compute.Compute, Tensor, Tensor,
 * Tensor, AttentionOutputs, AttentionOptions)}. Tensors are shared, not copied, and must hold the same values as after forward when {@link
 * Attention#backward} reads them.
 *
 * @param query {@code [batch, queryHeads, queries, headDim]}
 * @param key {@code [batch, keyValueHeads, keys, headDim]}
 * @param value {@code [batch, keyValueHeads, keys, valueDim]}
 * @param outputs the results of forward: output and log-sum-exp, in f32 or f64 for full accuracy; and the weights if
 *     their gradient is given
 * @param options the options of forward, including dropout
 */
public record AttentionPass(
        Tensor query, Tensor key, Tensor value, AttentionOutputs outputs, AttentionOptions options) {
    /**
     * Checks that nothing is missing.
     *
     * @throws IllegalArgumentException if something is null, or the outputs have no log-sum-exp
     */
    public AttentionPass {
        Checks.notNull(query, "query");
        Checks.notNull(key, "key");
        Checks.notNull(value, "value");
        Checks.notNull(options, "options");
        if (Checks.notNull(outputs, "outputs").logSumExp() == null) {
            throw Checks.fail(
                    "logSumExp", "missing", "expected the tensor that forward wrote; request it from forward");
        }
    }
}
