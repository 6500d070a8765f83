package io.multihead.model;

import io.multihead.internal.base.Checks;

/**
 * The keys and values that an attention keeps of each token: one layer of a {@link io.multihead.cache.KeyValueCache}.
 *
 * @param heads heads of keys and values
 * @param headDim elements of a key
 * @param valueDim elements of a value
 */
public record KeyValueSizes(int heads, int headDim, int valueDim) implements StateSizes {
    /** Checks the sizes. */
    public KeyValueSizes {
        Checks.atLeast(heads, 1, "heads");
        Checks.atLeast(headDim, 1, "headDim");
        Checks.atLeast(valueDim, 1, "valueDim");
    }
}
