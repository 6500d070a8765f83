package io.multihead.jmh.bench;

import io.multihead.attention.Attention;
import io.multihead.attention.AttentionOptions;
import io.multihead.attention.AttentionOutputs;
import io.multihead.attention.KeyValueView;
import io.multihead.attention.Mask;
import io.multihead.cache.KeyValueCache;
import io.multihead.jmh.data.Data;
import io.multihead.tensor.Tensor;
import java.util.Set;
import org.openjdk.jmh.annotations.Param;

/**
 * Decode steps with 32 query heads on 8 key heads of 128: a batch of unequal lengths, and a window compared with the same number of keys.
 */
public class DecodeBatchBench extends ThreadedComparison {
    private static final int HEADS = 32;
    private static final int KEY_HEADS = 8;
    private static final int DIM = 128;
    private static final int SEQUENCES = 16;

    /**
     * 16 sequences of 1 to 4096 keys, one sequence of 32768 keys with a window of 1024, or one sequence of 1024 keys.
     */
    @Param({"batch16", "window1024", "keys1024"})
    public String impl;

    @Override
    void open() {
        if (!Set.of("batch16", "window1024", "keys1024").contains(impl)) {
            throw unknown(impl);
        }
        KeyValueCache cache = KeyValueCache.paged(KeyValueCache.Config.of(1, KEY_HEADS, DIM), 1L << 30);
        boolean batch = impl.equals("batch16");
        int[] sequences = new int[batch ? SEQUENCES : 1];
        for (int i = 0; i < sequences.length; i++) {
            sequences[i] = cache.open();
            int keys = batch ? 1 + i * 4095 / (SEQUENCES - 1) : impl.equals("keys1024") ? 1024 : 32768;
            Tensor tokens = tensor(1, KEY_HEADS, keys, i);
            cache.append(cpu, 0, sequences[i], tokens, tokens);
        }
        KeyValueView view = cache.view(0, sequences);
        Tensor query = tensor(sequences.length, HEADS, 1, 100);
        AttentionOutputs outputs = AttentionOutputs.of(tensor(sequences.length, HEADS, 1, 101));
        AttentionOptions options = impl.equals("window1024")
                ? AttentionOptions.CAUSAL.withMask(Mask.window(1023, 0))
                : AttentionOptions.CAUSAL;
        call = () -> Attention.forward(cpu, query, view, outputs, options);
    }

    private static Tensor tensor(int batch, int heads, int tokens, long seed) {
        return Data.tensor(seed, batch, heads, tokens, DIM);
    }
}
