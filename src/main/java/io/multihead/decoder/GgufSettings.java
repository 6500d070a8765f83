package io.multihead.decoder;

import io.multihead.format.Gguf;
import io.multihead.internal.base.Checks;
import io.multihead.position.Rope;
import io.multihead.position.RopeScaling;
import io.multihead.tensor.Tensor;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;

/** The settings of a GGUF file, whose keys begin with the architecture's name. */
final class GgufSettings implements Settings {
    /** Factors by which rotary frequencies are divided, as converters compute them for Llama 3.1 and later. */
    static final String ROPE_FACTORS = "rope_freqs.weight";

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
            Map.entry("sliding_window", "attention.sliding_window"),
            Map.entry("sliding_window_pattern", "attention.sliding_window_pattern"),
            Map.entry("attn_logit_softcapping", "attn_logit_softcapping"),
            Map.entry("final_logit_softcapping", "final_logit_softcapping"));

    private static final Set<String> ROPE_KEYS = new TreeSet<>(Set.of(
            "dimension_count",
            "freq_base",
            "freq_base_swa",
            "scale_linear",
            "scaling.type",
            "scaling.factor",
            "scaling.original_context_length",
            "scaling.finetuned"));

    /** Factors of LongRoPE for contexts beyond those of the first training, and within. */
    static final String LONG_FACTORS = "rope_factors_long.weight";

    static final String SHORT_FACTORS = "rope_factors_short.weight";

    private static final String SCALING = ".rope.scaling.";
    private static final String ATTENTION_FACTOR = "scaling.attn_factor";

    private final Gguf file;
    private final String family;

    GgufSettings(Gguf file) {
        this.file = file;
        family = file.string("general.architecture");
        long values = file.findInteger(family + ".attention.value_length").orElse(-1);
        if (values >= 0 && values != file.integer(family + ".attention.key_length")) {
            throw Checks.fail(
                    family + ".attention.value_length",
                    String.valueOf(values),
                    "expected the key_length, " + file.integer(family + ".attention.key_length"));
        }
    }

    /** Returns the key of a setting; of one that GGUF files do not have, one that none has. */
    private String key(String setting) {
        return family + "." + KEYS.getOrDefault(setting, setting);
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
    public boolean has(String setting) {
        return file.find(key(setting)).isPresent();
    }

    @Override
    public int integer(String setting) {
        long value = file.integer(key(setting));
        if (value != (int) value) {
            throw fail(setting, "at most " + Integer.MAX_VALUE);
        }
        return (int) value;
    }

    @Override
    public double number(String setting) {
        return file.real(key(setting));
    }

    @Override
    public boolean flag(String setting, boolean otherwise) {
        return file.findBool(key(setting)).orElse(otherwise);
    }

    @Override
    public @Nullable List<?> list(String setting) {
        if (has(setting)) {
            throw fail(setting, "none");
        }
        return null;
    }

    @Override
    public void requireOneOf(String setting, Object... values) {
        if (has(setting)) {
            throw fail(setting, "none");
        }
    }

    @Override
    public Rope rope(RopeRequest request) {
        double theta = number("rope_theta", request.theta());
        int dims = integer("rotary_dims", request.headDim());
        return Rope.of(Rope.Config.of(dims)
                .withTheta(theta)
                .withPairing(request.gguf())
                .withScaling(scaling(request, theta, dims)));
    }

    private RopeScaling scaling(RopeRequest request, double theta, int rotaryDims) {
        boolean isLong = file.contains(LONG_FACTORS) || file.contains(SHORT_FACTORS);
        String type = file.findString(family + SCALING + "type").orElse(isLong ? "longrope" : "linear");
        requireKnownRope(isLong);
        if (isLong) {
            return longRope(type, request.context(), rotaryDims);
        }
        double older = file.findReal(family + ".rope.scale_linear").orElse(1);
        double factor = file.findReal(family + SCALING + "factor").orElse(older);
        boolean unscaled = type.equals("none") || factor == 1 && type.equals("linear");
        if (unscaled) {
            return file.contains(ROPE_FACTORS) ? divided(theta, rotaryDims) : RopeScaling.NONE;
        }
        if (file.contains(ROPE_FACTORS)) {
            throw Checks.fail(
                    family + SCALING + "type",
                    type,
                    "expected none beside " + ROPE_FACTORS + ", as both scale positions");
        }
        return switch (type) {
            case "linear" -> new RopeScaling.Linear(factor);
            case "yarn" -> RopeScaling.Yarn.of(factor, file.integer(family + SCALING + "original_context_length"));
            default -> throw Checks.fail(family + SCALING + "type", type, "expected none, linear or yarn");
        };
    }

    /** Fails for a key that would change positions and is not read. */
    private void requireKnownRope(boolean isLong) {
        String begin = family + ".rope.";
        for (String key : file.keys()) {
            String end = key.startsWith(begin) ? key.substring(begin.length()) : "";
            boolean known = end.isEmpty() || ROPE_KEYS.contains(end) || isLong && end.equals(ATTENTION_FACTOR);
            if (!known) {
                throw Checks.fail(key, String.valueOf(file.value(key)), "expected none but " + ROPE_KEYS);
            }
        }
    }

    private RopeScaling longRope(String type, int context, int rotaryDims) {
        if (!type.equals("longrope") || file.contains(ROPE_FACTORS)) {
            throw Checks.fail(
                    family + SCALING + "type",
                    type,
                    "expected longrope beside " + LONG_FACTORS + ", and no " + ROPE_FACTORS);
        }
        int original = integer("original_max_position_embeddings", context);
        RopeScaling.LongRope scaling = RopeScaling.LongRope.of(
                list(factors(SHORT_FACTORS, rotaryDims)), list(factors(LONG_FACTORS, rotaryDims)), original, context);
        OptionalDouble attention = file.findReal(family + ".rope." + ATTENTION_FACTOR);
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
        return factors;
    }

    private RopeScaling divided(double theta, int rotaryDims) {
        Tensor factors = factors(ROPE_FACTORS, rotaryDims);
        double[] frequencies = new double[rotaryDims / 2];
        Arrays.setAll(frequencies, i -> Math.pow(theta, -2.0 * i / rotaryDims) / factors.get(i));
        return RopeScaling.Frequencies.of(frequencies);
    }

    @Override
    public IllegalArgumentException fail(String setting, String expected) {
        String value = file.find(key(setting)).map(String::valueOf).orElse("absent");
        return Checks.fail(key(setting), value, "expected " + expected);
    }
}
