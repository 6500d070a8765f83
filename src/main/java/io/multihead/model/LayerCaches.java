package io.multihead.model;

import io.multihead.cache.CacheFormat;
import io.multihead.cache.HybridCache;
import io.multihead.cache.KeyValueCache;
import io.multihead.cache.RecurrentCache;
import io.multihead.cache.SequenceCache;
import io.multihead.internal.base.Checks;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Caches for the states of layers: one for all keys and values of a size and window, and one for all recurrent states. */
final class LayerCaches {
    /** Tokens of a page. */
    private static final long PAGE = 64;

    private LayerCaches() {}

    /** Returns the configuration of a cache with keys and values for each layer, in f32. */
    static KeyValueCache.Config config(List<? extends StateSizes> layers) {
        if (layers.isEmpty()) {
            throw new IllegalStateException("blocks: none with attention; expected at least one");
        }
        KeyValueSizes sizes = null;
        for (StateSizes each : layers) {
            if (!(each instanceof KeyValueSizes keys)) {
                throw new IllegalStateException(
                        "blocks: recurrent states; expected only keys and values, or a call of cache()");
            }
            sizes = sizes == null ? keys.whole() : sizes;
            if (!keys.whole().equals(sizes)) {
                throw new IllegalStateException("blocks: keys of several sizes; expected " + sizes.heads()
                        + " heads of " + sizes.headDim() + " and values of " + sizes.valueDim()
                        + ", as in the first, or cache()");
            }
        }
        return config(Checks.notNull(sizes, "sizes"), layers.size());
    }

    private static KeyValueCache.Config config(KeyValueSizes sizes, int layers) {
        return new KeyValueCache.Config(
                layers, sizes.heads(), sizes.headDim(), sizes.valueDim(), CacheFormat.F32, List.of());
    }

    /** Returns the layers of each cache, by the sizes of their keys and values. All recurrent states share one cache, under null. */
    private static Map<@Nullable KeyValueSizes, List<Integer>> parts(List<StateSizes> layers) {
        Map<@Nullable KeyValueSizes, List<Integer>> parts = new LinkedHashMap<>();
        for (int layer = 0; layer < layers.size(); layer++) {
            KeyValueSizes sizes = layers.get(layer) instanceof KeyValueSizes keys ? keys : null;
            parts.computeIfAbsent(sizes, none -> new ArrayList<>()).add(layer);
        }
        return parts;
    }

    /** Returns the configurations of keys and values, in one format. */
    static List<KeyValueCache.Config> configs(List<StateSizes> layers, CacheFormat format) {
        List<KeyValueCache.Config> configs = new ArrayList<>();
        parts(layers).forEach((sizes, of) -> {
            if (sizes != null) {
                configs.add(config(sizes, of.size()).withFormat(format));
            }
        });
        return configs;
    }

    /** Returns the number of floats of each recurrent state. */
    static int[] floats(List<StateSizes> layers) {
        return layers.stream()
                .filter(RecurrentSizes.class::isInstance)
                .mapToInt(each -> ((RecurrentSizes) each).floats())
                .toArray();
    }

    private static long bytes(long tokens, long bytesPerPage) {
        long pages = Math.ceilDiv(tokens, PAGE);
        long most = Long.MAX_VALUE / bytesPerPage;
        if (pages > most) {
            throw Checks.fail("tokens", Long.toString(tokens), "expected at most " + most * PAGE);
        }
        return pages * bytesPerPage;
    }

    /** Returns a cache of pages for a number of tokens of all sequences together. */
    static SequenceCache paged(List<StateSizes> layers, CacheFormat format, long tokens, Arena arena) {
        if (layers.isEmpty()) {
            config(layers); // throws the exception for models without states
        }
        List<SequenceCache> caches = new ArrayList<>();
        int[] partOf = new int[layers.size()];
        parts(layers).forEach((sizes, of) -> {
            of.forEach(layer -> partOf[layer] = caches.size());
            if (sizes == null) {
                caches.add(RecurrentCache.of(floats(layers)));
            } else {
                KeyValueCache.Config config = config(sizes, of.size()).withFormat(format);
                long bytes = bytes(tokens, config.bytesPerToken() * PAGE);
                caches.add(
                        sizes.window() == 0
                                ? KeyValueCache.paged(arena, config, bytes)
                                : KeyValueCache.windowed(arena, config, bytes, sizes.window()));
            }
        });
        return caches.size() == 1 ? caches.get(0) : HybridCache.of(caches, partOf);
    }

    /** Fails unless a cache has a layer for each given size; without a cache, nothing is kept. */
    static void require(@Nullable SequenceCache cache, List<StateSizes> layers) {
        if (cache == null) {
            return;
        }
        boolean fits = cache.layers() == layers.size();
        for (int layer = 0; fits && layer < layers.size(); layer++) {
            fits = fits(cache.part(layer), cache.layerOfPart(layer), layers.get(layer));
        }
        if (!fits) {
            boolean isUniform = floats(layers).length == 0
                    && layers.stream()
                                    .map(each -> ((KeyValueSizes) each).whole())
                                    .distinct()
                                    .count()
                            == 1;
            String actual = cache instanceof KeyValueCache keys
                    ? keys.config() + (keys.window() == 0 ? "" : ", window " + keys.window())
                    : cache.toString();
            String expected = isUniform ? config(layers) + " of any element type" : "that of cache(), for " + layers;
            throw Checks.fail("cache", actual, "expected " + expected);
        }
    }

    /** Returns whether a cache's window includes the window of a layer. */
    static boolean keeps(int kept, int seen) {
        return kept == 0 || seen > 0 && seen <= kept;
    }

    private static boolean fits(SequenceCache part, int layer, StateSizes expected) {
        if (part instanceof KeyValueCache keys && expected instanceof KeyValueSizes sizes) {
            KeyValueCache.Config actual = keys.config();
            return actual.ropes().isEmpty()
                    && actual.heads() == sizes.heads()
                    && actual.headDim() == sizes.headDim()
                    && actual.valueDim() == sizes.valueDim()
                    && keeps(keys.window(), sizes.window());
        }
        return part instanceof RecurrentCache recurrent
                && expected instanceof RecurrentSizes sizes
                && recurrent.floats(layer) == sizes.floats();
    }
}
