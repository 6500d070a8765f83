package io.multihead.cache;

import io.multihead.Numbers;
import io.multihead.attention.Attention;
import io.multihead.attention.AttentionOptions;
import io.multihead.attention.AttentionOutputs;
import io.multihead.attention.KeyValueView;
import io.multihead.cache.KeyValueCache.Config;
import io.multihead.compute.Compute;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.util.SplittableRandom;

/** Random tokens of the sizes that tests of sequences share, and attention over them. */
final class Tokens {
    static final int HEADS = 4;
    static final int KV_HEADS = 2;
    static final int DIM = 20;
    static final int KEYS = 2500;

    private Tokens() {}

    static Config config(DType dtype) {
        return Config.of(1, KV_HEADS, DIM).withDtype(dtype);
    }

    static double[] attend(Compute cpu, Tensor query, KeyValueView view, AttentionOptions options) {
        Tensor output = zeros(query.shape().toArray());
        Attention.forward(cpu, query, view, AttentionOutputs.of(output), options);
        return Numbers.of(output);
    }

    static Tensor tokens(Tensor tensor, int first, int count) {
        return tensor.slice(2, first, first + count);
    }

    static Tensor gaussian(long batch, long heads, long tokens, long dim, long seed) {
        return Numbers.gaussian(zeros(batch, heads, tokens, dim), new SplittableRandom(seed), 0, 1);
    }

    static Tensor zeros(long... dims) {
        long size = 1;
        for (long dim : dims) {
            size *= dim;
        }
        return Tensor.of(new float[(int) size], dims);
    }
}
