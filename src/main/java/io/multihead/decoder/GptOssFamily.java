package io.multihead.decoder;

import io.multihead.decoder.DecoderConfig.AttentionRule;
import io.multihead.decoder.DecoderConfig.Clamp;
import io.multihead.decoder.DecoderConfig.Ends;
import io.multihead.decoder.DecoderConfig.ExpertRule;
import io.multihead.decoder.DecoderConfig.LayerRule;
import io.multihead.decoder.DecoderConfig.NormRule;
import io.multihead.decoder.DecoderConfig.Sizes;
import io.multihead.gemm.Activation;
import io.multihead.position.Rope;
import io.multihead.position.Rope.Pairing;
import java.util.List;

/**
 * GPT-OSS (OpenAI 2025): experts in every layer with a clamped gate, biases everywhere, a sink for each query head, and a window on every
 * second layer, the first among them.
 */
final class GptOssFamily implements Family {
    private static final Clamp CLAMP = new Clamp(1.702, 7);

    @Override
    public List<String> names() {
        return List.of("gpt-oss");
    }

    @Override
    public DecoderConfig configure(Settings settings) {
        Sizes sizes = Rules.sizes(settings);
        Rope rope = Rules.rope(settings, sizes, Pairing.HALF_SPLIT);
        int window = Rules.size(settings, "sliding_window");
        ExpertRule experts = Rules.experts(settings);
        return new DecoderConfig(
                        settings.family(),
                        sizes,
                        new AttentionRule(Rules.scale(sizes), true, false, 0, true),
                        new NormRule(Rules.epsilon(settings), false, false),
                        Rules.layers(sizes, layer -> new LayerRule(rope, layer % 2 == 0 ? window : 0)),
                        Activation.SILU,
                        Ends.plain(settings))
                .withExperts(new ExpertRule(experts.count(), experts.used(), true, List.of(), CLAMP));
    }
}
