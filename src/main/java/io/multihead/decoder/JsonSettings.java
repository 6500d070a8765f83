package io.multihead.decoder;

import io.multihead.internal.base.JsonObject;
import io.multihead.internal.load.RopeSettings;
import io.multihead.position.Rope;
import io.multihead.position.RopeConfigReader;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The settings of a {@code config.json}. If transformers 5 wrote the file, the settings of rotary positions are in {@code rope_parameters}.
 * Families with several types of layers have separate settings there under the name of each type.
 */
final class JsonSettings implements Settings {
    private static final String QUANTIZATION = "quantization_config";
    private static final String METHOD = "quant_method";
    private static final String THETA = "rope_theta";
    private static final String PARTIAL = "partial_rotary_factor";
    private static final String ORIGINAL = "original_max_position_embeddings";

    private static final Set<String> SECTIONS = Set.of("mrope_section", "mrope_interleaved");

    /** Multimodal families, of which only the language model is computed. */
    private static final Set<String> WITH_IMAGES = Set.of("qwen3_5", "qwen3_5_moe", "gemma4");

    private static final String TEXT = "text_config";

    private final JsonObject config;
    private final int tensors;

    JsonSettings(JsonObject config, int tensors) {
        this.config = config;
        this.tensors = tensors;
    }

    /** Returns the settings of a folder's language model, which multimodal models have in a separate dictionary. */
    static JsonSettings of(JsonObject config, int tensors) {
        if (!WITH_IMAGES.contains(config.text("model_type"))) {
            return new JsonSettings(config, tensors);
        }
        Map<String, @Nullable Object> members = new HashMap<>(config.members());
        members.remove(TEXT);
        members.putAll(config.object(TEXT).members());
        return new JsonSettings(new JsonObject(config.name() + "." + TEXT, members), tensors);
    }

    @Override
    public void requireKnown() {
        boolean isMxFp4 = family().equals("gpt_oss") && config.has(QUANTIZATION);
        if (isMxFp4) {
            JsonObject quantized = config.object(QUANTIZATION);
            if (!quantized.has(METHOD) || !quantized.text(METHOD).equals("mxfp4")) {
                throw quantized.fail(METHOD, "mxfp4");
            }
        } else {
            requireOneOf(QUANTIZATION);
        }
        requireOneOf("is_causal", true);
        // the value vision concerns only tokens of images
        Object ofImages = family().startsWith("gemma4") ? "vision" : false;
        requireOneOf("use_bidirectional_attention", false, ofImages);
        requireOneOf("bidirectional_attention", false);
    }

    @Override
    public String family() {
        return config.text("model_type");
    }

    @Override
    public boolean isGguf() {
        return false;
    }

    @Override
    public int tensors() {
        return tensors;
    }

    @Override
    public boolean has(String key) {
        return config.has(key);
    }

    @Override
    public int integer(String key) {
        return config.integer(key, 0, MOST);
    }

    @Override
    public double number(String key) {
        return config.number(key);
    }

    @Override
    public int window(String key, int otherwise) {
        boolean isNull = config.names().contains(key) && !config.has(key);
        return isNull ? 0 : config.integer(key, 1, MOST, otherwise);
    }

    @Override
    public boolean flag(String key, boolean otherwise) {
        return config.flag(key, otherwise);
    }

    @Override
    public @Nullable List<String> texts(String key) {
        return config.has(key) ? config.strings(key) : null;
    }

    @Override
    public @Nullable List<Long> integers(String key) {
        return config.has(key) ? config.integers(key) : null;
    }

    @Override
    public boolean is(String key, Object value) {
        return config.has(key) && value.equals(config.get(key));
    }

    @Override
    public void requireOneOf(String key, Object... values) {
        if (config.has(key) && !Arrays.asList(values).contains(config.get(key))) {
            throw config.fail(key, values.length == 0 ? "none" : Arrays.toString(values));
        }
    }

    @Override
    public boolean hasRope(String layers) {
        return config.has(RopeSettings.PARAMETERS)
                && config.object(RopeSettings.PARAMETERS).has(layers);
    }

    @Override
    public Rope rope(RopeRequest request) {
        JsonObject dictionary = RopeSettings.dictionary(config);
        if (hasRope(request.layers())) {
            dictionary = config.object(RopeSettings.PARAMETERS).object(request.layers());
        }
        double theta = above(THETA, 1, request.theta());
        double partial = above(PARTIAL, 0, request.partial());
        if (partial > 1) {
            throw fail(PARTIAL, "at most 1");
        }
        int rotated = (int) (request.headDim() * partial);
        if (rotated < 2 || rotated % 2 != 0) {
            throw fail("head_dim", "a size of which an even number of elements is rotated, not " + rotated);
        }
        RopeConfigReader reader =
                RopeConfigReader.of(request.headDim(), theta, request.context()).withPartialRotaryFactor(partial);
        int original = config.integer(ORIGINAL, 1, MOST, request.original());
        if (original > 0) {
            reader = reader.withOriginalMaxPositions(original);
        }
        try {
            return reader.read(dictionary == null ? null : members(dictionary, request), Rope.Pairing.HALF_SPLIT);
        } catch (IllegalArgumentException wrong) {
            String name = dictionary == null ? config.name() + "." + RopeSettings.name(config) : dictionary.name();
            throw new IllegalArgumentException(name + "." + wrong.getMessage(), wrong);
        }
    }

    private static Map<String, @Nullable Object> members(JsonObject dictionary, RopeRequest request) {
        Map<String, @Nullable Object> members = new HashMap<>(dictionary.members());
        if (request.ofText()) {
            members.keySet().removeAll(SECTIONS);
        }
        return members;
    }

    @Override
    public IllegalArgumentException fail(String key, String expected) {
        return config.fail(key, expected);
    }
}
