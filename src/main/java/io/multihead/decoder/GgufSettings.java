package io.multihead.decoder;

import io.multihead.format.Gguf;
import io.multihead.format.GgufType;
import io.multihead.format.GgufValue;
import io.multihead.internal.base.Checks;
import io.multihead.internal.load.UnreadSettings;
import io.multihead.position.Rope;
import io.multihead.position.RopeScaling;
import io.multihead.tensor.Tensor;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;

/** The settings of a GGUF file, whose keys begin with the architecture's name. */
final class GgufSettings implements Settings {
    /** The name of the factors that divide rotary frequencies, as converters compute them for Llama 3.1 and later. */
    static final String ROPE_FACTORS = "rope_freqs.weight";

    /** The key of the number of layers that draft tokens. These layers follow the layers of the model. */
    static final String DRAFT_LAYERS = "nextn_predict_layers";

    private static final Map<String, String> KEYS = Map.ofEntries(
            Map.entry("hidden_size", "embedding_length"),
            Map.entry("num_hidden_layers", "block_count"),
            Map.entry("num_attention_heads", "attention.head_count"),
            Map.entry("num_key_value_heads", "attention.head_count_kv"),
            Map.entry("head_dim", "attention.key_length"),
            Map.entry("max_position_embeddings", "context_length"),
            Map.entry("rms_norm_eps", "attention.layer_norm_rms_epsilon"),
            Map.entry("rope_theta", "rope.freq_base"),
            Map.entry("rope_local_base_freq", "rope.freq_base_swa"),
            Map.entry("rotary_dims", "rope.dimension_count"),
            Map.entry("original_max_position_embeddings", "rope.scaling.original_context_length"),
            Map.entry("conv_L_cache", "shortconv.l_cache"),
            Map.entry("head_dim_swa", "attention.key_length_swa"),
            Map.entry("rotary_dims_swa", "rope.dimension_count_swa"),
            Map.entry("num_kv_shared_layers", "attention.shared_kv_layers"),
            Map.entry("hidden_size_per_layer_input", "embedding_length_per_layer_input"),
            Map.entry("linear_conv_kernel_dim", "ssm.conv_kernel"),
            Map.entry("linear_key_head_dim", "ssm.state_size"),
            Map.entry("linear_num_key_heads", "ssm.group_count"),
            Map.entry("linear_num_value_heads", "ssm.time_step_rank"),
            Map.entry("linear_value_width", "ssm.inner_size"),
            Map.entry("mamba_d_conv", "ssm.conv_kernel"),
            Map.entry("mamba_d_state", "ssm.state_size"),
            Map.entry("mamba_n_groups", "ssm.group_count"),
            Map.entry("mamba_n_heads", "ssm.time_step_rank"),
            Map.entry("mamba_width", "ssm.inner_size"),
            Map.entry("shared_intermediate_size", "expert_shared_feed_forward_length"),
            Map.entry("recurrent_layers", "attention.recurrent_layers"),
            Map.entry("full_attention_interval", "full_attention_interval"),
            Map.entry(DRAFTS, DRAFT_LAYERS),
            Map.entry("num_experts", "expert_count"),
            Map.entry("num_experts_per_tok", "expert_used_count"),
            Map.entry("attention_multiplier", "attention.scale"),
            Map.entry("embedding_multiplier", "embedding_scale"),
            Map.entry("residual_multiplier", "residual_scale"),
            Map.entry("logits_scaling", "logit_scale"),
            Map.entry("rope_finetuned", "rope.scaling.finetuned"),
            Map.entry("sliding_window", "attention.sliding_window"),
            Map.entry("sliding_window_pattern", "attention.sliding_window_pattern"),
            Map.entry("attn_logit_softcapping", "attn_logit_softcapping"),
            Map.entry("final_logit_softcapping", "final_logit_softcapping"));

    /** Settings that some architectures have, and the value of each setting that has no effect. */
    private static final Map<String, Object> NEUTRAL = Collections.unmodifiableMap(new TreeMap<>(Map.ofEntries(
            Map.entry("attention.causal", true),
            Map.entry("attention.clamp_kqv", 0),
            Map.entry("attention.max_alibi_bias", 0),
            Map.entry("attention.scale", 0),
            Map.entry("embedding_scale", 1),
            Map.entry("residual_scale", 1),
            Map.entry("logit_scale", 1),
            Map.entry("expert_count", 0),
            Map.entry("expert_used_count", 0),
            Map.entry("expert_group_count", 0),
            Map.entry("use_parallel_residual", false))));

    private static final Set<String> EXPERT_KEYS = Set.of("expert_count", "expert_used_count");

    private static final Set<String> FACTOR_KEYS =
            Set.of("attention.scale", "embedding_scale", "residual_scale", "logit_scale");

    private static final Set<String> GRANITE_KEYS = Set.of(
            "expert_count", "expert_used_count", "attention.scale", "embedding_scale", "residual_scale", "logit_scale");

    /** The settings of {@link #NEUTRAL} that the family of an architecture reads. */
    private static final Map<String, Set<String>> READ = Map.of(
            "qwen3moe", EXPERT_KEYS,
            "qwen35moe", EXPERT_KEYS,
            "gpt-oss", EXPERT_KEYS,
            "gemma4", EXPERT_KEYS,
            "granite", FACTOR_KEYS,
            "granitemoe", GRANITE_KEYS,
            "granitehybrid", GRANITE_KEYS);

    /**
     * Settings whose values the tensors also state, settings that are read elsewhere (pooling), and settings that llama.cpp's code reads
     * for no family here. Settings of windows are read if a family has windows.
     */
    private static final Set<String> WITHOUT_EFFECT = Set.of(
            "vocab_size",
            "feed_forward_length",
            "expert_feed_forward_length",
            "attention.value_length",
            "attention.key_length_swa",
            "attention.value_length_swa",
            "attention.layer_norm_epsilon",
            "embedding_length_out",
            "expert_group_used_count",
            "tensor_data_layout",
            "pooling_type",
            "classifier.output_labels");

    private static final Set<String> ROPE_KEYS = new TreeSet<>(Set.of(
            "dimension_count",
            "freq_base",
            "freq_base_swa",
            "scale_linear",
            "scaling.type",
            "scaling.factor",
            "scaling.original_context_length",
            "scaling.finetuned"));

    /** The names of LongRoPE's factors for contexts longer than in the original training, and for shorter contexts. */
    static final String LONG_FACTORS = "rope_factors_long.weight";

    static final String SHORT_FACTORS = "rope_factors_short.weight";

    private static final String ARCHITECTURE = "general.architecture";
    private static final String SCALING = ".rope.scaling.";
    private static final String ORIGINAL = "original_max_position_embeddings";
    private static final String ATTENTION_FACTOR = "scaling.attn_factor";
    private static final String SECTIONS = "dimension_sections";

    private final Gguf file;
    private final Object place;
    private final int tensors;
    private final String family;

    /** Reads a file that has all tensors of its model. */
    GgufSettings(Gguf file, Object place) {
        this(file, place, file.names().size());
    }

    /**
     * Reads a file.
     *
     * @param place the path of the file, for warnings
     * @param tensors the number of tensors of the model, which may be in other files
     */
    GgufSettings(Gguf file, Object place, int tensors) {
        this.file = file;
        this.place = place;
        this.tensors = tensors;
        family = file.string(ARCHITECTURE);
    }

    @Override
    public void requireKnown() {
        requireEqual("attention.value_length", "attention.key_length");
        String local = isGemma4() ? "attention.key_length_swa" : "attention.key_length";
        requireEqual("attention.key_length_swa", local);
        requireEqual("attention.value_length_swa", local);
        requireEqual("embedding_length_out", "embedding_length");
        Set<String> read = READ.getOrDefault(family, Set.of());
        NEUTRAL.forEach((key, neutral) -> {
            if (!read.contains(key)) {
                UnreadSettings.requireNeutral(file, family + "." + key, neutral);
            }
        });
        UnreadSettings.warn(
                file,
                place,
                family,
                name -> name.startsWith("rope.")
                        || KEYS.containsValue(name)
                        || NEUTRAL.containsKey(name)
                        || WITHOUT_EFFECT.contains(name));
    }

    /** Returns whether the model is Gemma 4, whose layers with a window have heads of another size. */
    private boolean isGemma4() {
        return family.equals("gemma4");
    }

    /** Fails unless a size is absent or equals the size of another key. */
    private void requireEqual(String key, String other) {
        OptionalLong size = file.findInteger(family + "." + key);
        if (size.isPresent() && size.getAsLong() != file.integer(family + "." + other)) {
            throw file.fail(family + "." + key, file.integer(family + "." + other) + ", as " + family + "." + other);
        }
    }

    /** Returns the key of a setting. For a setting that GGUF files do not have, returns a key that no file has. */
    private String key(String setting) {
        return setting.equals("model_type") ? ARCHITECTURE : family + "." + KEYS.getOrDefault(setting, setting);
    }

    @Override
    public String family() {
        return family;
    }

    @Override
    public boolean isGguf() {
        return true;
    }

    @Override
    public int tensors() {
        return tensors;
    }

    @Override
    public boolean has(String setting) {
        return file.find(key(setting)).isPresent();
    }

    @Override
    public int integer(String setting) {
        long value = file.integer(key(setting));
        if (value < 0 || value > MOST) {
            throw fail(setting, "0 to " + MOST);
        }
        return (int) value;
    }

    @Override
    public double number(String setting) {
        double value = file.real(key(setting));
        if (!Double.isFinite(value)) {
            throw fail(setting, "a finite number");
        }
        return value;
    }

    @Override
    public int window(String setting, int otherwise) {
        return has(setting) ? integer(setting) : 0;
    }

    @Override
    public boolean flag(String setting, boolean otherwise) {
        return file.findBool(key(setting)).orElse(otherwise);
    }

    @Override
    public @Nullable List<String> texts(String setting) {
        requireOneOf(setting);
        return null;
    }

    @Override
    public @Nullable List<Long> integers(String setting) {
        GgufValue value = file.find(key(setting)).orElse(null);
        if (value == null || value.type() != GgufType.ARRAY) {
            return null;
        }
        if (value.elementType() == GgufType.BOOL) {
            return value.values().stream().map(each -> each.bool() ? 1L : 0L).toList();
        }
        if (!value.elementType().isInteger()) {
            return null;
        }
        return Arrays.stream(value.integers()).boxed().toList();
    }

    @Override
    public boolean is(String setting, Object value) {
        return false;
    }

    @Override
    public void requireOneOf(String setting, Object... values) {
        if (has(setting)) {
            throw fail(setting, "none");
        }
    }

    @Override
    public boolean hasRope(String layers) {
        return false;
    }

    @Override
    public Rope rope(RopeRequest request) {
        double theta = above("rope_theta", 1, DEFAULT_THETA);
        int dims = integer("rotary_dims", request.headDim());
        if (dims < 2 || dims % 2 != 0 || dims > request.headDim()) {
            throw fail("rotary_dims", "an even number from 2 to the " + request.headDim() + " elements of a head");
        }
        return Rope.of(Rope.Config.of(dims)
                .withTheta(theta)
                .withPairing(request.gguf())
                .withScaling(scaling(request, theta, dims)));
    }

    private RopeScaling scaling(RopeRequest request, double theta, int rotaryDims) {
        boolean isLong = file.contains(LONG_FACTORS) || file.contains(SHORT_FACTORS);
        String type = file.findString(family + SCALING + "type").orElse(isLong ? "longrope" : "linear");
        requireKnownRope(isLong, request.ofText());
        if (isLong) {
            return longRope(type, request.context(), rotaryDims);
        }
        double factor = factor();
        boolean unscaled = type.equals("none") || factor == 1 && type.equals("linear");
        if (unscaled) {
            return file.contains(ROPE_FACTORS) ? divided(theta, rotaryDims) : RopeScaling.NONE;
        }
        if (file.contains(ROPE_FACTORS)) {
            throw file.fail(family + SCALING + "type", "none beside " + ROPE_FACTORS + ", as both scale positions");
        }
        return switch (type) {
            case "linear" -> new RopeScaling.Linear(factor);
            case "yarn" -> RopeScaling.Yarn.of(factor, original(request.context(), 1));
            default -> throw file.fail(family + SCALING + "type", "none, linear or yarn");
        };
    }

    /** Returns the factor of positions. As in llama.cpp, 0 means no factor. */
    private double factor() {
        String key = family + SCALING + "factor";
        String read = file.find(key).isPresent() ? key : family + ".rope.scale_linear";
        double factor = file.findReal(read).orElse(1);
        if (factor != 0 && !(factor >= 1 && factor < Double.POSITIVE_INFINITY)) {
            throw file.fail(read, "0, or a finite number of at least 1");
        }
        return factor == 0 ? 1 : factor;
    }

    /** Returns the context length of the original training, before the context was extended. */
    private int original(int context, int least) {
        int original = integer(ORIGINAL, context);
        if (original < least) {
            throw fail(ORIGINAL, "at least " + least);
        }
        return original;
    }

    /** Fails if a key would change rotary positions and is not supported. */
    private void requireKnownRope(boolean isLong, boolean ofText) {
        String begin = family + ".rope.";
        for (String key : file.keys()) {
            String end = key.startsWith(begin) ? key.substring(begin.length()) : "";
            boolean known = end.isEmpty()
                    || ROPE_KEYS.contains(end)
                    || isGemma4() && end.equals("dimension_count_swa")
                    || isLong && end.equals(ATTENTION_FACTOR)
                    || ofText && end.equals(SECTIONS);
            if (!known) {
                throw file.fail(key, "none but " + ROPE_KEYS);
            }
        }
    }

    private RopeScaling longRope(String type, int context, int rotaryDims) {
        if (!type.equals("longrope") || file.contains(ROPE_FACTORS)) {
            throw file.fail(family + SCALING + "type", "longrope beside " + LONG_FACTORS + ", and no " + ROPE_FACTORS);
        }
        int original = original(context, 2);
        RopeScaling.LongRope scaling = RopeScaling.LongRope.of(
                list(factors(SHORT_FACTORS, rotaryDims)), list(factors(LONG_FACTORS, rotaryDims)), original, context);
        String key = family + ".rope." + ATTENTION_FACTOR;
        OptionalDouble attention = file.findReal(key);
        if (attention.isPresent() && !(attention.getAsDouble() > 0 && Double.isFinite(attention.getAsDouble()))) {
            throw file.fail(key, "a finite number above 0");
        }
        return attention.isEmpty() ? scaling : scaling.withAttentionFactor(attention.getAsDouble());
    }

    private static List<Double> list(Tensor factors) {
        return LongStream.range(0, factors.dim(0)).mapToObj(factors::get).toList();
    }

    private Tensor factors(String name, int rotaryDims) {
        Tensor factors = file.tensor(name);
        if (factors.rank() != 1 || factors.dim(0) != rotaryDims / 2) {
            throw Checks.fail(name, "shape " + factors.shape(), "expected [" + rotaryDims / 2 + "]");
        }
        for (long i = 0; i < factors.dim(0); i++) {
            if (!(factors.get(i) > 0 && Double.isFinite(factors.get(i)))) {
                throw Checks.fail(
                        name + "[" + i + "]", String.valueOf(factors.get(i)), "expected a finite number above 0");
            }
        }
        return factors;
    }

    private RopeScaling divided(double theta, int rotaryDims) {
        Tensor factors = factors(ROPE_FACTORS, rotaryDims);
        double[] frequencies = new double[rotaryDims / 2];
        Arrays.setAll(frequencies, i -> StrictMath.pow(theta, -2.0 * i / rotaryDims) / factors.get(i));
        return RopeScaling.Frequencies.of(frequencies);
    }

    @Override
    public IllegalArgumentException fail(String setting, String expected) {
        return file.fail(key(setting), expected);
    }
}
