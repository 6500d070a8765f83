package io.multihead.nn;

import io.multihead.internal.Checks;

/**
 * How many heads, and their sizes.
 *
 * @param queryHeads heads that ask
 * @param kvHeads heads that hold keys and values; each serves {@code queryHeads / kvHeads} neighbouring query heads
 * @param headDim features of one head's query and key
 * @param valueDim features of one head's value
 */
public record LayerHeads(int queryHeads, int kvHeads, long headDim, long valueDim) {
    /**
     * Checks the sizes.
     *
     * @throws IllegalArgumentException if one is below 1 or {@code kvHeads} does not divide {@code queryHeads}
     */
    public LayerHeads {
        Checks.atLeast(queryHeads, 1, "heads");
        Checks.atLeast(kvHeads, 1, "kvHeads");
        Checks.atLeast(headDim, 1, "headDim");
        Checks.atLeast(valueDim, 1, "valueDim");
        if (queryHeads % kvHeads != 0) {
            throw Checks.fail("kvHeads", String.valueOf(kvHeads), "expected a divisor of heads " + queryHeads);
        }
    }
}
