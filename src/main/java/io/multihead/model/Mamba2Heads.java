package io.multihead.model;

import io.multihead.internal.base.Checks;

/**
 * The heads of {@link Mamba2}. Each head has a state of {@code [stateDim, headDim]}. The heads of a group share b and c.
 *
 * @param heads heads of x and of states, a multiple of groups
 * @param headDim elements of a head
 * @param groups number of groups of heads, each with its own b and c
 * @param stateDim elements of b and of c
 */
public record Mamba2Heads(int heads, int headDim, int groups, int stateDim) {
    /** Checks the sizes. */
    public Mamba2Heads {
        Checks.atLeast(groups, 1, "groups");
        if (heads < 1 || heads % groups != 0) {
            throw Checks.fail("heads", String.valueOf(heads), "expected a multiple of " + groups);
        }
        Checks.atLeast(headDim, 1, "headDim");
        Checks.atLeast(stateDim, 1, "stateDim");
        Checks.fitsInt(2L * heads * (headDim + 1L) + 2L * groups * stateDim, "heads x headDim");
    }

    /** Returns the number of elements of all heads. */
    int width() {
        return heads * headDim;
    }

    /** Returns the number of elements of a token's x, b and c. */
    int channels() {
        return width() + 2 * groups * stateDim;
    }

    /** Returns the states that a sequence keeps: the panels of each head, in the order of the heads. */
    RecurrentSizes state() {
        return new RecurrentSizes(StateRows.floats("heads x stateDim", heads, stateDim, headDim));
    }
}
