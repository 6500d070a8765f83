package io.multihead.decoder;

import io.multihead.internal.base.JsonObject;
import io.multihead.position.Rope;
import io.multihead.position.RopeConfigReader;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The settings of a {@code config.json}. Where transformers 5 writes them, those of rotary positions are in {@code rope_parameters}.
 */
final class JsonSettings implements Settings {
    private static final int MOST = 1 << 24;
    private static final String ROPE = "rope_parameters";
    private static final String THETA = "rope_theta";
    private static final String PARTIAL = "partial_rotary_factor";
    private static final String ORIGINAL = "original_max_position_embeddings";

    private final JsonObject config;

    JsonSettings(JsonObject config) {
        this.config = config;
        if (config.has("quantization_config")) {
            throw config.fail("quantization_config", "none");
        }
    }

    @Override
    public String family() {
        return config.text("model_type");
    }

    @Override
    public boolean isGguf() {
        return false;
    }

    /** Returns the object that has a setting. */
    private JsonObject owner(String key) {
        boolean moved = (key.equals(THETA) || key.equals(PARTIAL)) && config.has(ROPE);
        return moved && config.object(ROPE).has(key) ? config.object(ROPE) : config;
    }

    @Override
    public boolean has(String key) {
        return owner(key).has(key);
    }

    @Override
    public int integer(String key) {
        return config.integer(key, 0, MOST);
    }

    @Override
    public double number(String key) {
        return owner(key).number(key);
    }

    @Override
    public boolean flag(String key, boolean otherwise) {
        return config.flag(key, otherwise);
    }

    @Override
    public @Nullable List<?> list(String key) {
        return config.has(key) ? config.array(key) : null;
    }

    @Override
    public void requireOneOf(String key, Object... values) {
        if (config.has(key) && !Arrays.asList(values).contains(config.get(key))) {
            throw config.fail(key, values.length == 0 ? "none" : Arrays.toString(values));
        }
    }

    @Override
    public Rope rope(RopeRequest request) {
        RopeConfigReader reader = RopeConfigReader.of(
                        request.headDim(), number(THETA, request.theta()), request.context())
                .withPartialRotaryFactor(number(PARTIAL, 1));
        if (config.has(ORIGINAL)) {
            reader = reader.withOriginalMaxPositions(config.integer(ORIGINAL, 1, MOST));
        }
        String key = config.has(ROPE) ? ROPE : "rope_scaling";
        try {
            if (!config.has(key)) {
                return reader.read(null, Rope.Pairing.HALF_SPLIT);
            }
            return reader.read(config.object(key).members(), Rope.Pairing.HALF_SPLIT);
        } catch (IllegalArgumentException wrong) {
            throw new IllegalArgumentException(config.name() + "." + key + "." + wrong.getMessage(), wrong);
        }
    }

    @Override
    public IllegalArgumentException fail(String key, String expected) {
        return config.fail(key, expected);
    }
}
