package io.multihead.decoder;

import io.multihead.internal.load.Weights;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** Converts GGUF's names of weights to the names in Hugging Face's models. */
final class HuggingFaceNames {
    /** The end of the names of tables with rotary frequencies in older checkpoints. The frequencies are computed here instead. */
    private static final String FREQUENCIES = ".rotary_emb.inv_freq";

    private static final String PREFIX = "model.";
    private static final Pattern LAYER =
            Pattern.compile("blk\\.(\\d+)\\.([a-z]\\w*(?:\\.[a-z]\\w*)?)(?:\\.(\\d+))?\\.(weight|bias|scale)");

    private static final Map<String, String> ENDS = Map.of(
            "token_embd.weight", "embed_tokens.weight",
            "output_norm.weight", "norm.weight");

    private static final Map<String, String> PARTS = Map.ofEntries(
            Map.entry("attn_norm", "input_layernorm"),
            Map.entry("attn_q", "self_attn.q_proj"),
            Map.entry("attn_k", "self_attn.k_proj"),
            Map.entry("attn_v", "self_attn.v_proj"),
            Map.entry("attn_qkv", "self_attn.qkv_proj"),
            Map.entry("attn_output", "self_attn.o_proj"),
            Map.entry("attn_q_norm", "self_attn.q_norm"),
            Map.entry("attn_k_norm", "self_attn.k_norm"),
            Map.entry("ffn_norm", "post_attention_layernorm"),
            Map.entry("ffn_gate_inp", "mlp.gate"),
            Map.entry("ffn_gate", "mlp.gate_proj"),
            Map.entry("ffn_up", "mlp.up_proj"),
            Map.entry("ffn_down", "mlp.down_proj"),
            Map.entry("ffn_gate_shexp", "mlp.shared_expert.gate_proj"),
            Map.entry("ffn_up_shexp", "mlp.shared_expert.up_proj"),
            Map.entry("ffn_down_shexp", "mlp.shared_expert.down_proj"),
            Map.entry("ffn_gate_inp_shexp", "mlp.shared_expert_gate"));

    /**
     * Weights whose names have no suffix: sinks, factors of layers, tensors of all experts, and values of the heads of linear attention.
     */
    private static final Map<String, String> ENDLESS = Map.of(
            "attn_sinks", "self_attn.sinks",
            "ffn_gate_up_exps", "mlp.experts.gate_up_proj",
            "ffn_down_exps", "mlp.experts.down_proj",
            "layer_output_scale", "layer_scalar",
            "ssm_a_log", "linear_attn.A_log",
            "ssm_d", "linear_attn.D",
            "ssm_dt", "linear_attn.dt");

    /** The prefix of layers that draft tokens. These layers are not part of the model. */
    private static final String DRAFTS = "mtp.";

    /** The prefixes of weights for images and sounds in multimodal models. */
    private static final List<String> OTHERS = List.of(
            "model.visual.", "model.vision_tower.", "model.embed_vision.", "model.audio_tower.", "model.embed_audio.");

    /** The prefix of the language model in a multimodal model. */
    private static final String TEXTS = "model.language_model.";

    private final String prefix;
    private final Map<String, String> parts;

    /**
     * Creates the names of a family.
     *
     * @param prefix the prefix of the stack's weights; empty for files of embedding models
     * @param renamed the names of parts that differ from Llama's
     */
    HuggingFaceNames(String prefix, Map<String, String> renamed) {
        this.prefix = prefix;
        parts = new HashMap<>(PARTS);
        parts.putAll(renamed);
    }

    /** Returns the names that a folder of a family gives to the weights of GGUF files. */
    static Weights.Naming naming(Set<String> names, Family family) {
        Set<String> own = names.stream()
                .filter(name -> !name.endsWith(FREQUENCIES) && !name.startsWith(DRAFTS))
                .filter(name -> OTHERS.stream().noneMatch(name::startsWith))
                .collect(Collectors.toCollection(LinkedHashSet::new));
        return new Weights.Naming(new HuggingFaceNames(prefix(names), family.renamed())::of, own);
    }

    private static String prefix(Set<String> names) {
        if (isForEmbeddings(names)) {
            return "";
        }
        return names.stream().anyMatch(name -> name.startsWith(TEXTS)) ? TEXTS : PREFIX;
    }

    /** Returns whether these are the weights of an embedding model. Such weights are stored without a head and without {@link #PREFIX}. */
    static boolean isForEmbeddings(Set<String> names) {
        return names.stream().noneMatch(name -> name.startsWith(PREFIX));
    }

    /** Returns the name of a weight in Hugging Face's models, or GGUF's name if these models do not have the weight. */
    String of(String ggufName) {
        if (ggufName.equals("output.weight")) {
            return "lm_head.weight";
        }
        Matcher layer = LAYER.matcher(ggufName);
        if (!layer.matches()) {
            String end = parts.getOrDefault(ggufName, ENDS.get(ggufName));
            return end != null ? prefix + end : ggufName;
        }
        String at = prefix + "layers." + layer.group(1) + ".";
        if (layer.group(4).equals("scale")) {
            String scale = parts.get(layer.group(2) + ".scale");
            return scale == null ? ggufName : at + scale;
        }
        String endless = ENDLESS.get(layer.group(2));
        if (endless != null) {
            return at
                    + parts.getOrDefault(layer.group(2), endless)
                    + (layer.group(4).equals("bias") ? "_bias" : "");
        }
        String part = parts.get(layer.group(2));
        if (part == null) {
            return ggufName;
        }
        String expert = layer.group(3);
        return at + (expert == null ? part : part.replace("mlp.", "mlp.experts." + expert + ".")) + "."
                + layer.group(4);
    }
}
