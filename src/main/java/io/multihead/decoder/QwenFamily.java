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

/** Qwen 2 and 2.5, whose projections have biases (Qwen team 2024), and Qwen 3, which normalises query and key heads (2025). */
final class QwenFamily implements Family {
    @Override
    public List<String> names() {
        return List.of("qwen2", "qwen3");
    }

    @Override
    public DecoderConfig configure(Settings settings) {
        settings.requireOneOf("hidden_act", "silu");
        Sizes sizes = Rules.sizes(settings);
        Rope rope = Rules.rope(settings, sizes, Pairing.HALF_SPLIT);
        boolean third = settings.family().equals("qwen3");
        boolean windowed = settings.flag("use_sliding_window", false);
        int window = windowed ? settings.integer("sliding_window", 0) : 0;
        int firstWindowed = windowed ? settings.integer("max_window_layers") : sizes.layers();
        boolean biases = third ? settings.flag("attention_bias", false) : true;
        return new DecoderConfig(
                settings.family(),
                sizes,
                new AttentionRule(Rules.scale(sizes), biases, third, 0),
                new NormRule(settings.number("rms_norm_eps"), false, false),
                Rules.layers(sizes, layer -> new LayerRule(rope, layer < firstWindowed ? 0 : window)),
                Activation.SILU,
                Ends.plain(settings));
    }
}
