package io.multihead.decoder;

import io.multihead.decoder.DecoderConfig.AttentionRule;
import io.multihead.decoder.DecoderConfig.Beside;
import io.multihead.decoder.DecoderConfig.Ends;
import io.multihead.decoder.DecoderConfig.ExpertRule;
import io.multihead.decoder.DecoderConfig.LayerRule;
import io.multihead.decoder.DecoderConfig.LinearRule;
import io.multihead.decoder.DecoderConfig.NormRule;
import io.multihead.decoder.DecoderConfig.Sizes;
import io.multihead.gemm.Activation;
import io.multihead.model.LinearHeads;
import io.multihead.position.Rope;
import io.multihead.position.Rope.Pairing;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/**
 * The language model of Qwen 3.5 (Qwen team 2026). Every fourth layer has gated attention, which rotates a quarter of each head. The other
 * layers have linear attention with the gated delta rule. Models with experts have them in all layers, with a shared expert that computes
 * all tokens.
 */
final class Qwen35Family implements Family {
    /** Defaults of settings that {@code config.json} omits. */
    private static final int HEAD_DIM = 256;

    private static final double ROTATED = 0.25;
    private static final int LINEAR_DIM = 128;
    private static final int LINEAR_KEY_HEADS = 16;
    private static final int LINEAR_VALUE_HEADS = 32;
    private static final int TAPS = 4;
    private static final int INTERVAL = 4;
    private static final int EXPERTS = 256;
    private static final int USED_EXPERTS = 8;

    private static final String LINEAR = "linear_attention";
    private static final String TYPES = "layer_types";
    private static final String KEY_DIM = "linear_key_head_dim";
    private static final String KEY_HEADS = "linear_num_key_heads";
    private static final String VALUE_HEADS = "linear_num_value_heads";
    private static final String CONVOLUTION = "linear_conv_kernel_dim";

    @Override
    public List<String> names() {
        return List.of("qwen35", "qwen3_5_text", "qwen35moe", "qwen3_5_moe_text");
    }

    @Override
    public Map<String, String> renamed() {
        return Map.of(
                "attn_qkv", "linear_attn.in_proj_qkv",
                "attn_gate", "linear_attn.in_proj_z",
                "ssm_beta", "linear_attn.in_proj_b",
                "ssm_alpha", "linear_attn.in_proj_a",
                "ssm_conv1d", "linear_attn.conv1d",
                "ssm_norm", "linear_attn.norm",
                "ssm_out", "linear_attn.out_proj");
    }

    @Override
    public DecoderConfig configure(Settings settings) {
        settings.requireOneOf("hidden_act", "silu", "swish");
        settings.requireOneOf("recurrent_layers");
        settings.requireOneOf("attn_output_gate", true);
        Sizes sizes = sizes(settings);
        Rope rope = settings.rope(
                Rules.request(sizes, Pairing.HALF_SPLIT).withPartial(ROTATED).withoutSections());
        DecoderConfig dense = new DecoderConfig(
                        settings.family(),
                        sizes,
                        new AttentionRule(
                                Rules.scale(sizes), settings.flag("attention_bias", false), true, 0, false, true),
                        new NormRule(Rules.epsilon(settings), !settings.isGguf(), false),
                        Rules.layers(sizes, layer -> new LayerRule(rope, 0)),
                        Activation.SILU,
                        Ends.plain(settings))
                .withRecurrent(linear(settings, sizes));
        return settings.family().contains("moe") ? dense.withExperts(experts(settings)) : dense;
    }

    private static ExpertRule experts(Settings settings) {
        return Rules.experts(settings, "num_experts", EXPERTS, USED_EXPERTS).with(Beside.GATED);
    }

    /** Returns the sizes without the layers that draft tokens. In GGUF files, these layers follow the layers of the model. */
    private static Sizes sizes(Settings settings) {
        Sizes all = Rules.sizes(settings, HEAD_DIM);
        int drafts = settings.integer(Settings.DRAFTS, 0);
        if (drafts >= all.layers()) {
            throw settings.fail(Settings.DRAFTS, "fewer than the " + all.layers() + " layers");
        }
        return new Sizes(
                all.layers() - drafts, all.dim(), all.heads(), all.keyValueHeads(), all.headDim(), all.context());
    }

    private static LinearRule linear(Settings settings, Sizes sizes) {
        boolean gguf = settings.isGguf();
        int keyHeads = Rules.sizeOrUsual(settings, KEY_HEADS, LINEAR_KEY_HEADS);
        int valueHeads = Rules.sizeOrUsual(settings, VALUE_HEADS, LINEAR_VALUE_HEADS);
        if (valueHeads % keyHeads != 0) {
            throw settings.fail(VALUE_HEADS, "a multiple of the " + keyHeads + " of " + KEY_HEADS);
        }
        int keyDim = Rules.sizeOrUsual(settings, KEY_DIM, LINEAR_DIM);
        int valueDim =
                gguf ? valueDim(settings, valueHeads) : Rules.size(settings, "linear_value_head_dim", LINEAR_DIM);
        long elements = 2L * keyHeads * keyDim + (long) valueHeads * valueDim;
        if (elements > Settings.MOST || (long) keyDim * valueDim > Settings.MOST / valueHeads) {
            throw settings.fail(KEY_DIM, "heads that have " + Settings.MOST + " elements together");
        }
        int taps = Rules.sizeOrUsual(settings, CONVOLUTION, TAPS);
        if (taps < 2) {
            throw settings.fail(CONVOLUTION, "at least 2");
        }
        return new LinearRule(
                new LinearHeads(keyHeads, valueHeads, keyDim, valueDim, gguf), taps, layers(settings, sizes));
    }

    private static int valueDim(Settings settings, int valueHeads) {
        int width = Rules.size(settings, "linear_value_width");
        if (width % valueHeads != 0) {
            throw settings.fail("linear_value_width", "a multiple of the " + valueHeads + " heads of values");
        }
        return width / valueHeads;
    }

    private static List<Integer> layers(Settings settings, Sizes sizes) {
        int interval = Rules.size(settings, "full_attention_interval", INTERVAL);
        return settings.texts(TYPES) != null
                ? Rules.layersOf(settings, TYPES, sizes, LINEAR, Rules.FULL)
                : IntStream.range(0, sizes.layers())
                        .filter(layer -> (layer + 1) % interval != 0)
                        .boxed()
                        .toList();
    }
}
