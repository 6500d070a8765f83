package io.multihead.model;

import io.multihead.cache.CacheFormat;
import io.multihead.cache.KeyValueCache;
import io.multihead.internal.base.Checks;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The keys and values that an attention keeps of each token: one layer of a {@link KeyValueCache}.
 *
 * @param heads heads of keys and values
 * @param headDim elements of a key
 * @param valueDim elements of a value
 */
public record KeyValueSizes(int heads, int headDim, int valueDim) {
    /** Checks the sizes. */
    public KeyValueSizes {
        Checks.atLeast(heads, 1, "heads");
        Checks.atLeast(headDim, 1, "headDim");
        Checks.atLeast(valueDim, 1, "valueDim");
    }

    /** Returns the configuration of a cache with a layer for each of some, in f32. */
    static KeyValueCache.Config config(List<KeyValueSizes> layers) {
        if (layers.isEmpty()) {
            throw new IllegalStateException("blocks: none with attention; expected at least one");
        }
        KeyValueSizes first = layers.get(0);
        for (KeyValueSizes each : layers) {
            if (!each.equals(first)) {
                throw new IllegalStateException("blocks: keys of several sizes; expected " + first.heads + " heads of "
                        + first.headDim + " and values of " + first.valueDim + ", as in the first");
            }
        }
        return new KeyValueCache.Config(
                layers.size(), first.heads, first.headDim, first.valueDim, CacheFormat.F32, List.of());
    }

    /** Fails unless a cache has a layer for each of some; without a cache nothing is kept. */
    static void requireCache(@Nullable KeyValueCache cache, List<KeyValueSizes> layers) {
        if (cache == null) {
            return;
        }
        KeyValueCache.Config actual = cache.config();
        boolean fits = actual.layers() == layers.size() && actual.ropes().isEmpty();
        for (int layer = 0; fits && layer < layers.size(); layer++) {
            KeyValueSizes each = layers.get(layer);
            fits = actual.heads() == each.heads
                    && actual.headDim() == each.headDim
                    && actual.valueDim() == each.valueDim;
        }
        if (!fits) {
            throw Checks.fail("cache", actual.toString(), "expected " + config(layers) + " of any element type");
        }
    }
}
