package io.multihead.decoder;

import io.multihead.decoder.DecoderConfig.AttentionRule;
import io.multihead.decoder.DecoderConfig.Ends;
import io.multihead.decoder.DecoderConfig.Head;
import io.multihead.decoder.DecoderConfig.LayerRule;
import io.multihead.decoder.DecoderConfig.NormRule;
import io.multihead.decoder.DecoderConfig.Sizes;
import io.multihead.decoder.Settings.RopeRequest;
import io.multihead.gemm.Activation;
import io.multihead.position.Rope;
import io.multihead.position.Rope.Pairing;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Gemma 3, text alone (Gemma team 2025): normalisation before and after each part of a block, by weights that are stored less 1, which
 * GGUF's converter adds; five layers with a window and a rotary base of their own to one that sees everything; embeddings times the root of
 * their size.
 */
final class GemmaFamily implements Family {
    private static final int PATTERN = 6;
    private static final double LOCAL_THETA = 10_000;
    private static final double GLOBAL_THETA = 1_000_000;
    /** The model of 27 B, whose scores are scaled by the elements of a head that its width would have. */
    private static final int LARGEST_LAYERS = 62;

    @Override
    public List<String> names() {
        return List.of("gemma3", "gemma3_text");
    }

    @Override
    public Map<String, String> renamed() {
        return Map.of(
                "post_attention_norm", "post_attention_layernorm",
                "ffn_norm", "pre_feedforward_layernorm",
                "post_ffw_norm", "post_feedforward_layernorm");
    }

    @Override
    public DecoderConfig configure(Settings settings) {
        settings.requireOneOf("text_config");
        settings.requireOneOf("hidden_activation", "gelu_pytorch_tanh");
        settings.requireOneOf("use_bidirectional_attention", false);
        settings.requireOneOf("rope_parameters");
        Sizes sizes = Rules.sizes(settings);
        Rope global =
                settings.rope(new RopeRequest(sizes.headDim(), sizes.context(), GLOBAL_THETA, Pairing.HALF_SPLIT));
        Rope local = Rope.of(
                Rope.Config.of(sizes.headDim()).withTheta(settings.number("rope_local_base_freq", LOCAL_THETA)));
        int window = settings.integer("sliding_window");
        List<?> types = settings.list("layer_types");
        if (types != null && types.size() != sizes.layers()) {
            throw settings.fail("layer_types", "one per layer");
        }
        int pattern = settings.integer("sliding_window_pattern", PATTERN);
        return new DecoderConfig(
                settings.family(),
                sizes,
                new AttentionRule(
                        scale(settings, sizes),
                        settings.flag("attention_bias", false),
                        true,
                        settings.number("attn_logit_softcapping", 0)),
                new NormRule(settings.number("rms_norm_eps"), !settings.isGguf(), true),
                Rules.layers(
                        sizes,
                        layer -> isGlobal(settings, types, pattern, layer)
                                ? new LayerRule(global, 0)
                                : new LayerRule(local, window)),
                Activation.GELU_TANH,
                new Ends(
                        embeddingScale(sizes), settings.number("final_logit_softcapping", 0), Head.of(settings, true)));
    }

    /** The reference rounds the root to bf16, the type of its weights; llama.cpp does not. */
    private static double embeddingScale(Sizes sizes) {
        return (float) Math.sqrt(sizes.dim());
    }

    private static double scale(Settings settings, Sizes sizes) {
        int largest = sizes.layers() == LARGEST_LAYERS ? sizes.dim() / sizes.heads() : sizes.headDim();
        return 1 / Math.sqrt(settings.number("query_pre_attn_scalar", largest));
    }

    private static boolean isGlobal(Settings settings, @Nullable List<?> types, int pattern, int layer) {
        if (types == null) {
            return (layer + 1) % pattern == 0;
        }
        Object type = types.get(layer);
        if (!"full_attention".equals(type) && !"sliding_attention".equals(type)) {
            throw settings.fail("layer_types[" + layer + "]", "full_attention or sliding_attention");
        }
        return "full_attention".equals(type);
    }
}
