package io.multihead.cache;

import io.multihead.compute.Compute;
import io.multihead.internal.Checks;
import io.multihead.position.Rope;
import io.multihead.tensor.Tensor;
import java.util.Arrays;
import java.util.List;

/** What must hold before a cache changes. */
final class CacheChecks {
    private CacheChecks() {}

    static void requireTokens(KeyValueCache.Config config, Compute cpu, Tensor key, Tensor value) {
        Checks.notNull(cpu, "cpu");
        requireShape(key, "key", config.heads(), config.headDim());
        requireShape(value, "value", config.heads(), config.valueDim());
        if (value.dim(0) != key.dim(0) || value.dim(2) != key.dim(2)) {
            throw Checks.fail(
                    "value", "shape " + value.shape(), "expected the batches and tokens of key " + key.shape());
        }
        cpu.requireAccess(key, "key");
        cpu.requireAccess(value, "value");
    }

    private static void requireShape(Tensor tensor, String argument, long heads, long dim) {
        boolean fits = Checks.notNull(tensor, argument).rank() == 4 && tensor.dim(1) == heads && tensor.dim(3) == dim;
        if (!fits) {
            throw Checks.fail(
                    argument,
                    "shape " + tensor.shape(),
                    "expected [batch, " + heads + ", tokens, " + dim + "], as the cache was made for");
        }
    }

    static void requireOffsets(int[] to, long[] offsets, Tensor key) {
        if (Checks.notNull(offsets, "offsets").length != to.length + 1 || key.dim(0) != 1) {
            throw Checks.fail(
                    "offsets",
                    Arrays.toString(offsets),
                    "expected " + (to.length + 1) + " numbers, and one batch of packed tokens in key " + key.shape());
        }
        Checks.offsets(offsets, key.dim(2), key.shape());
    }

    static void requireRopes(List<Rope> ropes, int layers, int headDim) {
        if (ropes.size() > 1 && ropes.size() != layers) {
            throw Checks.fail("ropes", ropes.size() + " of them", "expected none, one, or one per layer of " + layers);
        }
        for (Rope rope : ropes) {
            if (rope.config().rotaryDims() > headDim) {
                throw Checks.fail(
                        "ropes", rope.config().toString(), "expected at most headDim " + headDim + " rotaryDims");
            }
        }
    }

    static void requireDistinct(int[] sequences) {
        for (int i = 0; i < sequences.length; i++) {
            for (int j = 0; j < i; j++) {
                if (sequences[i] == sequences[j]) {
                    throw Checks.fail("to", Arrays.toString(sequences), "expected no sequence twice");
                }
            }
        }
    }
}
