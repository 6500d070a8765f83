package io.multihead.decoder;

import io.multihead.decoder.DecoderConfig.AttentionRule;
import io.multihead.decoder.DecoderConfig.Ends;
import io.multihead.decoder.DecoderConfig.Head;
import io.multihead.decoder.DecoderConfig.LayerRule;
import io.multihead.decoder.DecoderConfig.NormRule;
import io.multihead.decoder.DecoderConfig.Sizes;
import io.multihead.decoder.Settings.RopeRequest;
import io.multihead.gemm.Activation;
import io.multihead.internal.load.RopeSettings;
import io.multihead.position.Rope;
import io.multihead.position.Rope.Pairing;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Gemma 3, text only (Gemma team 2025). Norms precede and follow each part of a block. Their weights are stored minus 1; GGUF's converter
 * adds 1. For each layer without a window, there are five layers with a window, which have a separate rotary base. Embeddings are
 * multiplied by the square root of their size.
 */
final class GemmaFamily implements Family {

    /** The number of elements of a head, and the scalar whose square root divides scores, if a {@code config.json} does not set them. */
    private static final int HEAD_DIM = 256;

    private static final int PATTERN = 6;
    private static final double LOCAL_THETA = 10_000;
    private static final double GLOBAL_THETA = 1_000_000;
    /**
     * The number of layers of the 27B model. Its scores are scaled for heads of {@code dim / heads} elements, although its heads have
     * another size.
     */
    private static final int LARGEST_LAYERS = 62;

    @Override
    public List<String> names() {
        return List.of("gemma3", "gemma3_text");
    }

    @Override
    public Map<String, String> renamed() {
        return Map.of(
                "post_attention_norm", "post_attention_layernorm",
                "ffn_norm", "pre_feedforward_layernorm",
                "post_ffw_norm", "post_feedforward_layernorm");
    }

    @Override
    public DecoderConfig configure(Settings settings) {
        settings.requireOneOf("text_config");
        settings.requireOneOf("hidden_activation", "gelu_pytorch_tanh");
        Sizes sizes = Rules.sizes(settings, HEAD_DIM);
        RopeRequest request = Rules.request(sizes, Pairing.HALF_SPLIT).withTheta(GLOBAL_THETA);
        if (settings.has(RopeSettings.PARAMETERS)
                && !(settings.hasRope(Rules.FULL) && settings.hasRope(Rules.SLIDING))) {
            throw settings.fail(RopeSettings.PARAMETERS, "those of " + Rules.FULL + " and of " + Rules.SLIDING);
        }
        Rope global = settings.rope(request.withLayers(Rules.FULL));
        double localTheta = settings.above("rope_local_base_freq", 1, LOCAL_THETA);
        Rope local = settings.hasRope(Rules.SLIDING)
                ? settings.rope(request.withTheta(localTheta).withLayers(Rules.SLIDING))
                : Rope.of(Rope.Config.of(global.rotaryDims()).withTheta(localTheta));
        int window = settings.integer("sliding_window");
        List<String> types = Rules.layerTypes(settings, sizes);
        int pattern = Rules.size(settings, "sliding_window_pattern", PATTERN);
        return new DecoderConfig(
                settings.family(),
                sizes,
                new AttentionRule(
                        scale(settings, sizes),
                        settings.flag("attention_bias", false),
                        true,
                        settings.notNegative("attn_logit_softcapping", 0)),
                new NormRule(Rules.epsilon(settings), !settings.isGguf(), true),
                Rules.layers(
                        sizes,
                        layer -> isGlobal(types, pattern, layer)
                                ? new LayerRule(global, 0)
                                : new LayerRule(local, window)),
                Activation.GELU_TANH,
                new Ends(
                        embeddingScale(sizes),
                        settings.notNegative("final_logit_softcapping", 0),
                        Head.of(settings, true)));
    }

    /** Returns the square root of the embedding size, as llama.cpp does. The reference rounds the root to bf16, the type of its weights. */
    private static double embeddingScale(Sizes sizes) {
        return (float) Math.sqrt(sizes.dim());
    }

    /**
     * Returns the factor of scores. The reference reads a setting, whose default is 256. llama.cpp has a rule that depends on the number of
     * layers.
     */
    private static double scale(Settings settings, Sizes sizes) {
        int largest = sizes.layers() == LARGEST_LAYERS ? sizes.dim() / sizes.heads() : sizes.headDim();
        return 1 / Math.sqrt(settings.above("query_pre_attn_scalar", 0, settings.isGguf() ? largest : HEAD_DIM));
    }

    private static boolean isGlobal(@Nullable List<String> types, int pattern, int layer) {
        return types == null ? (layer + 1) % pattern == 0 : types.get(layer).equals(Rules.FULL);
    }
}
