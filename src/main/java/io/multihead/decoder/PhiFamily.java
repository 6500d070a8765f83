package io.multihead.decoder;

import io.multihead.decoder.DecoderConfig.AttentionRule;
import io.multihead.decoder.DecoderConfig.Ends;
import io.multihead.decoder.DecoderConfig.LayerRule;
import io.multihead.decoder.DecoderConfig.NormRule;
import io.multihead.decoder.DecoderConfig.Sizes;
import io.multihead.gemm.Activation;
import io.multihead.position.Rope;
import io.multihead.position.Rope.Pairing;
import java.util.List;
import java.util.Map;

/**
 * Phi-4-mini (Abouelenin et al. 2025) and Phi-3 (Abdin et al. 2024). A part of each head is rotated, with LongRoPE's factors for short or
 * for long contexts. Query, key and value are one matrix, and gate and up are another matrix.
 */
final class PhiFamily implements Family {
    /** The context length of the original training, if the settings omit it. */
    private static final int ORIGINAL = 4096;

    @Override
    public List<String> names() {
        return List.of("phi3");
    }

    @Override
    public Map<String, String> renamed() {
        return Map.of("ffn_up", "mlp.gate_up_proj");
    }

    @Override
    public DecoderConfig configure(Settings settings) {
        settings.requireOneOf("hidden_act", "silu", "swish");
        settings.requireOneOf("attention_bias", false);
        settings.requireOneOf("mlp_bias", false);
        settings.requireOneOf("lm_head_bias", false);
        settings.requireOneOf("full_attn_mod", 1L);
        settings.requireOneOf("interpolate_factor", 1L);
        Sizes sizes = Rules.sizes(settings);
        Rope rope = settings.rope(Rules.request(sizes, Pairing.HALF_SPLIT).withOriginal(ORIGINAL));
        int given = settings.window("sliding_window", 0);
        // the window of Phi-4-mini is longer than its context, and hides nothing
        int window = given < sizes.context() ? given : 0;
        return new DecoderConfig(
                settings.family(),
                sizes,
                new AttentionRule(Rules.scale(sizes), false, false, 0),
                new NormRule(Rules.epsilon(settings), false, false),
                Rules.layers(sizes, layer -> new LayerRule(rope, window)),
                Activation.SILU,
                Ends.plain(settings),
                true,
                null,
                0,
                null);
    }
}
