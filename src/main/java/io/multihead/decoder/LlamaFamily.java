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

/**
 * Llama 2 and 3 (Touvron et al. 2023; Dubey et al. 2024), and models of the same architecture: TinyLlama, SmolLM2, Mistral (Jiang et al.
 * 2023). Converters to GGUF permute queries and keys of this family, so that pairs are interleaved in GGUF files.
 */
final class LlamaFamily implements Family {
    /** The window of Mistral models whose settings do not state it. */
    private static final int MISTRAL_WINDOW = 4096;

    @Override
    public List<String> names() {
        return List.of("llama", "mistral");
    }

    @Override
    public DecoderConfig configure(Settings settings) {
        settings.requireOneOf("hidden_act", "silu", "swish");
        Sizes sizes = Rules.sizes(settings);
        Rope rope = Rules.rope(settings, sizes, Pairing.INTERLEAVED);
        int window = settings.family().equals("mistral") ? settings.window("sliding_window", MISTRAL_WINDOW) : 0;
        return new DecoderConfig(
                settings.family(),
                sizes,
                new AttentionRule(Rules.scale(sizes), settings.flag("attention_bias", false), false, 0),
                new NormRule(Rules.epsilon(settings), false, false),
                Rules.layers(sizes, layer -> new LayerRule(rope, window)),
                Activation.SILU,
                Ends.plain(settings));
    }
}
