package io.multihead.model;

import io.multihead.internal.base.Checks;

/**
 * The keys and values that an attention layer keeps of each token: one layer of a {@link io.multihead.cache.KeyValueCache}.
 *
 * @param heads heads of keys and values
 * @param headDim elements of a key
 * @param valueDim elements of a value
 * @param window number of tokens that a query sees, including its own token; only these tokens need to be kept; 0 for all
 */
public record KeyValueSizes(int heads, int headDim, int valueDim, int window) implements StateSizes {
    /** Checks the sizes. */
    public KeyValueSizes {
        Checks.atLeast(heads, 1, "heads");
        Checks.atLeast(headDim, 1, "headDim");
        Checks.atLeast(valueDim, 1, "valueDim");
        Checks.atLeast(window, 0, "window");
    }

    /**
     * Creates sizes without a window: all keys and values are kept.
     *
     * @param heads heads of keys and values
     * @param headDim elements of a key
     * @param valueDim elements of a value
     */
    public KeyValueSizes(int heads, int headDim, int valueDim) {
        this(heads, headDim, valueDim, 0);
    }

    /** Returns the same sizes without a window. */
    KeyValueSizes whole() {
        return new KeyValueSizes(heads, headDim, valueDim);
    }
}
