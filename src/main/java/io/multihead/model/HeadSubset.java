package io.multihead.model;

import io.multihead.gemm.WeightFormat;
import io.multihead.internal.base.Checks;
import java.lang.foreign.Arena;
import java.util.Arrays;
import java.util.stream.IntStream;

/** Some heads of self-attention, with copies of the columns and rows of the weights that belong to them. */
final class HeadSubset {
    private final AttentionLayout all;
    private final int[] heads;
    /** The key/value heads that these heads read, in their order. */
    private final int[] keyValueHeads;

    /** Checks that the heads are different heads of a layer, and that each of their key/value heads serves the same number of these heads. */
    HeadSubset(AttentionLayout all, int... heads) {
        this.all = all;
        this.heads = Checks.distinctIndices(heads, all.heads(), "heads").clone();
        int group = all.heads() / all.keyValueHeads();
        keyValueHeads =
                Arrays.stream(this.heads).map(head -> head / group).distinct().toArray();
        for (int i = 0; i < heads.length; i++) {
            boolean even = heads.length % keyValueHeads.length == 0;
            if (!even || heads[i] / group != keyValueHeads[i / (heads.length / keyValueHeads.length)]) {
                throw Checks.fail(
                        "heads",
                        Arrays.toString(heads),
                        "expected as many of each key/value head, side by side; " + group + " heads share one");
            }
        }
    }

    AttentionLayout layout() {
        return new AttentionLayout(
                heads.length,
                keyValueHeads.length,
                all.headDim(),
                all.valueDim(),
                all.gated(),
                false,
                all.keysAreValues());
    }

    /** Returns the projections of these heads. */
    LinearGroup projections(LinearGroup of, Arena arena) {
        int[] queries = elements(heads, all.queryStep());
        int[] keys = elements(keyValueHeads, all.headDim());
        return all.keysAreValues()
                ? of.select(arena, queries, keys)
                : of.select(arena, queries, keys, elements(keyValueHeads, all.valueDim()));
    }

    /** Fails unless the inputs of an output projection that belong to these heads are whole blocks. */
    void requireBlocks(PackedLinear output) {
        WeightFormat format = output.weights().format();
        if (!format.areWholeBlocks(elements(heads, all.valueDim()))) {
            throw Checks.fail(
                    "heads",
                    Arrays.toString(heads),
                    "expected heads of " + all.valueDim() + " elements that together fill whole blocks of "
                            + format.blockInputs() + " in their order, as the output projection has in " + format
                            + ", or a part that withF32Output returned");
        }
    }

    /** Returns the output projection of these heads. */
    PackedLinear output(PackedLinear of, Arena arena) {
        return of.selectInputs(arena, elements(heads, all.valueDim()));
    }

    float[] factors(float[] of) {
        float[] some = new float[heads.length];
        for (int i = 0; i < some.length; i++) {
            some[i] = of[heads[i]];
        }
        return some;
    }

    /** Returns the indices of the elements that belong to some heads, in a row of all heads. */
    private static int[] elements(int[] heads, int dim) {
        return Arrays.stream(heads)
                .flatMap(head -> IntStream.range(head * dim, (head + 1) * dim))
                .toArray();
    }
}
