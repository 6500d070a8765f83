package io.multihead.support;

import io.multihead.attention.Attention;
import io.multihead.attention.AttentionOptions;
import io.multihead.attention.AttentionOutputs;
import io.multihead.attention.KeyValueView;
import io.multihead.cache.CacheFormat;
import io.multihead.cache.KeyValueCache.Config;
import io.multihead.compute.Compute;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.util.SplittableRandom;

/** Random tokens with the sizes that all tests of sequences use, and attention over these tokens. */
public final class Tokens {
    public static final int HEADS = 4;
    public static final int KV_HEADS = 2;
    public static final int DIM = 20;
    public static final int KEYS = 2500;

    private Tokens() {}

    public static Config config(DType dtype) {
        return Config.of(1, KV_HEADS, DIM).withFormat(CacheFormat.of(dtype));
    }

    public static double[] attend(Compute cpu, Tensor query, KeyValueView view, AttentionOptions options) {
        Tensor output = zeros(query.shape().toArray());
        Attention.forward(cpu, query, view, AttentionOutputs.of(output), options);
        return Numbers.of(output);
    }

    public static Tensor tokens(Tensor tensor, int first, int count) {
        return tensor.slice(2, first, first + count);
    }

    public static Tensor gaussian(long batch, long heads, long tokens, long dim, long seed) {
        return Numbers.gaussian(zeros(batch, heads, tokens, dim), new SplittableRandom(seed), 0, 1);
    }

    public static Tensor zeros(long... dims) {
        long size = 1;
        for (long dim : dims) {
            size *= dim;
        }
        return Tensor.of(new float[(int) size], dims);
    }
}
