package io.multihead.model;

import io.multihead.internal.base.Checks;

/**
 * The size of a recurrent state: a fixed number of values that a part keeps for each sequence, and changes with each token. Examples are the
 * last inputs of a convolution and the sums of linear attention. A {@link io.multihead.cache.RecurrentCache} stores such a state in one layer.
 *
 * @param floats numbers of a sequence, in an order that the part defines; all are zero before its first token
 */
public record RecurrentSizes(int floats) implements StateSizes {
    /** Checks the size. */
    public RecurrentSizes {
        Checks.atLeast(floats, 1, "floats");
    }
}
