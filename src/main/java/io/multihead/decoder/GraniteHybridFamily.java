package io.multihead.decoder;

import io.multihead.decoder.DecoderConfig.Beside;
import io.multihead.decoder.DecoderConfig.ExpertRule;
import io.multihead.decoder.DecoderConfig.MambaRule;
import io.multihead.decoder.DecoderConfig.Sizes;
import io.multihead.model.Mamba2Heads;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/**
 * Granite 4 (IBM 2025). Most layers have Mamba-2, and the other layers have attention without positions. The models have the factors of
 * {@link GraniteFamily}. Layers of larger models have experts, and a network that computes each token in addition; layers of smaller models
 * have only this network. Folders of models without Mamba-2 are of this family, too.
 */
final class GraniteHybridFamily implements Family {
    /** Defaults of settings that {@code config.json} omits. */
    private static final int EXPERTS = 8;

    private static final int USED_EXPERTS = 2;
    private static final int HEADS = 128;
    private static final int STATE = 256;
    private static final int TAPS = 4;
    private static final int EXPANSION = 2;

    private static final String MAMBA = "mamba";
    private static final String COUNT = "num_local_experts";
    private static final String TAP_COUNT = "mamba_d_conv";
    private static final String GROUPS = "mamba_n_groups";
    private static final String STATE_DIM = "mamba_d_state";
    private static final String HEAD_COUNT = "mamba_n_heads";
    private static final String WIDTH = "mamba_width";
    private static final String EXPAND = "mamba_expand";
    private static final String POSITIONS = "position_embedding_type";
    private static final List<String> TYPES = List.of("layer_types", "layers_block_type");

    @Override
    public List<String> names() {
        return List.of("granitehybrid", "granitemoehybrid");
    }

    @Override
    public Map<String, String> renamed() {
        return Map.ofEntries(
                Map.entry("ffn_gate_inp", "block_sparse_moe.router.layer"),
                Map.entry("ffn_gate_up_exps", "block_sparse_moe.input_linear.weight"),
                Map.entry("ffn_down_exps", "block_sparse_moe.output_linear.weight"),
                Map.entry("ffn_gate_up_shexp", "shared_mlp.input_linear"),
                Map.entry("ffn_down_shexp", "shared_mlp.output_linear"),
                Map.entry("ffn_gate_up", "shared_mlp.input_linear"),
                Map.entry("ffn_down", "shared_mlp.output_linear"),
                Map.entry("ssm_in", "mamba.in_proj"),
                Map.entry("ssm_conv1d", "mamba.conv1d"),
                Map.entry("ssm_dt", "mamba.dt"),
                Map.entry("ssm_a_log", "mamba.A_log"),
                Map.entry("ssm_d", "mamba.D"),
                Map.entry("ssm_norm", "mamba.norm"),
                Map.entry("ssm_out", "mamba.out_proj"));
    }

    @Override
    public DecoderConfig configure(Settings settings) {
        settings.requireOneOf(POSITIONS, "nope", "rope");
        settings.requireOneOf("time_step_limit", List.of(0.0, Map.of("__float__", "Infinity")));
        Rules.LayerHeads heads = Rules.layerHeads(settings);
        Sizes sizes = heads == null ? Rules.sizes(settings) : Rules.sizes(settings, 0, heads.keyValueHeads());
        // in GGUF files, the setting is a flag for rotary positions
        boolean rotates = settings.isGguf() ? settings.flag("rope_finetuned", true) : settings.is(POSITIONS, "rope");
        DecoderConfig dense = GraniteFamily.of(settings, sizes, rotates);
        List<Integer> layers =
                heads != null ? heads.without() : settings.isGguf() ? List.of() : layers(settings, sizes);
        DecoderConfig hybrid = layers.isEmpty() ? dense : dense.withRecurrent(mamba(settings, sizes, layers));
        boolean isMixed =
                settings.integer(settings.isGguf() ? "num_experts" : COUNT, settings.isGguf() ? 0 : EXPERTS) > 0;
        return isMixed ? hybrid.withExperts(experts(settings)) : hybrid;
    }

    private static List<Integer> layers(Settings settings, Sizes sizes) {
        for (String key : TYPES) {
            if (settings.texts(key) != null) {
                return Rules.layersOf(settings, key, sizes, MAMBA, "attention");
            }
        }
        return IntStream.range(0, sizes.layers()).boxed().toList();
    }

    private static MambaRule mamba(Settings settings, Sizes sizes, List<Integer> layers) {
        boolean gguf = settings.isGguf();
        int taps = Rules.sizeOrUsual(settings, TAP_COUNT, TAPS);
        if (taps < 2) {
            throw settings.fail(TAP_COUNT, "at least 2");
        }
        int heads = Rules.sizeOrUsual(settings, HEAD_COUNT, HEADS);
        int groups = Rules.sizeOrUsual(settings, GROUPS, 1);
        int stateDim = Rules.sizeOrUsual(settings, STATE_DIM, STATE);
        long width = gguf ? Rules.size(settings, WIDTH) : (long) Rules.size(settings, EXPAND, EXPANSION) * sizes.dim();
        if (heads % groups != 0 || width % heads != 0) {
            throw settings.fail(HEAD_COUNT, "a multiple of " + groups + " groups, and a divisor of " + width);
        }
        if (width > Settings.MOST || (long) groups * stateDim > Settings.MOST || width * stateDim > Settings.MOST) {
            throw settings.fail(STATE_DIM, "states that have " + Settings.MOST + " elements together");
        }
        settings.requireOneOf("mamba_d_head", "auto", width / heads);
        Mamba2Heads all = new Mamba2Heads(heads, (int) (width / heads), groups, stateDim);
        // in GGUF files, the results of each group have a separate norm
        return new MambaRule(all, taps, gguf ? groups : 1, layers);
    }

    private static ExpertRule experts(Settings settings) {
        return settings.isGguf()
                ? GraniteFamily.experts(settings)
                : Rules.experts(settings, COUNT, EXPERTS, USED_EXPERTS).with(Beside.NETWORK);
    }
}
