package io.multihead.internal.encoder.family;

import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The names of a family's weights in llama.cpp's GGUF, by their names in the family's checkpoints.
 *
 * @param layer the prefix of a layer's name, before its number
 * @param parts names outside layers
 * @param layers names within a layer
 */
public record GgufNames(String layer, Map<String, String> parts, Map<String, String> layers) {
    static final String HEAD = "cls";
    static final String LABELS = "cls.output";

    private static final String WORDS = "token_embd";
    private static final String TYPES = "token_types";
    private static final String WORDS_NORM = "token_embd_norm";
    private static final String PROJECTIONS = "attn_qkv";
    private static final String OUTPUT = "attn_output";
    private static final String OUTPUT_NORM = "attn_output_norm";
    private static final String UP = "ffn_up";
    private static final String DOWN = "ffn_down";
    private static final String LAYER_NORM = "layer_output_norm";
    private static final String POOLER = "pooler.dense";
    private static final String CLASSIFIER = "classifier";

    private static final Pattern IN_LAYER = Pattern.compile("(\\d+)\\.(.+)");

    static final GgufNames BERT = new GgufNames(
            "encoder.layer.",
            Map.of(
                    BertConfig.WORDS,
                    WORDS,
                    BertConfig.POSITIONS,
                    "position_embd",
                    BertConfig.TOKEN_TYPES,
                    TYPES,
                    "embeddings.LayerNorm",
                    WORDS_NORM,
                    POOLER,
                    HEAD,
                    CLASSIFIER,
                    LABELS),
            Map.of(
                    "attention.self.query", "attn_q",
                    "attention.self.key", "attn_k",
                    "attention.self.value", "attn_v",
                    "attention.output.dense", OUTPUT,
                    "attention.output.LayerNorm", OUTPUT_NORM,
                    "intermediate.dense", UP,
                    "output.dense", DOWN,
                    "output.LayerNorm", LAYER_NORM));

    static final GgufNames NOMIC = new GgufNames(
            "encoder.layers.",
            Map.of(
                    BertConfig.WORDS,
                    WORDS,
                    BertConfig.TOKEN_TYPES,
                    TYPES,
                    "emb_ln",
                    WORDS_NORM,
                    POOLER,
                    HEAD,
                    CLASSIFIER,
                    LABELS),
            Map.of(
                    "attn.Wqkv", PROJECTIONS,
                    "attn.out_proj", OUTPUT,
                    "norm1", OUTPUT_NORM,
                    "mlp.fc11", UP,
                    "mlp.fc12", "ffn_gate",
                    "mlp.fc2", DOWN,
                    "norm2", LAYER_NORM));

    static final GgufNames MODERN = new GgufNames(
            "layers.",
            Map.of(
                    "embeddings.tok_embeddings",
                    WORDS,
                    "embeddings.norm",
                    WORDS_NORM,
                    "final_norm",
                    "output_norm",
                    "head.dense",
                    HEAD,
                    "head.norm",
                    "cls.norm",
                    CLASSIFIER,
                    LABELS),
            Map.of(
                    "attn_norm", "attn_norm",
                    "attn.Wqkv", PROJECTIONS,
                    "attn.Wo", OUTPUT,
                    "mlp_norm", "ffn_norm",
                    "mlp.Wi", UP,
                    "mlp.Wo", DOWN));

    /** Returns a weight's name in GGUF files, or the name itself if no GGUF file has such a weight. */
    public String stored(String own) {
        int dot = own.lastIndexOf('.');
        String part = own.substring(0, Math.max(dot, 0));
        String name = parts.get(part);
        if (name == null && part.startsWith(layer)) {
            Matcher within = IN_LAYER.matcher(part.substring(layer.length()));
            if (within.matches() && layers.containsKey(within.group(2))) {
                name = "blk." + within.group(1) + "." + layers.get(within.group(2));
            }
        }
        return name == null ? own : name + own.substring(dot);
    }
}
