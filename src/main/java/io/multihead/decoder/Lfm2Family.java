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
import java.util.Map;
import java.util.stream.IntStream;

/**
 * LFM2 and LFM2.5 (Liquid AI 2025). Some layers have attention with norms of heads, and the other layers have short convolutions with
 * gates.
 */
final class Lfm2Family implements Family {
    private static final String TAPS = "conv_L_cache";
    private static final String TIED = "tie_embedding";
    private static final String TYPES = "layer_types";
    private static final String CONVOLUTION = "conv";

    /** Defaults of settings that a {@code config.json} omits. */
    private static final double THETA = 1_000_000;

    private static final double EPSILON = 1e-5;

    @Override
    public List<String> names() {
        return List.of("lfm2");
    }

    @Override
    public Map<String, String> renamed() {
        return Map.ofEntries(
                Map.entry("output_norm.weight", "embedding_norm.weight"),
                Map.entry("attn_norm", "operator_norm"),
                Map.entry("ffn_norm", "ffn_norm"),
                Map.entry("attn_output", "self_attn.out_proj"),
                Map.entry("attn_q_norm", "self_attn.q_layernorm"),
                Map.entry("attn_k_norm", "self_attn.k_layernorm"),
                Map.entry("shortconv.conv", "conv.conv"),
                Map.entry("shortconv.in_proj", "conv.in_proj"),
                Map.entry("shortconv.out_proj", "conv.out_proj"),
                Map.entry("ffn_gate", "feed_forward.w1"),
                Map.entry("ffn_up", "feed_forward.w3"),
                Map.entry("ffn_down", "feed_forward.w2"));
    }

    @Override
    public DecoderConfig configure(Settings settings) {
        settings.requireOneOf("conv_bias", false);
        settings.requireOneOf("theta");
        Rules.LayerHeads heads = Rules.layerHeads(settings);
        Sizes sizes = heads == null ? Rules.sizes(settings) : Rules.sizes(settings, 0, heads.keyValueHeads());
        int taps = Rules.size(settings, TAPS, 3);
        if (taps < 2) {
            throw settings.fail(TAPS, "at least 2");
        }
        Rope rope = settings.rope(Rules.request(sizes, Pairing.HALF_SPLIT).withTheta(THETA));
        List<Integer> convolutions = heads == null ? convolutions(settings, sizes) : heads.without();
        return new DecoderConfig(
                settings.family(),
                sizes,
                new AttentionRule(Rules.scale(sizes), false, true, 0),
                new NormRule(
                        settings.isGguf() ? Rules.epsilon(settings) : settings.notNegative("norm_eps", EPSILON),
                        false,
                        false),
                Rules.layers(
                        sizes,
                        layer -> convolutions.contains(layer) ? LayerRule.convolution(taps) : new LayerRule(rope, 0)),
                Activation.SILU,
                new Ends(1, 0, head(settings)));
    }

    /** Reads whether the head is tied. Files of the first release use another name for this setting. */
    private static Head head(Settings settings) {
        if (!settings.has(TIED)) {
            return Head.of(settings, true);
        }
        return settings.flag(TIED, true) ? Head.TIED : Head.OWN;
    }

    private static List<Integer> convolutions(Settings settings, Sizes sizes) {
        if (settings.texts(TYPES) != null) {
            return Rules.layersOf(settings, TYPES, sizes, CONVOLUTION, Rules.FULL);
        }
        List<Long> attentions = settings.integers("full_attn_idxs");
        return IntStream.range(0, sizes.layers())
                .filter(layer -> attentions != null && !attentions.contains((long) layer))
                .boxed()
                .toList();
    }
}
