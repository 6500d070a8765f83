package io.multihead.decoder;

import io.multihead.decoder.DecoderConfig.AttentionRule;
import io.multihead.decoder.DecoderConfig.Ends;
import io.multihead.decoder.DecoderConfig.Head;
import io.multihead.decoder.DecoderConfig.LayerRule;
import io.multihead.decoder.DecoderConfig.NormRule;
import io.multihead.decoder.DecoderConfig.Sizes;
import io.multihead.gemm.Activation;
import io.multihead.position.Rope;
import io.multihead.position.Rope.Pairing;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** SmolLM3 (Hugging Face 2025): Llama without rotary positions on every fourth layer. */
final class SmolLm3Family implements Family {
    private static final int INTERVAL = 4;

    /** The rotary base if a {@code config.json} does not set it. */
    private static final double THETA = 2_000_000;

    @Override
    public List<String> names() {
        return List.of("smollm3");
    }

    @Override
    public DecoderConfig configure(Settings settings) {
        settings.requireOneOf("hidden_act", "silu", "swish");
        settings.requireOneOf("use_sliding_window", false);
        Sizes sizes = Rules.sizes(settings);
        List<String> types = Rules.layerTypes(settings, sizes);
        if (types != null && types.contains(Rules.SLIDING)) {
            throw settings.fail("layer_types", Rules.FULL + " alone");
        }
        Rope rope = settings.rope(Rules.request(sizes, Pairing.INTERLEAVED).withTheta(THETA));
        List<Long> rotated = settings.integers("no_rope_layers");
        if (rotated != null
                && (rotated.size() != sizes.layers() || rotated.stream().anyMatch(flag -> flag < 0 || flag > 1))) {
            throw settings.fail("no_rope_layers", "0 or 1 for each of the " + sizes.layers() + " layers");
        }
        int interval = Rules.size(settings, "no_rope_layer_interval", INTERVAL);
        return new DecoderConfig(
                settings.family(),
                sizes,
                new AttentionRule(Rules.scale(sizes), settings.flag("attention_bias", false), false, 0),
                new NormRule(Rules.epsilon(settings), false, false),
                Rules.layers(sizes, layer -> new LayerRule(rotates(rotated, interval, layer) ? rope : null, 0)),
                Activation.SILU,
                new Ends(1, 0, Head.of(settings, true)));
    }

    private static boolean rotates(@Nullable List<Long> rotated, int interval, int layer) {
        return rotated == null ? (layer + 1) % interval != 0 : rotated.get(layer) == 1;
    }
}
