package io.multihead.model;

import io.multihead.internal.base.Checks;

/**
 * The heads of {@link GatedLinearAttention}. A value head reads one key head and the query of this key head.
 *
 * @param keyHeads heads of queries and keys
 * @param valueHeads heads of values, a multiple of keyHeads
 * @param keyDim elements of a query or key
 * @param valueDim elements of a value
 * @param tiled whether value head {@code h} reads key head {@code h % keyHeads}, as in GGUF files, instead of {@code h / (valueHeads / keyHeads)}
 */
public record LinearHeads(int keyHeads, int valueHeads, int keyDim, int valueDim, boolean tiled) {
    /** Checks the sizes. */
    public LinearHeads {
        Checks.atLeast(keyHeads, 1, "keyHeads");
        if (valueHeads < 1 || valueHeads % keyHeads != 0) {
            throw Checks.fail("valueHeads", String.valueOf(valueHeads), "expected a multiple of " + keyHeads);
        }
        Checks.atLeast(keyDim, 1, "keyDim");
        Checks.atLeast(valueDim, 1, "valueDim");
        Checks.fitsInt(3L * keyHeads * keyDim + 3L * valueHeads * (valueDim + 1L), "keyHeads x keyDim");
    }

    int keyWidth() {
        return keyHeads * keyDim;
    }

    int valueWidth() {
        return valueHeads * valueDim;
    }

    /** Returns the number of elements of a token's queries, keys and values. */
    int channels() {
        return 2 * keyWidth() + valueWidth();
    }

    /** Returns the key head that a value head reads. */
    int keyHead(int valueHead) {
        return tiled ? valueHead % keyHeads : valueHead / (valueHeads / keyHeads);
    }

    /** Returns the state that a sequence keeps: the panels of each value head, in the order of the heads. */
    RecurrentSizes state() {
        return new RecurrentSizes(StateRows.floats("valueHeads x keyDim", valueHeads, keyDim, valueDim));
    }
}
