package io.multihead.model;

import io.multihead.internal.nn.RowNorm;

/**
 * The settings of {@link LinearAttentionPass}.
 *
 * @param layout the location of the rows of a token
 * @param decay the decay of the states
 * @param queryNorm the division by the length of a query, and by the root of its elements
 * @param keyNorm the division by the length of a key
 * @param norm the norm of each head's results
 */
record LinearAttentionRules(
        LinearAttentionLayout layout, LinearDecay decay, RowNorm queryNorm, RowNorm keyNorm, RowNorm norm) {
    LinearHeads heads() {
        return layout.of();
    }
}
