package io.multihead.cache;

import io.multihead.cache.KeyValueCache.Config;
import io.multihead.compute.Compute;
import io.multihead.position.Rope;
import io.multihead.position.RopeScaling;
import io.multihead.position.RopeSections;
import io.multihead.support.Tokens;
import io.multihead.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** A small cache with a rotary embedding of each kind, whose session of the first version is among the resources. */
final class SessionModel {
    static final List<RopeScaling> SCALINGS = List.of(
            RopeScaling.NONE,
            new RopeScaling.Linear(4),
            new RopeScaling.NtkAware(2.5),
            RopeScaling.Yarn.of(32, 4096).withBetas(16, 2).withAttentionFactor(1.25),
            new RopeScaling.Llama3(8, 1, 4, 8192),
            new RopeScaling.LongRope(List.of(1.0, 1.5, 2.0, 3.0), List.of(1.0, 2.0, 4.0, 1e10), 4096, 131072, 1.19),
            RopeScaling.Frequencies.of(1, 0.5, 0.25, 1e-5),
            new RopeScaling.Proportional(0.5, 8));

    private SessionModel() {}

    /** Returns a configuration with a layer for each scaling, and a layer for each kind of sections. */
    static Config config() {
        List<Rope> ropes = new ArrayList<>();
        for (RopeScaling scaling : SCALINGS) {
            Rope.Pairing pairing = ropes.size() % 2 == 0 ? Rope.Pairing.HALF_SPLIT : Rope.Pairing.INTERLEAVED;
            ropes.add(Rope.of(new Rope.Config(8, 500 + ropes.size(), pairing, scaling)));
        }
        Rope plain = Rope.of(Rope.Config.of(8));
        ropes.add(plain.withSections(RopeSections.consecutive(2, 1, 1)));
        ropes.add(plain.withSections(RopeSections.interleaved(2, 1, 1)));
        return Config.of(ropes.size(), 1, 8)
                .withValueDim(4)
                .withFormat(CacheFormat.I8)
                .withRopes(ropes.toArray(Rope[]::new));
    }

    /** Returns a cache of two sequences. The first has 40 tokens, and the second has the first 30 of them and ten others. */
    static KeyValueCache filled(Compute cpu) {
        KeyValueCache cache = KeyValueCache.paged(config(), 1L << 20);
        int first = cache.open();
        append(cpu, cache, first, 40, 1);
        int second = cache.fork(first);
        cache.truncate(second, 30);
        append(cpu, cache, second, 10, 2);
        return cache;
    }

    /** Returns a configuration with a scale for each 32 elements of a key. Version 3 introduced such files. */
    static Config blocks() {
        return Config.of(1, 1, 70).withValueDim(8).withFormat(CacheFormat.I8_BLOCKS);
    }

    /** Returns a cache of two sequences. The first has 40 tokens, and the second has the first 30 of them. */
    static KeyValueCache filledBlocks(Compute cpu) {
        KeyValueCache cache = KeyValueCache.paged(blocks(), 1L << 20);
        int first = cache.open();
        cache.append(cpu, 0, first, Tokens.gaussian(1, 1, 40, 70, 1), Tokens.gaussian(1, 1, 40, 8, 2));
        cache.truncate(cache.fork(first), 30);
        return cache;
    }

    /** Converts the contents of a file to version 3, which has no checksums, so that a test may change contents that checksums cover. */
    static void removeChecksums(Map<String, String> metadata, Map<String, Tensor> tensors) {
        metadata.put("format", "multihead cache session 3");
        tensors.remove(SessionChecksums.NAME);
    }

    private static void append(Compute cpu, KeyValueCache cache, int sequence, int tokens, long seed) {
        for (int layer = 0; layer < cache.config().layers(); layer++) {
            cache.append(
                    cpu,
                    layer,
                    sequence,
                    Tokens.gaussian(1, 1, tokens, 8, seed + layer),
                    Tokens.gaussian(1, 1, tokens, 4, seed + layer + 100));
        }
    }
}
