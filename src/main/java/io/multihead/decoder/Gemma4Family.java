package io.multihead.decoder;

import io.multihead.decoder.DecoderConfig.AttentionRule;
import io.multihead.decoder.DecoderConfig.Beside;
import io.multihead.decoder.DecoderConfig.Ends;
import io.multihead.decoder.DecoderConfig.ExpertRule;
import io.multihead.decoder.DecoderConfig.Head;
import io.multihead.decoder.DecoderConfig.Heads;
import io.multihead.decoder.DecoderConfig.LayerRule;
import io.multihead.decoder.DecoderConfig.NormRule;
import io.multihead.decoder.DecoderConfig.Sizes;
import io.multihead.decoder.DecoderConfig.Values;
import io.multihead.decoder.Settings.RopeRequest;
import io.multihead.gemm.Activation;
import io.multihead.internal.load.RopeSettings;
import io.multihead.position.Rope;
import io.multihead.position.Rope.Pairing;
import io.multihead.position.RopeScaling;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Gemma 4, text only (Google 2026). It is Gemma 3 with these differences. Layers without a window have larger heads, of which a quarter is
 * rotated. Values are normalized; in the larger models, the values are the keys before their norm. The result of each layer is multiplied
 * by a factor. In the small models, E2B and E4B, the last layers read the keys of the last earlier layer of their kind, and each layer has
 * separate embeddings. 26B-A4B has experts in addition to the feed-forward layer. Weights of norms are stored unchanged.
 */
final class Gemma4Family implements Family {
    private static final String KEY_HEADS = "num_key_value_heads";
    private static final String PATTERN = "sliding_window_pattern";
    private static final String SHARED = "num_kv_shared_layers";
    private static final String EXPERTS = "num_experts";
    private static final String KEYS_AS_VALUES = "attention_k_eq_v";

    private static final int MOST_DIM = 1 << 16;

    // the defaults of a config.json
    private static final int LOCAL_DIM = 256;
    private static final int GLOBAL_DIM = 512;
    private static final int INTERVAL = 6;
    private static final int WINDOW = 512;
    private static final int LAYER_INPUTS = 256;
    private static final double LOCAL_THETA = 10_000;
    private static final double GLOBAL_THETA = 1_000_000;
    private static final double ROTATED = 0.25;

    @Override
    public List<String> names() {
        return List.of("gemma4", "gemma4_text");
    }

    @Override
    public Map<String, String> renamed() {
        return Map.ofEntries(
                Map.entry("per_layer_token_embd.weight", "embed_tokens_per_layer.weight"),
                Map.entry("per_layer_model_proj.weight", "per_layer_model_projection.weight"),
                Map.entry("per_layer_proj_norm.weight", "per_layer_projection_norm.weight"),
                Map.entry("inp_gate", "per_layer_input_gate"),
                Map.entry("proj", "per_layer_projection"),
                Map.entry("post_norm", "post_per_layer_input_norm"),
                Map.entry("post_attention_norm", "post_attention_layernorm"),
                Map.entry("ffn_norm", "pre_feedforward_layernorm"),
                Map.entry("post_ffw_norm", "post_feedforward_layernorm"),
                Map.entry("post_ffw_norm_1", "post_feedforward_layernorm_1"),
                Map.entry("post_ffw_norm_2", "post_feedforward_layernorm_2"),
                Map.entry("pre_ffw_norm_2", "pre_feedforward_layernorm_2"),
                Map.entry("ffn_gate_inp", "router.proj"),
                Map.entry("ffn_gate_inp.scale", "router.scale"),
                Map.entry("ffn_down_exps.scale", "router.per_expert_scale"),
                Map.entry("ffn_gate_up_exps", "experts.gate_up_proj"),
                Map.entry("ffn_down_exps", "experts.down_proj"));
    }

    @Override
    public DecoderConfig configure(Settings settings) {
        settings.requireOneOf("text_config");
        settings.requireOneOf("hidden_activation", "gelu_pytorch_tanh");
        if (settings.has(RopeSettings.PARAMETERS)
                && !(settings.hasRope(Rules.FULL) && settings.hasRope(Rules.SLIDING))) {
            throw settings.fail(RopeSettings.PARAMETERS, "those of " + Rules.FULL + " and of " + Rules.SLIDING);
        }
        List<Long> keyHeads = settings.isGguf() ? settings.integers(KEY_HEADS) : null;
        Sizes sizes = keyHeads == null ? Rules.sizes(settings, LOCAL_DIM) : Rules.sizes(settings, LOCAL_DIM, 1);
        List<Boolean> global = global(settings, sizes);
        List<Heads> heads = heads(settings, sizes, keyHeads, global);
        Rope globalRope =
                globalRope(settings, sizes, heads.get(global.indexOf(true)).headDim());
        Rope localRope = localRope(settings, sizes, localDim(settings, sizes));
        int window = Rules.sizeOrUsual(settings, "sliding_window", WINDOW);
        int own = sizes.layers() - settings.integer(SHARED, 0);
        if (own < 1 || own > sizes.layers()) {
            throw settings.fail(SHARED, "0 to " + (sizes.layers() - 1));
        }
        int inputs = settings.isGguf()
                ? settings.integer("hidden_size_per_layer_input")
                : settings.integer("hidden_size_per_layer_input", LAYER_INPUTS);
        DecoderConfig dense = new DecoderConfig(
                        settings.family(),
                        sizes,
                        new AttentionRule(1, settings.flag("attention_bias", false), true, 0),
                        new NormRule(Rules.epsilon(settings), false, true),
                        Rules.layers(sizes, layer -> {
                            int keysOf = layer < own ? -1 : keysOf(settings, global, own, layer);
                            Rope rope = global.get(layer) ? globalRope : localRope;
                            return LayerRule.of(rope, global.get(layer) ? 0 : window, heads.get(layer), keysOf);
                        }),
                        Activation.GELU_TANH,
                        new Ends(
                                (float) Math.sqrt(sizes.dim()),
                                settings.notNegative("final_logit_softcapping", 0),
                                Head.of(settings, true)))
                .withLayerInputs(inputs);
        boolean hasExperts =
                settings.isGguf() ? settings.integer(EXPERTS, 0) > 0 : settings.flag("enable_moe_block", false);
        return hasExperts ? dense.withExperts(experts(settings)) : dense;
    }

    private static ExpertRule experts(Settings settings) {
        String used = settings.isGguf() ? "num_experts_per_tok" : "top_k_experts";
        return Rules.experts(settings, EXPERTS, used).with(Beside.BRANCH);
    }

    /** Returns the last layer that has keys and is of the same kind as a layer without keys. */
    private static int keysOf(Settings settings, List<Boolean> global, int own, int layer) {
        int keys = global.subList(0, own).lastIndexOf(global.get(layer));
        if (keys < 0) {
            throw settings.fail(SHARED, "fewer, as layer " + layer + " has no layer of its kind to share keys with");
        }
        return keys;
    }

    private static List<Boolean> global(Settings settings, Sizes sizes) {
        List<Long> local = settings.isGguf() ? settings.integers(PATTERN) : null;
        List<String> types = settings.isGguf() ? null : Rules.layerTypes(settings, sizes);
        if (settings.isGguf() && (local == null || local.size() != sizes.layers())) {
            throw settings.fail(PATTERN, "true or false for each of " + sizes.layers() + " layers");
        }
        List<Boolean> global = IntStream.range(0, sizes.layers())
                .mapToObj(layer -> local != null
                        ? local.get(layer) == 0
                        : layer == sizes.layers() - 1
                                || (types == null
                                        ? (layer + 1) % INTERVAL == 0
                                        : types.get(layer).equals(Rules.FULL)))
                .toList();
        if (!global.contains(true)) {
            throw settings.fail(PATTERN, "one layer without a window at least");
        }
        return global;
    }

    private static int localDim(Settings settings, Sizes sizes) {
        return settings.isGguf()
                ? headDim(settings, sizes, "head_dim_swa", 0)
                : headDim(settings, sizes, "head_dim", LOCAL_DIM);
    }

    /** Reads the number of elements of a head. It must be even, because elements are rotated in pairs. */
    private static int headDim(Settings settings, Sizes sizes, String key, int otherwise) {
        int dim = otherwise == 0 ? settings.integer(key) : settings.integer(key, otherwise);
        int most = Math.min(MOST_DIM, Settings.MOST / sizes.heads());
        if (dim < 2 || dim % 2 != 0 || dim > most) {
            throw settings.fail(key, "an even number from 2 to " + most);
        }
        return dim;
    }

    private static List<Heads> heads(
            Settings settings, Sizes sizes, @Nullable List<Long> keyHeads, List<Boolean> global) {
        int globalDim = settings.isGguf()
                ? headDim(settings, sizes, "head_dim", 0)
                : headDim(settings, sizes, "global_head_dim", GLOBAL_DIM);
        int localDim = localDim(settings, sizes);
        boolean keysAreValues = settings.flag(KEYS_AS_VALUES, false);
        String globalHeads = "num_global_key_value_heads";
        int globalKeys =
                keysAreValues ? Rules.size(settings, globalHeads, sizes.keyValueHeads()) : sizes.keyValueHeads();
        Values ofGlobal = settings.isGguf() ? Values.ANY : keysAreValues ? Values.KEYS : Values.OWN;
        Values ofLocal = settings.isGguf() ? Values.ANY : Values.OWN;
        List<Long> each = keyHeads == null
                ? global.stream()
                        .map(isGlobal -> (long) (isGlobal ? globalKeys : sizes.keyValueHeads()))
                        .toList()
                : keyHeads;
        if (each.size() != sizes.layers()
                || each.stream().anyMatch(count -> count < 1 || count > sizes.heads() || sizes.heads() % count != 0)) {
            throw settings.fail(
                    keyHeads == null ? globalHeads : KEY_HEADS,
                    "divisors of the " + sizes.heads() + " heads, for each of the layers");
        }
        return IntStream.range(0, sizes.layers())
                .mapToObj(layer -> new Heads(
                        global.get(layer) ? globalDim : localDim,
                        each.get(layer).intValue(),
                        global.get(layer) ? ofGlobal : ofLocal))
                .toList();
    }

    private static Rope globalRope(Settings settings, Sizes sizes, int headDim) {
        RopeRequest request = RopeRequest.of(headDim, sizes.context(), Pairing.HALF_SPLIT)
                .withTheta(GLOBAL_THETA)
                .withLayers(Rules.FULL);
        if (settings.isGguf() || settings.hasRope(Rules.FULL)) {
            return settings.rope(request);
        }
        return Rope.of(
                Rope.Config.of(headDim).withTheta(GLOBAL_THETA).withScaling(new RopeScaling.Proportional(ROTATED, 1)));
    }

    private static Rope localRope(Settings settings, Sizes sizes, int headDim) {
        if (!settings.isGguf() && settings.hasRope(Rules.SLIDING)) {
            return settings.rope(RopeRequest.of(headDim, sizes.context(), Pairing.HALF_SPLIT)
                    .withTheta(LOCAL_THETA)
                    .withLayers(Rules.SLIDING));
        }
        int rotated = settings.integer("rotary_dims_swa", headDim);
        if (rotated < 2 || rotated % 2 != 0 || rotated > headDim) {
            throw settings.fail("rotary_dims_swa", "an even number from 2 to " + headDim);
        }
        return Rope.of(Rope.Config.of(rotated).withTheta(settings.above("rope_local_base_freq", 1, LOCAL_THETA)));
    }
}
