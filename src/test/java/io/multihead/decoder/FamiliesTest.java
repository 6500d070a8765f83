package io.multihead.decoder;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.decoder.DecoderConfig.Sizes;
import io.multihead.gemm.Activation;
import io.multihead.internal.base.Json;
import io.multihead.internal.base.JsonObject;
import io.multihead.model.LinearHeads;
import io.multihead.model.Mamba2Heads;
import io.multihead.position.Rope;
import io.multihead.position.RopeScaling;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Tests how {@code config.json} of published models is interpreted. */
class FamiliesTest {
    private static final String LLAMA_3_2_1B = """
            {"model_type": "llama", "hidden_size": 2048, "num_hidden_layers": 16, "num_attention_heads": 32,
             "num_key_value_heads": 8, "head_dim": 64, "intermediate_size": 8192, "max_position_embeddings": 131072,
             "rms_norm_eps": 1e-05, "rope_theta": 500000.0, "hidden_act": "silu", "attention_bias": false,
             "mlp_bias": false, "tie_word_embeddings": true, "vocab_size": 128256, "pretraining_tp": 1,
             "rope_scaling": {"factor": 32.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0,
              "original_max_position_embeddings": 8192, "rope_type": "llama3"}}
            """;

    private static final String QWEN_3_0_6B = """
            {"model_type": "qwen3", "attention_bias": false, "head_dim": 128, "hidden_act": "silu", "hidden_size": 1024,
             "intermediate_size": 3072, "max_position_embeddings": 40960, "max_window_layers": 28,
             "num_attention_heads": 16, "num_hidden_layers": 28, "num_key_value_heads": 8, "rms_norm_eps": 1e-06,
             "rope_scaling": null, "rope_theta": 1000000, "sliding_window": null, "tie_word_embeddings": true,
             "use_sliding_window": false, "vocab_size": 151936}
            """;

    private static final String QWEN_2_5_0_5B = """
            {"model_type": "qwen2", "hidden_act": "silu", "hidden_size": 896, "intermediate_size": 4864,
             "max_position_embeddings": 32768, "max_window_layers": 21, "num_attention_heads": 14,
             "num_hidden_layers": 24, "num_key_value_heads": 2, "rms_norm_eps": 1e-06, "rope_theta": 1000000.0,
             "sliding_window": 32768, "tie_word_embeddings": true, "use_sliding_window": false}
            """;

    private static final String GEMMA_3_1B = """
            {"model_type": "gemma3_text", "attention_bias": false, "attn_logit_softcapping": null,
             "final_logit_softcapping": null, "head_dim": 256, "hidden_activation": "gelu_pytorch_tanh",
             "hidden_size": 1152, "intermediate_size": 6912, "max_position_embeddings": 32768,
             "num_attention_heads": 4, "num_hidden_layers": 26, "num_key_value_heads": 1,
             "query_pre_attn_scalar": 256, "rms_norm_eps": 1e-06, "rope_local_base_freq": 10000,
             "rope_scaling": null, "rope_theta": 1000000, "sliding_window": 512, "sliding_window_pattern": 6}
            """;

    private static final String LFM_2_1_2B = """
            {"architectures": ["Lfm2ForCausalLM"], "block_auto_adjust_ff_dim": true, "block_dim": 2048,
             "block_ff_dim": 12288, "block_ffn_dim_multiplier": 1.0, "block_multiple_of": 256, "block_norm_eps": 1e-05,
             "block_use_swiglu": true, "conv_L_cache": 3, "conv_bias": false, "conv_dim": 2048, "eos_token_id": 7,
             "full_attn_idxs": [2, 5, 8, 10, 12, 14], "hidden_size": 2048, "max_position_embeddings": 128000,
             "model_type": "lfm2", "norm_eps": 1e-05, "num_attention_heads": 32, "num_heads": 32,
             "num_hidden_layers": 16, "num_key_value_heads": 8, "rope_theta": 1000000.0, "use_pos_enc": true,
             "vocab_size": 65536}
            """;

    private static final String QWEN_3_5_0_8B = """
            {"model_type": "qwen3_5_text", "attention_bias": false, "attn_output_gate": true, "full_attention_interval": 4,
             "head_dim": 256, "hidden_act": "silu", "hidden_size": 1024, "intermediate_size": 3584, "layer_types": [TYPES],
             "linear_conv_kernel_dim": 4, "linear_key_head_dim": 128, "linear_num_key_heads": 16,
             "linear_num_value_heads": 16, "linear_value_head_dim": 128, "max_position_embeddings": 262144,
             "mlp_only_layers": [], "mtp_num_hidden_layers": 1, "num_attention_heads": 8, "num_hidden_layers": 24,
             "num_key_value_heads": 2, "rms_norm_eps": 1e-06, "tie_word_embeddings": true, "vocab_size": 248320,
             "rope_parameters": {"mrope_interleaved": true, "mrope_section": [11, 11, 10], "rope_type": "default",
             "rope_theta": 10000000, "partial_rotary_factor": 0.25}}
            """.replace(
                    "TYPES",
                    String.join(
                            ", ",
                            Collections.nCopies(
                                    6,
                                    "\"linear_attention\", \"linear_attention\", \"linear_attention\", \"full_attention\"")));

    private static final String SMOLLM_3 = """
            {"model_type": "smollm3", "hidden_act": "silu", "hidden_size": 2048, "intermediate_size": 11008,
             "max_position_embeddings": 65536, "num_attention_heads": 16, "num_hidden_layers": 4,
             "num_key_value_heads": 4, "rms_norm_eps": 1e-06, "rope_theta": 5000000.0, "use_sliding_window": false,
             "no_rope_layers": [1, 1, 1, 0], "no_rope_layer_interval": 4, "attention_bias": false}
            """;

    private static final String PHI_4_MINI = """
            {"model_type": "phi3", "attention_bias": false, "attention_dropout": 0.0, "embd_pdrop": 0.0,
             "full_attn_mod": 1, "hidden_act": "silu", "hidden_size": 3072, "intermediate_size": 8192,
             "interpolate_factor": 1, "lm_head_bias": false, "max_position_embeddings": 131072, "mlp_bias": false,
             "num_attention_heads": 24, "num_hidden_layers": 32, "num_key_value_heads": 8,
             "original_max_position_embeddings": 4096, "partial_rotary_factor": 0.75, "resid_pdrop": 0.0,
             "rms_norm_eps": 1e-05, "rope_scaling": {"long_factor": LONG, "short_factor": SHORT, "type": "longrope"},
             "rope_theta": 10000.0, "sliding_window": 262144, "tie_word_embeddings": true, "vocab_size": 200064}
            """.replace(
                    "LONG", Collections.nCopies(48, 2.5).toString())
            .replace("SHORT", Collections.nCopies(48, 1).toString());

    private static final String GRANITE_3_3_2B = """
            {"model_type": "granite", "attention_bias": false, "attention_dropout": 0.0, "attention_multiplier": 0.015625,
             "embedding_multiplier": 12.0, "hidden_act": "silu", "hidden_size": 2048, "intermediate_size": 8192,
             "logits_scaling": 8.0, "max_position_embeddings": 131072, "mlp_bias": false, "num_attention_heads": 32,
             "num_hidden_layers": 40, "num_key_value_heads": 8, "residual_multiplier": 0.22, "rms_norm_eps": 1e-05,
             "rope_scaling": null, "rope_theta": 10000000.0, "tie_word_embeddings": true, "vocab_size": 49159}
            """;

    @Test
    void graniteHasFactors() {
        DecoderConfig config = config(GRANITE_3_3_2B);
        assertEquals(new Sizes(40, 2048, 32, 8, 64, 131072), config.sizes());
        assertEquals(0x1p-6, config.attention().scale());
        assertEquals(new DecoderConfig.NormRule(1e-5, false, false, 0.22), config.norms());
        assertEquals(new DecoderConfig.Ends(12, 0, DecoderConfig.Head.TIED, 0.125), config.ends());
    }

    private static final String GRANITE_4_H_MICRO = """
            {"architectures": ["GraniteMoeHybridForCausalLM"], "model_type": "granitemoehybrid", "attention_bias": false,
             "attention_dropout": 0.0, "attention_multiplier": 0.015625, "embedding_multiplier": 12, "hidden_act": "silu",
             "hidden_size": 2048, "init_method": "mup", "initializer_range": 0.1, "intermediate_size": 8192,
             "layer_types": [TYPES], "logits_scaling": 8, "mamba_chunk_size": 256, "mamba_conv_bias": true,
             "mamba_d_conv": 4, "mamba_d_head": 64, "mamba_d_state": 128, "mamba_expand": 2, "mamba_n_groups": 1,
             "mamba_n_heads": 64, "mamba_proj_bias": false, "max_position_embeddings": 131072,
             "normalization_function": "rmsnorm", "num_attention_heads": 32, "num_experts_per_tok": 0,
             "num_hidden_layers": 40, "num_key_value_heads": 8, "num_local_experts": 0, "output_router_logits": false,
             "position_embedding_type": "nope", "residual_multiplier": 0.22, "rms_norm_eps": 1e-05, "rope_scaling": null,
             "rope_theta": 10000, "router_aux_loss_coef": 0.01, "shared_intermediate_size": 8192,
             "tie_word_embeddings": true, "vocab_size": 100352}
            """.replace(
                    "TYPES",
                    IntStream.range(0, 40)
                            .mapToObj(layer -> layer % 10 == 5 ? "\"attention\"" : "\"mamba\"")
                            .collect(Collectors.joining(", ")));

    @Test
    void granite4HasMambaInMostLayers() {
        DecoderConfig config = config(GRANITE_4_H_MICRO);
        assertEquals(new Sizes(40, 2048, 32, 8, 64, 131072), config.sizes());
        DecoderConfig.MambaRule mamba = (DecoderConfig.MambaRule) config.recurrent();
        assertEquals(new Mamba2Heads(64, 64, 1, 128), mamba.heads());
        assertEquals(4, mamba.taps());
        for (int layer = 0; layer < 40; layer++) {
            assertEquals(layer % 10 != 5, mamba.layers().contains(layer), "layer " + layer);
            assertNull(config.layers().get(layer).rope());
        }
        assertEquals(0x1p-6, config.attention().scale());
        assertNull(config.experts());
        assertEquals(new DecoderConfig.Ends(12, 0, DecoderConfig.Head.TIED, 0.125), config.ends());
        DecoderConfig mixed = config(GRANITE_4_H_MICRO
                .replace("\"num_local_experts\": 0", "\"num_local_experts\": 64")
                .replace("\"num_experts_per_tok\": 0", "\"num_experts_per_tok\": 6"));
        assertEquals(64, mixed.experts().count());
        assertEquals(6, mixed.experts().used());
        assertEquals(DecoderConfig.Beside.NETWORK, mixed.experts().beside());
    }

    private static DecoderConfig config(String json) {
        byte[] utf8 = json.getBytes(StandardCharsets.UTF_8);
        JsonSettings settings = new JsonSettings(new JsonObject("config", Json.object("config", utf8)), 500);
        return Families.of(settings).configure(settings);
    }

    @Test
    void qwen35HasLinearAttentionInMostLayers() {
        DecoderConfig config = config(QWEN_3_5_0_8B);
        assertEquals(new Sizes(24, 1024, 8, 2, 256, 262_144), config.sizes());
        DecoderConfig.LinearRule linear = (DecoderConfig.LinearRule) config.recurrent();
        assertEquals(new LinearHeads(16, 16, 128, 128, false), linear.heads());
        assertEquals(4, linear.taps());
        for (int layer = 0; layer < 24; layer++) {
            assertEquals(layer % 4 != 3, linear.layers().contains(layer), "layer " + layer);
        }
        Rope.Config rope = config.layers().get(3).rope().config();
        assertEquals(64, rope.rotaryDims());
        assertEquals(1e7, rope.theta());
        assertEquals(new DecoderConfig.AttentionRule(1 / 16.0, false, true, 0, false, true), config.attention());
        assertEquals(new DecoderConfig.NormRule(1e-6, true, false), config.norms());
        assertEquals(DecoderConfig.Head.TIED, config.ends().head());
    }

    @Test
    void lfm2HasConvolutionsInMostLayers() {
        DecoderConfig config = config(LFM_2_1_2B);
        assertEquals(new Sizes(16, 2048, 32, 8, 64, 128_000), config.sizes());
        for (int layer = 0; layer < 16; layer++) {
            boolean attends = List.of(2, 5, 8, 10, 12, 14).contains(layer);
            assertEquals(attends ? 0 : 3, config.layers().get(layer).taps(), "layer " + layer);
            assertEquals(attends, config.layers().get(layer).rope() != null);
        }
        assertEquals(1e-5, config.norms().epsilon());
        assertTrue(config.attention().normalizesHeads());
        assertEquals(DecoderConfig.Head.TIED, config.ends().head());
    }

    @Test
    void llamaHasScaledFrequencies() {
        DecoderConfig config = config(LLAMA_3_2_1B);
        assertEquals(new Sizes(16, 2048, 32, 8, 64, 131072), config.sizes());
        assertEquals(0.125, config.attention().scale());
        assertEquals(new DecoderConfig.NormRule(1e-5, false, false), config.norms());
        assertEquals(Activation.SILU, config.activation());
        Rope.Config rope = config.layers().get(15).rope().config();
        assertEquals(64, rope.rotaryDims());
        assertEquals(500_000, rope.theta());
        assertEquals(Rope.Pairing.HALF_SPLIT, rope.pairing());
        assertEquals(new RopeScaling.Llama3(32, 1, 4, 8192), rope.scaling());
        assertEquals(0, config.layers().get(15).window());
        assertEquals(new DecoderConfig.Ends(1, 0, DecoderConfig.Head.TIED), config.ends());
    }

    @Test
    void aMistralSeesItsWindow() {
        String mistral = LLAMA_3_2_1B
                .replace("\"llama\"", "\"mistral\"")
                .replace("\"mlp_bias\": false", "\"sliding_window\": 4096");
        assertEquals(4096, config(mistral).layers().get(0).window());
        assertEquals(0, config(mistral.replace("4096", "null")).layers().get(0).window());
    }

    @Test
    void qwen3NormalizesHeadsOfASizeOfTheirOwn() {
        DecoderConfig config = config(QWEN_3_0_6B);
        assertEquals(new Sizes(28, 1024, 16, 8, 128, 40960), config.sizes());
        assertTrue(config.attention().normalizesHeads());
        assertTrue(!config.attention().needsBiases());
        assertEquals(1_000_000, config.layers().get(0).rope().config().theta());
        assertEquals(RopeScaling.NONE, config.layers().get(0).rope().config().scaling());
    }

    @Test
    void qwen25HasBiasesAndMayHaveWindows() {
        DecoderConfig config = config(QWEN_2_5_0_5B);
        assertEquals(new Sizes(24, 896, 14, 2, 64, 32768), config.sizes());
        assertTrue(config.attention().needsBiases());
        assertTrue(!config.attention().normalizesHeads());
        assertEquals(0, config.layers().get(23).window());
        DecoderConfig windowed =
                config(QWEN_2_5_0_5B.replace("use_sliding_window\": false", "use_sliding_window\": true"));
        assertEquals(0, windowed.layers().get(20).window());
        assertEquals(32768, windowed.layers().get(21).window());
    }

    @Test
    void gemma3HasTwoKindsOfLayers() {
        DecoderConfig config = config(GEMMA_3_1B);
        assertEquals(new Sizes(26, 1152, 4, 1, 256, 32768), config.sizes());
        assertEquals(new DecoderConfig.NormRule(1e-6, true, true), config.norms());
        assertEquals(Activation.GELU_TANH, config.activation());
        assertEquals(1 / 16.0, config.attention().scale());
        assertEquals((float) Math.sqrt(1152), config.ends().embeddingScale());
        for (int layer = 0; layer < 26; layer++) {
            boolean global = layer % 6 == 5;
            assertEquals(global ? 0 : 512, config.layers().get(layer).window(), "layer " + layer);
            assertEquals(
                    global ? 1_000_000 : 10_000,
                    config.layers().get(layer).rope().config().theta(),
                    "layer " + layer);
        }
    }

    @Test
    void smolLm3LeavesOutPositions() {
        DecoderConfig config = config(SMOLLM_3);
        assertEquals(5_000_000, config.layers().get(2).rope().config().theta());
        assertNull(config.layers().get(3).rope());
        DecoderConfig byInterval = config(SMOLLM_3.replace("\"no_rope_layers\": [1, 1, 1, 0], ", ""));
        assertEquals(
                List.of(true, true, true, false),
                byInterval.layers().stream().map(layer -> layer.rope() != null).toList());
    }

    @Test
    void phi4RotatesAPartOfAHead() {
        DecoderConfig config = config(PHI_4_MINI);
        assertEquals(new Sizes(32, 3072, 24, 8, 128, 131072), config.sizes());
        assertTrue(config.fused());
        assertEquals(0, config.layers().get(0).window());
        Rope.Config rope = config.layers().get(0).rope().config();
        assertEquals(96, rope.rotaryDims());
        assertEquals(Rope.Pairing.HALF_SPLIT, rope.pairing());
        RopeScaling.LongRope scaling = (RopeScaling.LongRope) rope.scaling();
        assertEquals(4096, scaling.originalContext());
        // sqrt(1 + ln 32 / ln 4096)
        assertEquals(Math.sqrt(1 + 5 / 12.0), scaling.attentionFactor(), 1e-15);
        assertEquals(
                2047,
                config(PHI_4_MINI.replace("262144", "2047")).layers().get(0).window());
        assertFails("config.mlp_bias: true", PHI_4_MINI.replace("\"mlp_bias\": false", "\"mlp_bias\": true"));
        assertFails("config.rope_scaling.short_factor", PHI_4_MINI.replace("short_factor", "shorter"));
    }

    @Test
    void whatIsUnknownIsNamed() {
        assertFails("config.model_type: mamba", LLAMA_3_2_1B.replace("\"llama\"", "\"mamba\""));
        assertFails("config.hidden_act: relu2", LLAMA_3_2_1B.replace("\"silu\"", "\"relu2\""));
        assertFails("config.rope_scaling.rope_type", LLAMA_3_2_1B.replace("\"llama3\"", "\"spiral\""));
        assertFails("config.rope_scaling.", LLAMA_3_2_1B.replace("\"high_freq_factor\"", "\"higher\""));
        assertFails(
                "config.rope_scaling.attn_scale", LLAMA_3_2_1B.replace("\"factor\"", "\"attn_scale\": 2, \"factor\""));
        assertFails(
                "config.rope_scaling.rope_type: dynamic",
                QWEN_3_0_6B.replace(
                        "\"rope_scaling\": null", "\"rope_scaling\": {\"type\": \"dynamic\", \"factor\": 2}"));
        assertFails(
                "config.rope_parameters.rope_type: 7",
                QWEN_3_0_6B.replace("\"rope_scaling\": null", "\"rope_parameters\": {\"rope_type\": 7}"));
        assertFails("config.hidden_size: null", LLAMA_3_2_1B.replace("\"hidden_size\": 2048,", ""));
        assertFails("config.rms_norm_eps: null", LLAMA_3_2_1B.replace("\"rms_norm_eps\": 1e-05,", ""));
        assertFails("config.num_attention_heads: 32", LLAMA_3_2_1B.replace("_heads\": 8", "_heads\": 5"));
        assertFails(
                "config.quantization_config",
                LLAMA_3_2_1B.replace("\"mlp_bias\": false", "\"quantization_config\": {\"bits\": 4}"));
        assertFails(
                "config.layer_types: [linear_attention]",
                GEMMA_3_1B
                        .replace("26,", "1,")
                        .replace("\"sliding_window_pattern\": 6", "\"layer_types\": [\"linear_attention\"]"));
    }

    private static void assertFails(String begin, String json) {
        String message =
                assertThrows(IllegalArgumentException.class, () -> config(json)).getMessage();
        assertTrue(message.startsWith(begin), message);
    }
}
