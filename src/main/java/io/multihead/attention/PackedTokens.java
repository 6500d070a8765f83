package io.multihead.attention;

import io.multihead.internal.Checks;
import io.multihead.tensor.Tensor;
import java.util.Arrays;

/** Checks of sequences that are packed one after another. */
final class PackedTokens {
    private PackedTokens() {}

    /** Fails unless the tensor is {@code [1, heads, tokens, dim]} and the offsets rise from 0 to tokens. */
    static void require(long[] offsets, Tensor tensor, String argument) {
        Checks.notNull(offsets, "offsets");
        if (Checks.notNull(tensor, argument).rank() != 4 || tensor.dim(0) != 1) {
            throw Checks.fail(argument, "shape " + tensor.shape(), "expected [1, heads, tokens, dim] of packed tokens");
        }
        boolean rises = offsets.length > 0 && offsets[0] == 0 && offsets[offsets.length - 1] == tensor.dim(2);
        for (int i = 1; rises && i < offsets.length; i++) {
            rises = offsets[i] >= offsets[i - 1];
        }
        if (!rises) {
            throw Checks.fail(
                    "offsets",
                    Arrays.toString(offsets),
                    "expected numbers that rise from 0 to the " + tensor.dim(2) + " tokens of " + argument + " "
                            + tensor.shape());
        }
    }
}
