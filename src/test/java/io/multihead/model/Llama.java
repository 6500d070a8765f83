package io.multihead.model;

import io.multihead.attention.AttentionOptions;
import io.multihead.cache.KeyValueCache;
import io.multihead.compute.Compute;
import io.multihead.gemm.Activation;
import io.multihead.gemm.PackedWeights;
import io.multihead.position.Rope;
import io.multihead.tensor.Tensor;
import java.util.List;
import java.util.function.Function;

public class Llama {
    static Block block(Function<String, Tensor> weights, int layer, int heads, int keyValueHeads, Rope rope) {
        Function<String, Tensor> in = name -> weights.apply("model.layers." + layer + "." + name + ".weight");
        LinearGroup projections = LinearGroup.of(
                linear(in.apply("self_attn.q_proj")),
                linear(in.apply("self_attn.k_proj")),
                linear(in.apply("self_attn.v_proj")));
        PackedLinear output = linear(in.apply("self_attn.o_proj"));
        SelfAttention attention = SelfAttention.of(heads, keyValueHeads, projections, output, AttentionOptions.CAUSAL)
                .withRope(rope);
        LinearGroup gateAndUp = LinearGroup.of(linear(in.apply("mlp.gate_proj")), linear(in.apply("mlp.up_proj")));
        FeedForward network = FeedForward.gated(Activation.SILU, gateAndUp, linear(in.apply("mlp.down_proj")));
        Norm first = Norm.rms(in.apply("input_layernorm"), 1e-5);
        return Block.preNorm(first, attention, Norm.rms(in.apply("post_attention_layernorm"), 1e-5), network);
    }

    static PackedLinear linear(Tensor weight) {
        return PackedLinear.of(PackedWeights.of(weight.permute(1, 0)));
    }

    static Transformer model(Function<String, Tensor> weights, List<Block> blocks) {
        return Transformer.of(EmbeddingTables.of(weights.apply("model.embed_tokens.weight")), blocks)
                .withFinalNorm(Norm.rms(weights.apply("model.norm.weight"), 1e-5))
                .withHead(linear(weights.apply("lm_head.weight")));
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
