package io.multihead.decoder;

import io.multihead.decoder.FamilyFile.Kind;
import io.multihead.tensor.Tensor;
import java.util.Arrays;

/** The {@code config.json} of a small model. */
final class FamilyConfig {
    private FamilyConfig() {}

    /** Returns the settings as transformers writes them. */
    static String of(FamilyFile file) {
        Kind kind = file.kind;
        String type = kind.isQwen35()
                ? kind == Kind.QWEN_3_5 ? FamilyLinear.TYPE : FamilyLinear.TYPE_OF_EXPERTS
                : kind.isHybridGranite()
                        ? FamilyMamba.TYPE
                        : kind == Kind.GEMMA_3
                                ? "gemma3_text"
                                : kind == Kind.QWEN_3_MOE ? "qwen3_moe" : kind.architecture;
        String more = kind.isGemma()
                ? "\"hidden_activation\": \"gelu_pytorch_tanh\", \"sliding_window\": " + FamilyFile.WINDOW
                        + ", \"query_pre_attn_scalar\": " + file.headDim
                : "\"hidden_act\": \"silu\"" + (kind.isPhi() ? longRope(file) : "");
        if (kind.isQwen35()) {
            more += FamilyLinear.config(FamilyFile.THETA);
        }
        if (kind.isHybridGranite()) {
            more += FamilyMamba.config(kind, file.inner);
        }
        if (kind == Kind.LFM_2) {
            more += FamilyConvolutions.config(kind, FamilyFile.EPSILON);
        }
        if (kind == Kind.QWEN_3_MOE || kind == Kind.QWEN_3_5_MOE) {
            more += (kind == Kind.QWEN_3_MOE ? ", \"norm_topk_prob\": true" : "") + ", \"num_experts\": "
                    + FamilyExperts.COUNT + ", \"num_experts_per_tok\": " + FamilyExperts.USED;
        }
        return "{\"model_type\": \"" + type + "\", \"hidden_size\": " + file.dim + ", \"num_hidden_layers\": "
                + kind.layers
                + ", \"num_attention_heads\": " + FamilyFile.HEADS + ", \"num_key_value_heads\": "
                + FamilyFile.KEY_HEADS + ", \"head_dim\": "
                + file.headDim + ", \"intermediate_size\": " + file.inner + ", \"max_position_embeddings\": "
                + FamilyFile.CONTEXT
                + ", \"rms_norm_eps\": " + FamilyFile.EPSILON + ", \"rope_theta\": " + FamilyFile.THETA
                + ", \"vocab_size\": " + FamilyFile.VOCABULARY
                + ", \"tie_word_embeddings\": " + !file.weights.containsKey("output.weight") + ", " + more + "}";
    }

    private static String longRope(FamilyFile file) {
        return ", \"partial_rotary_factor\": 0.75, \"sliding_window\": 262144, \"original_max_position_embeddings\": "
                + FamilyFile.ORIGINAL + ", \"rope_scaling\": {\"type\": \"longrope\", \"short_factor\": "
                + Arrays.toString(file.weights.get("rope_factors_short.weight")) + ", \"long_factor\": "
                + Arrays.toString(file.weights.get("rope_factors_long.weight")) + "}";
    }

    /** Rounds numbers so that 1 plus the stored number is exactly the number, and returns the stored numbers. */
    static Tensor lessOne(float... numbers) {
        float[] stored = new float[numbers.length];
        for (int i = 0; i < numbers.length; i++) {
            numbers[i] = (float) (Math.rint(numbers[i] * 1024) / 1024);
            stored[i] = numbers[i] - 1;
        }
        return Tensor.of(stored);
    }
}
