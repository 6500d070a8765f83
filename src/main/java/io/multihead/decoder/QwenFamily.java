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
    /** What settings are that a {@code config.json} does not say. */
    private static final int HEAD_DIM = 128;

    private static final int WINDOW = 4096;
    private static final int WINDOW_LAYERS = 28;

    @Override
    public List<String> names() {
        return List.of("qwen2", "qwen3");
    }

    @Override
    public DecoderConfig configure(Settings settings) {
        settings.requireOneOf("hidden_act", "silu", "swish");
        boolean third = settings.family().equals("qwen3");
        Sizes sizes = Rules.sizes(settings, third ? HEAD_DIM : 0);
        Rope rope = Rules.rope(settings, sizes, Pairing.HALF_SPLIT);
        boolean windowed = settings.flag("use_sliding_window", false);
        int window = windowed ? settings.window("sliding_window", WINDOW) : 0;
        int firstWindowed = windowed ? settings.integer("max_window_layers", WINDOW_LAYERS) : sizes.layers();
        List<String> types = Rules.layerTypes(settings, sizes);
        if (types != null && window == 0 && types.contains(Rules.SLIDING)) {
            throw settings.fail("layer_types", Rules.FULL + " alone without use_sliding_window and sliding_window");
        }
        boolean biases = third ? settings.flag("attention_bias", false) : true;
        return new DecoderConfig(
                settings.family(),
                sizes,
                new AttentionRule(Rules.scale(sizes), biases, third, 0),
                new NormRule(Rules.epsilon(settings), false, false),
                Rules.layers(sizes, layer -> {
                    boolean slides = types == null
                            ? layer >= firstWindowed
                            : types.get(layer).equals(Rules.SLIDING);
                    return new LayerRule(rope, slides ? window : 0);
                }),
                Activation.SILU,
                Ends.plain(settings));
    }
}
