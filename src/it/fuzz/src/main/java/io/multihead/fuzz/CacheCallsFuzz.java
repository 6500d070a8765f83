package io.multihead.fuzz;

import com.code_intelligence.jazzer.api.FuzzedDataProvider;
import io.multihead.attention.Attention;
import io.multihead.attention.AttentionOptions;
import io.multihead.attention.AttentionOutputs;
import io.multihead.cache.CacheFormat;
import io.multihead.cache.KeyValueCache;
import io.multihead.cache.KeyValueCache.Config;
import io.multihead.compute.Compute;
import io.multihead.reference.ReferenceAttention;
import io.multihead.reference.ScoreRule;
import io.multihead.reference.Tolerance;
import io.multihead.support.CacheModel;
import io.multihead.support.Numbers;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;

/**
 * Calls a cache in any order and with any numbers, including numbers without a sequence. Rejected calls change nothing,
 * and attention over the kept tokens equals the specification over a list of the same tokens.
 */
public final class CacheCallsFuzz {
    private static final Compute CPU = Compute.serial();
    private static final int MOST_CALLS = 24;

    private final Config config;
    private final KeyValueCache cache;
    private final Map<Integer, CacheModel.Tokens> model = new TreeMap<>();
    private final SplittableRandom random;

    private CacheCallsFuzz(Config config, boolean contiguous, long seed) {
        this.config = config;
        random = new SplittableRandom(seed);
        if (contiguous) {
            cache = KeyValueCache.contiguous(config, 2, 256);
            model.put(0, new CacheModel.Tokens(config.layers()));
            model.put(1, new CacheModel.Tokens(config.layers()));
        } else {
            long page = 64 * KeyValueCache.contiguous(config, 1, 1).bytesPerToken();
            cache = KeyValueCache.paged(config, 9 * page);
        }
    }

    public static void fuzzerTestOneInput(FuzzedDataProvider data) {
        Config config = new Config(
                data.consumeInt(1, 2),
                data.consumeInt(1, 2),
                data.consumeInt(1, 40),
                data.consumeInt(1, 40),
                data.pickValue(CacheFormat.values()),
                List.of());
        CacheCallsFuzz run = new CacheCallsFuzz(config, data.consumeBoolean(), data.consumeLong());
        StringBuilder calls = new StringBuilder(config.toString());
        try {
            for (int i = 0; i < MOST_CALLS && data.remainingBytes() > 0; i++) {
                run.call(data, calls);
            }
            run.model.keySet().forEach(run::check);
            run.model.keySet().forEach(run.cache::close);
            Oracle.require(run.cache.usedBytes() == 0, run.cache.usedBytes() + " bytes used after all was closed");
        } catch (RuntimeException | AssertionError failed) {
            throw new AssertionError(calls + ": " + failed, failed);
        }
    }

    private void call(FuzzedDataProvider data, StringBuilder calls) {
        int kind = data.consumeInt(0, 6);
        int sequence = data.consumeBoolean() ? data.consumeInt(0, 3) : data.consumeInt();
        long amount = data.consumeBoolean() ? data.consumeInt(0, 300) : data.consumeLong();
        int layer = data.consumeBoolean() ? data.consumeInt(0, config.layers() - 1) : data.consumeInt();
        calls.append(" (").append(kind).append(' ').append(sequence).append(' ').append(amount);
        calls.append(' ').append(layer).append(')');
        boolean open = model.containsKey(sequence);
        boolean accepted = Oracle.accepts("", () -> {
            switch (kind) {
                case 0 -> model.put(cache.open(), new CacheModel.Tokens(config.layers()));
                case 1 -> fork(sequence);
                case 2 -> truncate(sequence, amount);
                case 3 -> slide(sequence, amount);
                case 4 -> {
                    cache.close(sequence);
                    model.remove(sequence);
                }
                default -> append(layer, sequence, (int) Math.floorMod(amount, 150L));
            }
        });
        Oracle.require(!accepted || open || kind == 0, "a call on a sequence that is not open was accepted");
        if (open && model.containsKey(sequence)) {
            lengths(sequence);
        }
    }

    private void fork(int sequence) {
        int number = cache.fork(sequence);
        model.put(number, model.get(sequence).copy());
    }

    private void truncate(int sequence, long length) {
        cache.truncate(sequence, length);
        model.get(sequence).truncate(length);
    }

    private void slide(int sequence, long firstKey) {
        cache.slide(sequence, firstKey);
        model.get(sequence).slide(firstKey);
    }

    private void append(int layer, int sequence, int count) {
        List<CacheModel.Token> tokens = new ArrayList<>();
        for (int t = 0; t < count; t++) {
            tokens.add(CacheModel.random(config, random));
        }
        Tensor key = CacheModel.tensor(tokens, true, config.heads(), config.headDim(), CacheFormat.F32);
        Tensor value = CacheModel.tensor(tokens, false, config.heads(), config.valueDim(), CacheFormat.F32);
        cache.append(CPU, layer, sequence, key, value);
        model.get(sequence).append(layer, tokens);
    }

    private void lengths(int sequence) {
        CacheModel.Tokens tokens = model.get(sequence);
        Oracle.require(cache.firstKey(sequence) == tokens.first(), "firstKey " + cache.firstKey(sequence));
        for (int layer = 0; layer < config.layers(); layer++) {
            long length = cache.length(layer, sequence);
            Oracle.require(length == tokens.layers.get(layer).size(), "length " + length);
        }
    }

    private void check(int sequence) {
        lengths(sequence);
        CacheModel.Tokens tokens = model.get(sequence);
        for (int layer = 0; layer < config.layers(); layer++) {
            List<CacheModel.Token> all = tokens.layers.get(layer);
            List<CacheModel.Token> kept = all.subList((int) tokens.first(), all.size());
            Tensor query = query();
            Tensor output = zeros(config.valueDim());
            Attention.forward(
                    CPU, query, cache.view(layer, sequence), AttentionOutputs.of(output), AttentionOptions.DEFAULT);
            ReferenceAttention.Result expected = ReferenceAttention.forward(
                    query,
                    CacheModel.tensor(kept, true, config.heads(), config.headDim(), config.format()),
                    CacheModel.tensor(kept, false, config.heads(), config.valueDim(), config.format()),
                    (float) (1 / Math.sqrt(config.headDim())),
                    ScoreRule.NONE);
            double ratio = Tolerance.ratio(Numbers.of(output), expected.output(), expected.errorScale(), DType.F32);
            double limit = expected.maxScore() <= 10 ? Tolerance.FORWARD_ORDINARY : Tolerance.FORWARD;
            Oracle.require(ratio <= limit, "sequence " + sequence + ", layer " + layer + ": R = " + ratio);
        }
    }

    private Tensor query() {
        return Numbers.gaussian(zeros(config.headDim()), new SplittableRandom(7), 0, 1);
    }

    private Tensor zeros(int dim) {
        return Tensor.of(new float[2 * config.heads() * 3 * dim], 1, 2L * config.heads(), 3, dim);
    }
}
