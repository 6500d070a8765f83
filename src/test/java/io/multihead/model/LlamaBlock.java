package io.multihead.model;

import io.multihead.attention.AttentionOptions;
import io.multihead.gemm.Activation;
import io.multihead.gemm.PackedWeights;
import io.multihead.position.Rope;
import io.multihead.tensor.Tensor;
import java.util.function.Function;

/** A block of Llama. */
public class LlamaBlock {
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
        return PackedLinear.of(PackedWeights.ofOutputRows(weight));
    }
}
