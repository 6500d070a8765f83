package io.multihead.model;

import io.multihead.internal.base.Checks;

/**
 * A recurrent state: numbers that a part keeps of each sequence, however long it is, and changes with each token, as a convolution its last inputs
 * or linear attention its sums. One layer of a {@link io.multihead.cache.RecurrentCache}.
 *
 * @param floats numbers of a sequence, in an order that the part defines; all are zero before its first token
 */
public record RecurrentSizes(int floats) implements StateSizes {
    /** Checks the size. */
    public RecurrentSizes {
        Checks.atLeast(floats, 1, "floats");
    }
}
