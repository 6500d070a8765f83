package io.multihead.decoder;

import io.multihead.decoder.DecoderConfig.AttentionRule;
import io.multihead.decoder.DecoderConfig.Beside;
import io.multihead.decoder.DecoderConfig.Ends;
import io.multihead.decoder.DecoderConfig.ExpertRule;
import io.multihead.decoder.DecoderConfig.Head;
import io.multihead.decoder.DecoderConfig.LayerRule;
import io.multihead.decoder.DecoderConfig.NormRule;
import io.multihead.decoder.DecoderConfig.Sizes;
import io.multihead.gemm.Activation;
import io.multihead.position.Rope;
import io.multihead.position.Rope.Pairing;
import java.util.List;

/**
 * Granite 3 and the dense models of Granite 4 (IBM 2024, 2025). They have the architecture of Llama with factors of embeddings, scores,
 * results and logits. Some models have experts, whose factors are the softmax of the chosen logits. Converters to GGUF permute queries and
 * keys as for Llama.
 */
final class GraniteFamily implements Family {
    private static final String EXPERTS = "granitemoe";

    @Override
    public List<String> names() {
        return List.of("granite", EXPERTS);
    }

    @Override
    public DecoderConfig configure(Settings settings) {
        boolean mixed = settings.family().equals(EXPERTS);
        if (mixed && !settings.isGguf()) {
            throw settings.fail("model_type", "granite, or a file of GGUF, where experts are tensors of other names");
        }
        // in GGUF files, the setting is a flag for rotary positions
        boolean rotates = !settings.isGguf() || settings.flag("rope_finetuned", true);
        DecoderConfig config = of(settings, Rules.sizes(settings), rotates);
        return mixed ? config.withExperts(experts(settings)) : config;
    }

    /** Returns the configuration of a model without experts. */
    static DecoderConfig of(Settings settings, Sizes sizes, boolean rotates) {
        settings.requireOneOf("hidden_act", "silu", "swish");
        Rope rope = rotates ? Rules.rope(settings, sizes, Pairing.INTERLEAVED) : null;
        double scale = factor(settings, "attention_multiplier", settings.isGguf() ? Rules.scale(sizes) : 1);
        return new DecoderConfig(
                settings.family(),
                sizes,
                new AttentionRule(scale, settings.flag("attention_bias", false), false, 0),
                new NormRule(Rules.epsilon(settings), false, false, factor(settings, "residual_multiplier", 1)),
                Rules.layers(sizes, layer -> new LayerRule(rope, 0)),
                Activation.SILU,
                new Ends(
                        factor(settings, "embedding_multiplier", 1),
                        0,
                        Head.of(settings, false),
                        1 / factor(settings, "logits_scaling", 1)));
    }

    /** Returns the experts of a GGUF file. If a setting has the size of a shared network, this network computes each token in addition. */
    static ExpertRule experts(Settings settings) {
        boolean isShared = settings.integer("shared_intermediate_size", 0) > 0;
        return Rules.experts(settings, "num_experts").with(isShared ? Beside.NETWORK : Beside.NOTHING);
    }

    /** Returns a factor above 0. In GGUF files, 0 means no factor. */
    private static double factor(Settings settings, String key, double otherwise) {
        boolean isNone = settings.isGguf() && settings.has(key) && settings.number(key) == 0;
        return isNone ? otherwise : settings.above(key, 0, otherwise);
    }
}
