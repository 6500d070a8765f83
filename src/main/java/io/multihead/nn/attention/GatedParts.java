package io.multihead.nn.attention;

import io.multihead.internal.base.Checks;
import io.multihead.nn.Dropout;
import io.multihead.nn.Layer;
import io.multihead.tensor.Tensor;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The parts of gated cross-attention.
 *
 * @param attention the attention from normalized tokens to media
 * @param attentionNorm normalizes the tokens
 * @param attentionDropout dropout after attention in training; null for none
 * @param feedForward the normalization, the feed-forward network and dropout, in this order
 * @param parameters the parameters of all parts, and the gates
 */
record GatedParts(
        MultiHeadAttention attention,
        Layer attentionNorm,
        @Nullable Dropout attentionDropout,
        Layer feedForward,
        Map<String, Tensor> parameters) {
    static final String ATTENTION_GATE = "attn_gate";
    static final String FEED_FORWARD_GATE = "ff_gate";

    /** Returns the factor of attention's output. */
    double attentionFactor() {
        return StrictMath.tanh(
                Checks.notNull(parameters.get(ATTENTION_GATE), ATTENTION_GATE).get(0));
    }

    /** Returns the factor of the feed-forward network's output. */
    double feedForwardFactor() {
        return StrictMath.tanh(Checks.notNull(parameters.get(FEED_FORWARD_GATE), FEED_FORWARD_GATE)
                .get(0));
    }
}
