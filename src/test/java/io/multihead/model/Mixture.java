package io.multihead.model;

import io.multihead.gemm.Activation;
import io.multihead.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;

/** The experts of a layer of Qwen 3 with experts. */
public class Mixture {
    static Experts experts(Function<String, Tensor> weights, int layer, int count, int used) {
        String at = "model.layers." + layer + ".mlp.";
        List<FeedForward> experts = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            String expert = at + "experts." + i + ".";
            PackedLinear gate = LlamaBlock.linear(weights.apply(expert + "gate_proj.weight"));
            PackedLinear up = LlamaBlock.linear(weights.apply(expert + "up_proj.weight"));
            PackedLinear down = LlamaBlock.linear(weights.apply(expert + "down_proj.weight"));
            experts.add(FeedForward.gated(Activation.SILU, LinearGroup.of(gate, up), down));
        }
        PackedLinear logits = LlamaBlock.linear(weights.apply(at + "gate.weight"));
        return Experts.of(Router.of(logits, used), experts);
    }
}
