package io.multihead.cache;

import io.multihead.attention.Attention;
import io.multihead.attention.AttentionOptions;
import io.multihead.attention.AttentionOutputs;
import io.multihead.cache.KeyValueCache.Config;
import io.multihead.compute.Compute;
import io.multihead.support.CacheModel;
import io.multihead.support.Floats;
import io.multihead.support.Tokens;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;

/** A cache after random operations, and the tokens that it must contain. */
final class RandomCache {
    private static final int MOST_TOKENS = 700;

    /**
     * The number of pages of 256 tokens for each of 8 sequences. 12 changes make at most 13 sequences of 3 pages, and a test adds at most 2
     * pages to a sequence. Memory is zeroed when it is allocated, so that more pages would take most of the time of a try.
     */
    private static final int PAGES = 9;

    final Config config;
    final KeyValueCache cache;
    final Map<Integer, CacheModel.Tokens> model = new TreeMap<>();
    private final SplittableRandom random;
    private final Compute cpu;
    private final boolean finite;

    RandomCache(Config config, boolean contiguous, boolean finite, Compute cpu, SplittableRandom random) {
        this.config = config;
        this.random = random;
        this.cpu = cpu;
        this.finite = finite;
        cache = empty(config, contiguous);
        for (int sequence = 0; contiguous && sequence < 8; sequence++) {
            cache.close(sequence);
        }
        model.put(cache.open(), new CacheModel.Tokens(config.layers()));
        for (int i = 0; i < 12; i++) {
            change();
        }
    }

    static KeyValueCache empty(Config config, boolean contiguous) {
        int tokens = PAGES * 256;
        return contiguous
                ? KeyValueCache.contiguous(config, 8, tokens)
                : KeyValueCache.paged(config, 4L * tokens * config.bytesPerToken());
    }

    /**
     * Returns a configuration of random sizes. Keys may have more than one chunk, and values more than one panel. F64, which caches do not
     * have, means i8 with keys in blocks.
     */
    static Config config(DType dtype, SplittableRandom random) {
        int headDim = new int[] {5, 32, 300}[random.nextInt(3)];
        int valueDim = new int[] {3, 32, 70}[random.nextInt(3)];
        return Config.of(1 + random.nextInt(3), 1 + random.nextInt(2), headDim)
                .withValueDim(valueDim)
                .withFormat(dtype == DType.F64 ? CacheFormat.I8_BLOCKS : CacheFormat.of(dtype));
    }

    int[] sequences() {
        return model.keySet().stream().mapToInt(Integer::intValue).toArray();
    }

    private void change() {
        int[] open = sequences();
        int sequence = open[random.nextInt(open.length)];
        CacheModel.Tokens tokens = model.get(sequence);
        long shortest = tokens.layers.stream().mapToLong(List::size).min().orElseThrow();
        switch (random.nextInt(8)) {
            case 0 -> model.put(cache.fork(sequence), tokens.copy());
            case 1 -> {
                long to = tokens.first() + random.nextLong(shortest - tokens.first() + 1);
                cache.truncate(sequence, to);
                tokens.truncate(to);
            }
            case 2 -> {
                tokens.slide(tokens.first() + random.nextLong(shortest - tokens.first() + 1));
                cache.slide(sequence, tokens.first());
            }
            case 3 -> {
                if (open.length > 4) {
                    cache.close(sequence);
                    model.remove(sequence);
                }
            }
            default -> append(sequence);
        }
    }

    /** Appends to some or all layers. */
    private void append(int sequence) {
        int amount = random.nextInt(random.nextInt(1, MOST_TOKENS / 3));
        for (int layer = 0; layer < config.layers(); layer++) {
            List<CacheModel.Token> all = model.get(sequence).layers.get(layer);
            int count = Math.min(MOST_TOKENS - all.size(), Math.max(0, amount - random.nextInt(3)));
            List<CacheModel.Token> added = new ArrayList<>();
            for (int t = 0; t < count; t++) {
                CacheModel.Token token = CacheModel.random(config, random);
                if (!finite && random.nextInt(50) == 0) {
                    spoil(token.key());
                    spoil(token.value());
                }
                added.add(token);
            }
            cache.append(cpu, layer, sequence, tensor(added, true), tensor(added, false));
            model.get(sequence).append(layer, added);
        }
    }

    private void spoil(float[][] rows) {
        float[] special = {Float.NaN, Float.POSITIVE_INFINITY, -0f, Float.MIN_VALUE, 65510f};
        float[] row = rows[random.nextInt(rows.length)];
        row[random.nextInt(row.length)] = special[random.nextInt(special.length)];
    }

    Tensor tensor(List<CacheModel.Token> tokens, boolean keys) {
        return CacheModel.tensor(
                tokens, keys, config.heads(), keys ? config.headDim() : config.valueDim(), CacheFormat.F32);
    }

    /** Returns the bits of attention over a sequence of a cache. All NaN have the same bits. */
    static int[] attend(KeyValueCache cache, int layer, int sequence, Compute cpu) {
        Config config = cache.config();
        long tokens = Math.min(2, cache.length(layer, sequence) - cache.firstKey(sequence));
        Tensor query = Tokens.gaussian(1, 2L * config.heads(), tokens, config.headDim(), 7);
        Tensor output = Tokens.zeros(1, 2L * config.heads(), tokens, config.valueDim());
        Attention.forward(
                cpu, query, cache.view(layer, sequence), AttentionOutputs.of(output), AttentionOptions.CAUSAL);
        return Floats.bits(output.toArray());
    }
}
