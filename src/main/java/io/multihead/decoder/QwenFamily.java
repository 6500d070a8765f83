package io.multihead.decoder;

import io.multihead.decoder.DecoderConfig.AttentionRule;
import io.multihead.decoder.DecoderConfig.Ends;
import io.multihead.decoder.DecoderConfig.ExpertRule;
import io.multihead.decoder.DecoderConfig.LayerRule;
import io.multihead.decoder.DecoderConfig.NormRule;
import io.multihead.decoder.DecoderConfig.Sizes;
import io.multihead.gemm.Activation;
import io.multihead.position.Rope;
import io.multihead.position.Rope.Pairing;
import java.util.List;
import java.util.stream.IntStream;

/**
 * Qwen 2 and 2.5, whose projections have biases (Qwen team 2024), and Qwen 3, which normalizes query and key heads and may have experts
 * (2025).
 */
final class QwenFamily implements Family {
    /** Defaults of settings that {@code config.json} omits. */
    private static final int HEAD_DIM = 128;

    private static final List<String> WITH_EXPERTS = List.of("qwen3_moe", "qwen3moe");
    private static final int EXPERTS = 128;
    private static final int USED_EXPERTS = 8;

    private static final int WINDOW = 4096;
    private static final int WINDOW_LAYERS = 28;

    @Override
    public List<String> names() {
        return List.of("qwen2", "qwen3", "qwen3_moe", "qwen3moe");
    }

    @Override
    public DecoderConfig configure(Settings settings) {
        settings.requireOneOf("hidden_act", "silu", "swish");
        boolean third = settings.family().startsWith("qwen3");
        boolean mixed = WITH_EXPERTS.contains(settings.family());
        Sizes sizes = Rules.sizes(settings, third && !mixed ? HEAD_DIM : 0);
        Rope rope = Rules.rope(settings, sizes, Pairing.HALF_SPLIT);
        boolean windowed = settings.flag("use_sliding_window", false);
        int window = windowed ? settings.window("sliding_window", WINDOW) : 0;
        // all layers of a model with experts have the window
        int firstWindowed =
                mixed ? 0 : windowed ? settings.integer("max_window_layers", WINDOW_LAYERS) : sizes.layers();
        if (mixed) {
            settings.requireOneOf("layer_types");
        }
        List<String> types = Rules.layerTypes(settings, sizes);
        if (types != null && window == 0 && types.contains(Rules.SLIDING)) {
            throw settings.fail("layer_types", Rules.FULL + " only, without use_sliding_window and sliding_window");
        }
        boolean biases = third ? settings.flag("attention_bias", false) : true;
        DecoderConfig config = new DecoderConfig(
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
        return mixed ? config.withExperts(experts(settings, sizes)) : config;
    }

    /** Returns the experts. In GGUF files, all layers have experts, and the factors are normalized. */
    private static ExpertRule experts(Settings settings, Sizes sizes) {
        if (settings.isGguf()) {
            return Rules.experts(settings, "num_experts");
        }
        String used = "num_experts_per_tok";
        String count = settings.has("num_experts") ? "num_experts" : "num_local_experts";
        int experts = Rules.size(settings, count, EXPERTS);
        int ofToken = Rules.size(settings, used, USED_EXPERTS);
        if (ofToken > experts) {
            throw settings.fail(used, "at most the " + experts + " of " + count);
        }
        int step = Rules.size(settings, "decoder_sparse_step", 1);
        List<Long> named = settings.integers("mlp_only_layers");
        List<Integer> dense = IntStream.range(0, sizes.layers())
                .filter(layer -> named != null && named.contains((long) layer) || (layer + 1) % step != 0)
                .boxed()
                .toList();
        return new ExpertRule(experts, ofToken, settings.flag("norm_topk_prob", false), dense);
    }
}
