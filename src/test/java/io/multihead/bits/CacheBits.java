package io.multihead.bits;

import io.multihead.attention.AttentionOptions;
import io.multihead.attention.KeyValueView;
import io.multihead.attention.Mask;
import io.multihead.attention.PackedSequences;
import io.multihead.attention.ScoreOptions;
import io.multihead.cache.CacheFormat;
import io.multihead.cache.KeyValueCache;
import io.multihead.position.Rope;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;

/** Attention over caches of every element type, contiguous and paged, with and without rotation. */
final class CacheBits {
    private static final int QUERY_HEADS = 4;
    private static final int HEADS = 2;
    private static final int VALUE_DIM = 36;

    private final Bits bits;
    private final int dim;

    private CacheBits(Bits bits, int dim) {
        this.bits = bits;
        this.dim = dim;
    }

    static void run(Bits bits) {
        CacheBits small = new CacheBits(bits, 20);
        for (DType type : new DType[] {DType.F32, DType.BF16, DType.F16, DType.I8}) {
            small.caches(CacheFormat.of(type));
        }
    }

    /** Keys have two and a half blocks of 32 elements. */
    static void runBlocks(Bits bits) {
        new CacheBits(bits, 80).caches(CacheFormat.I8_BLOCKS);
    }

    private void caches(CacheFormat format) {
        for (int kind = 0; kind < 4; kind++) {
            KeyValueCache.Config config =
                    KeyValueCache.Config.of(2, HEADS, dim).withFormat(format).withValueDim(VALUE_DIM);
            if (kind % 2 == 1) {
                Rope interleaved = Rope.of(Rope.Config.of(12).withPairing(Rope.Pairing.INTERLEAVED));
                config = config.withRopes(Rope.of(Rope.Config.of(dim)), interleaved);
            }
            boolean paged = kind >= 2;
            KeyValueCache cache =
                    paged ? KeyValueCache.paged(config, 4 << 20) : KeyValueCache.contiguous(config, 4, 1600);
            String name = format + (paged ? " paged" : "") + (kind % 2 == 1 ? " rotated" : "");
            lifetime(name, cache, paged);
            if (kind % 2 == 0) {
                window(name + " window", cache, paged ? cache.open() : 3);
            }
        }
    }

    /** Appends prompts, decode steps, tokens of a diverging fork, tokens after a truncation, and packed tokens of several sequences. */
    private void lifetime(String name, KeyValueCache cache, boolean paged) {
        int first = paged ? cache.open() : 0;
        int second = paged ? cache.open() : 1;
        for (int layer = 0; layer < 2; layer++) {
            append(cache, layer, new int[] {first, second}, 70, layer);
            attend(name + " prompt", cache.view(layer, first, second), 70, AttentionOptions.CAUSAL);
            append(cache, layer, new int[] {second}, 33, layer + 3);
            for (int step = 0; step < 2; step++) {
                append(cache, layer, new int[] {second, first}, 1, step);
                attend(name + " step", cache.view(layer, second, first), 1, AttentionOptions.CAUSAL);
            }
        }
        int fork = paged ? cache.fork(second) : second;
        append(cache, 0, new int[] {fork}, 200, 2);
        append(cache, 1, new int[] {fork}, 200, 4);
        attend(name + " fork", cache.view(1, fork), 3, AttentionOptions.CAUSAL);
        attend(name + " forked", cache.view(0, second, fork), 4, AttentionOptions.DEFAULT);
        cache.truncate(fork, 130);
        append(cache, 1, new int[] {fork}, 7, 1);
        attend(name + " rewound", cache.view(1, fork, first), 5, AttentionOptions.CAUSAL);
        packed(name, cache, first, fork);
        if (paged) {
            cache.close(first);
            cache.close(fork);
            int again = cache.open();
            append(cache, 0, new int[] {again}, 65, 0);
            attend(name + " reused", cache.view(0, again), 2, AttentionOptions.CAUSAL);
            bits.add(name + " sizes", cache.bytesPerToken(), cache.usedBytes(), cache.availableTokens());
        }
    }

    private void packed(String name, KeyValueCache cache, int first, int second) {
        PackedSequences tokens = PackedSequences.of(0, 5, 60);
        Tensor key = bits.normal(1, HEADS, 60, dim);
        Tensor value = bits.normal(1, HEADS, 60, VALUE_DIM);
        cache.append(bits.cpu, 1, new int[] {first, second}, tokens, key, value);
        Shapes size = new Shapes(1, QUERY_HEADS, HEADS, 60, 0, dim, VALUE_DIM);
        Tensor query = bits.normal(1, QUERY_HEADS, 60, dim);
        Calls.packedAttention(bits, name + " packed", query, tokens, cache.view(1, first, second), size.results(bits));
    }

    /** Attends to a long sequence that evicts its oldest tokens, with few and with many queries. */
    private void window(String name, KeyValueCache cache, int sequence) {
        Tensor keys = bits.normal(1, HEADS, 1300, dim);
        Tensor values = bits.normal(1, HEADS, 1300, VALUE_DIM);
        cache.append(bits.cpu, 0, sequence, keys, values);
        cache.append(bits.cpu, 1, sequence, keys, values);
        KeyValueView view = cache.view(1, sequence);
        attend(name, view, 1, AttentionOptions.CAUSAL);
        AttentionOptions windowed = AttentionOptions.DEFAULT
                .withMask(Mask.CAUSAL.and(Mask.window(500, 0)))
                .withScores(ScoreOptions.NONE.withSoftCap(4).withSinks(0.5f, -1, 0, 2));
        attend(name + ", window", view, 2, windowed);
        cache.slide(sequence, 600);
        attend(name + ", slid", view, 1, windowed);
        attend(name + ", slid", view, 60, AttentionOptions.CAUSAL);
        for (int layer = 0; layer < 2; layer++) {
            append(cache, layer, new int[] {sequence}, 300, layer);
        }
        cache.slide(sequence, 1100);
        attend(name + ", slid again", view, 3, windowed);
    }

    private void append(KeyValueCache cache, int layer, int[] to, int tokens, int kind) {
        Tensor key = bits.normal(Bits.dtype(kind), Bits.layout(kind), to.length, HEADS, tokens, dim);
        Tensor value = bits.normal(Bits.dtype(kind), Bits.layout(kind), to.length, HEADS, tokens, VALUE_DIM);
        cache.append(bits.cpu, layer, to, key, value);
    }

    private void attend(String name, KeyValueView view, int queries, AttentionOptions options) {
        Shapes size = new Shapes(view.sequences(), QUERY_HEADS, HEADS, queries, 0, dim, VALUE_DIM);
        Tensor query = bits.normal(view.sequences(), QUERY_HEADS, queries, dim);
        Calls.attention(bits, name, query, view, size.results(bits), options);
    }
}
