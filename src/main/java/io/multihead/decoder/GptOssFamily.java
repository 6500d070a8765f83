package io.multihead.decoder;

import io.multihead.decoder.DecoderConfig.AttentionRule;
import io.multihead.decoder.DecoderConfig.Beside;
import io.multihead.decoder.DecoderConfig.Clamp;
import io.multihead.decoder.DecoderConfig.Ends;
import io.multihead.decoder.DecoderConfig.ExpertRule;
import io.multihead.decoder.DecoderConfig.LayerRule;
import io.multihead.decoder.DecoderConfig.NormRule;
import io.multihead.decoder.DecoderConfig.Sizes;
import io.multihead.gemm.Activation;
import io.multihead.internal.load.WeightSource;
import io.multihead.position.Rope;
import io.multihead.position.Rope.Pairing;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * GPT-OSS (OpenAI 2025). Every layer has experts with clamped gates, biases of all its linear layers, and a sink for each query head. Every
 * second layer, beginning with the first, has a window.
 */
final class GptOssFamily implements Family {
    private static final Clamp CLAMP = new Clamp(1.702, 7);

    /** Defaults of settings that {@code config.json} omits. */
    private static final int HEAD_DIM = 64;

    private static final int WINDOW = 128;
    private static final double THETA = 150_000;

    @Override
    public List<String> names() {
        return List.of("gpt-oss", "gpt_oss");
    }

    @Override
    public Map<String, String> renamed() {
        return Map.of("ffn_gate_inp", "mlp.router");
    }

    @Override
    public WeightSource source(WeightSource folder) {
        return new GptOssSource(folder);
    }

    @Override
    public DecoderConfig configure(Settings settings) {
        settings.requireOneOf("hidden_act", "silu", "swish");
        // the reference's code uses these values and ignores the settings
        settings.requireOneOf("swiglu_limit", CLAMP.limit(), (long) CLAMP.limit());
        Sizes sizes = Rules.sizes(settings, HEAD_DIM);
        Rope rope = settings.rope(Rules.request(sizes, Pairing.HALF_SPLIT).withTheta(THETA));
        int window = Rules.sizeOrUsual(settings, "sliding_window", WINDOW);
        List<String> types = Rules.layerTypes(settings, sizes);
        ExpertRule experts = Rules.experts(settings, settings.isGguf() ? "num_experts" : "num_local_experts");
        return new DecoderConfig(
                        settings.family(),
                        sizes,
                        new AttentionRule(Rules.scale(sizes), settings.flag("attention_bias", true), false, 0, true),
                        new NormRule(Rules.epsilon(settings), false, false),
                        Rules.layers(sizes, layer -> new LayerRule(rope, slides(types, layer) ? window : 0)),
                        Activation.SILU,
                        Ends.plain(settings))
                .withExperts(new ExpertRule(experts.count(), experts.used(), true, List.of(), CLAMP, Beside.NOTHING));
    }

    private static boolean slides(@Nullable List<String> types, int layer) {
        return types == null ? layer % 2 == 0 : types.get(layer).equals(Rules.SLIDING);
    }
}
