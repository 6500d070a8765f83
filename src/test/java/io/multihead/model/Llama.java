package io.multihead.model;

import io.multihead.cache.KeyValueCache;
import io.multihead.compute.Compute;
import io.multihead.tensor.Tensor;
import java.util.List;
import java.util.function.Function;

/** The blocks of a model, and the loop that generates tokens. */
public class Llama {
    static Transformer model(Function<String, Tensor> weights, List<Block> blocks) {
        return Transformer.of(EmbeddingTables.of(weights.apply("model.embed_tokens.weight")), blocks)
                .withFinalNorm(Norm.rms(weights.apply("model.norm.weight"), 1e-5))
                .withHead(LlamaBlock.linear(weights.apply("lm_head.weight")));
    }

    /** Returns the most likely tokens after a prompt. */
    static int[] generate(Compute cpu, Transformer model, int[] prompt, int count) {
        KeyValueCache cache = KeyValueCache.contiguous(model.cacheConfig(), 1, prompt.length + count);
        TokenBatch batch = TokenBatch.of(cache, prompt.length);
        Buffers buffers = model.buffers(prompt.length);
        float[] logits = new float[model.logits()];
        int[] generated = new int[count];
        for (int i = 0; i < count; i++) {
            batch.clear();
            batch.begin(0); // continues sequence 0 of the cache
            for (int id : i == 0 ? prompt : new int[] {generated[i - 1]}) {
                batch.add(id);
            }
            model.forward(cpu, batch, buffers);
            model.logits(cpu, batch.lastRows(), Tensor.of(logits, 1, logits.length), buffers);
            for (int id = 0; id < logits.length; id++) {
                generated[i] = logits[id] > logits[generated[i]] ? id : generated[i];
            }
        }
        return generated;
    }
}
