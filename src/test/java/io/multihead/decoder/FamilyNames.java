package io.multihead.decoder;

import io.multihead.decoder.FamilyFile.Kind;

/** Converts names of weights in GGUF files to the names in Hugging Face's folders. */
final class FamilyNames {
    private FamilyNames() {}

    /** Returns the full name of a weight in transformers' models. */
    static String huggingFace(Kind kind, String name) {
        if (kind.isHybridGranite()) {
            return name; // FamilyMamba renames the tensors and joins matrices
        }
        if (kind.isQwen35() && FamilyLinear.hasName(name)) {
            return FamilyLinear.huggingFaceName(name);
        }
        if (kind == Kind.LFM_2) {
            return ("model." + name)
                    .replace("token_embd_norm", "embedding_norm")
                    .replace("token_embd", "embed_tokens")
                    .replace("blk.", "layers.")
                    .replace("attn_norm", "operator_norm")
                    .replace("shortconv.", "conv.")
                    .replace("attn_q_norm", "self_attn.q_layernorm")
                    .replace("attn_k_norm", "self_attn.k_layernorm")
                    .replace("attn_q.", "self_attn.q_proj.")
                    .replace("attn_k.", "self_attn.k_proj.")
                    .replace("attn_v.", "self_attn.v_proj.")
                    .replace("attn_output", "self_attn.out_proj")
                    .replace("ffn_gate.", "feed_forward.w1.")
                    .replace("ffn_up.", "feed_forward.w3.")
                    .replace("ffn_down.", "feed_forward.w2.");
        }
        String all = name.startsWith("output.") ? "lm_head.weight" : "model." + name;
        String gemmaNorm = kind.isGemma() ? "pre_feedforward_layernorm" : "post_attention_layernorm";
        return all.replace("token_embd", "embed_tokens")
                .replace("output_norm", "norm")
                .replace("blk.", "layers.")
                .replace("post_attention_norm", "post_attention_layernorm")
                .replace("post_ffw_norm", "post_feedforward_layernorm")
                .replace("attn_norm", "input_layernorm")
                .replace("ffn_norm", gemmaNorm)
                .replace("attn_q_norm", "self_attn.q_norm")
                .replace("attn_k_norm", "self_attn.k_norm")
                .replace("attn_qkv", "self_attn.qkv_proj")
                .replace("attn_q.", "self_attn.q_proj.")
                .replace("attn_k", "self_attn.k_proj")
                .replace("attn_v", "self_attn.v_proj")
                .replace("attn_output", "self_attn.o_proj")
                .replace("ffn_gate_inp_shexp", "mlp.shared_expert_gate")
                .replace("ffn_gate_inp", kind == Kind.GPT_OSS ? "mlp.router" : "mlp.gate")
                .replace("attn_sinks.weight", "self_attn.sinks")
                .replaceAll("ffn_(gate|up|down)_shexp", "mlp.shared_expert.$1_proj")
                .replace("ffn_gate.", "mlp.gate_proj.")
                .replace("ffn_up.", kind.isPhi() ? "mlp.gate_up_proj." : "mlp.up_proj.")
                .replace("ffn_down.", "mlp.down_proj.");
    }
}
