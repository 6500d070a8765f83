package io.multihead.cache;

import io.multihead.cache.KeyValueCache.Config;
import io.multihead.internal.base.Checks;
import io.multihead.internal.base.Json;
import io.multihead.internal.base.JsonWriter;
import io.multihead.position.Rope;
import io.multihead.position.RopeScaling;
import io.multihead.position.RopeSections;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The rotary embeddings of a cache as a session file describes them: one entry if all layers have the same embedding, otherwise one entry
 * per layer. The names of fields and scalings are part of the format, so they are written here and not taken from the classes.
 */
final class SessionRopes {
    private static final String FIELD = "ropes";
    private static final String LAYERS = "layers";

    private SessionRopes() {}

    /** Returns the embeddings as JSON: {@code {"layers": [...]}}, null for none. */
    static String write(Config config) {
        List<@Nullable Object> layers = new ArrayList<>();
        for (int layer = 0; layer < config.layers(); layer++) {
            Rope rope = config.rope(layer);
            layers.add(rope == null ? null : fields(rope));
        }
        return JsonWriter.write(FIELD, Map.of(LAYERS, oneOrAll(layers)));
    }

    /**
     * Fails unless a file describes the embeddings of the cache, in JSON or in the form of version 1. Values of JSON are compared, so
     * spaces and the form of a number have no effect.
     */
    static void require(String actual, Config config, boolean isVersionOne) {
        if (isVersionOne) {
            String expected = versionOne(config);
            if (!expected.equals(actual)) {
                throw unlike(FIELD, actual, expected);
            }
            return;
        }
        String written = write(config);
        Map<String, @Nullable Object> file = parsed(actual);
        Map<String, @Nullable Object> cache = parsed(written);
        if (file.equals(cache)) {
            return;
        }
        // a long message is truncated, so it begins with the first layer that differs
        if (file.get(LAYERS) instanceof List<?> of
                && cache.get(LAYERS) instanceof List<?> as
                && of.size() == as.size()) {
            for (int layer = 0; layer < of.size(); layer++) {
                if (!Objects.equals(of.get(layer), as.get(layer))) {
                    String field = of.size() == 1 ? FIELD : FIELD + " of layer " + layer;
                    throw unlike(field, String.valueOf(of.get(layer)), String.valueOf(as.get(layer)));
                }
            }
        }
        throw unlike(FIELD, actual, written);
    }

    private static IllegalArgumentException unlike(String field, String actual, String expected) {
        return Checks.fail(field, actual, "expected " + expected + ", as the cache has");
    }

    private static Map<String, @Nullable Object> parsed(String json) {
        return Json.object(FIELD, json.getBytes(StandardCharsets.UTF_8));
    }

    private static <T extends @Nullable Object> List<T> oneOrAll(List<T> layers) {
        return layers.stream().distinct().count() == 1 ? layers.subList(0, 1) : layers;
    }

    private static Map<String, Object> fields(Rope rope) {
        Rope.Config config = config(rope);
        Map<String, Object> fields = new LinkedHashMap<>();
        fields.put("rotaryDims", config.rotaryDims());
        fields.put("theta", config.theta());
        fields.put("pairing", pairing(config));
        Map<String, Object> scaling = new LinkedHashMap<>();
        scaling.put("type", type(config.scaling()));
        scaling.putAll(numbers(config.scaling()));
        fields.put("scaling", scaling);
        RopeSections sections = rope.sections();
        if (sections != null) {
            fields.put("sections", sections.toString());
        }
        return fields;
    }

    private static Rope.Config config(Rope rope) {
        if (!rope.hasConfig()) {
            throw Checks.fail(
                    "cache", "rotates by " + rope, "expected embeddings made of frequencies, which a file can name");
        }
        return rope.config();
    }

    private static String pairing(Rope.Config config) {
        return switch (config.pairing()) {
            case HALF_SPLIT -> "HALF_SPLIT";
            case INTERLEAVED -> "INTERLEAVED";
        };
    }

    private static String type(RopeScaling scaling) {
        return switch (scaling) {
            case RopeScaling.None none -> "None";
            case RopeScaling.Linear linear -> "Linear";
            case RopeScaling.NtkAware ntk -> "NtkAware";
            case RopeScaling.Yarn yarn -> "Yarn";
            case RopeScaling.Llama3 llama -> "Llama3";
            case RopeScaling.LongRope longRope -> "LongRope";
            case RopeScaling.Frequencies frequencies -> "Frequencies";
            case RopeScaling.Proportional proportional -> "Proportional";
        };
    }

    /** Returns the numbers of a scaling, in the order of version 1. */
    static Map<String, Object> numbers(RopeScaling scaling) {
        Map<String, Object> numbers = new LinkedHashMap<>();
        switch (scaling) {
            case RopeScaling.None none -> {}
            case RopeScaling.Linear linear -> numbers.put("factor", linear.factor());
            case RopeScaling.NtkAware ntk -> numbers.put("factor", ntk.factor());
            case RopeScaling.Yarn yarn -> {
                numbers.put("factor", yarn.factor());
                numbers.put("originalContext", yarn.originalContext());
                numbers.put("betaFast", yarn.betaFast());
                numbers.put("betaSlow", yarn.betaSlow());
                numbers.put("attentionFactor", yarn.attentionFactor());
                numbers.put("truncate", yarn.truncate());
            }
            case RopeScaling.Llama3 llama -> {
                numbers.put("factor", llama.factor());
                numbers.put("lowFrequencyFactor", llama.lowFrequencyFactor());
                numbers.put("highFrequencyFactor", llama.highFrequencyFactor());
                numbers.put("originalContext", llama.originalContext());
            }
            case RopeScaling.LongRope longRope -> {
                numbers.put("shortFactors", longRope.shortFactors());
                numbers.put("longFactors", longRope.longFactors());
                numbers.put("originalContext", longRope.originalContext());
                numbers.put("context", longRope.context());
                numbers.put("attentionFactor", longRope.attentionFactor());
            }
            case RopeScaling.Frequencies frequencies -> {
                numbers.put("perPosition", frequencies.perPosition());
                numbers.put("attentionFactor", frequencies.attentionFactor());
            }
            case RopeScaling.Proportional proportional -> {
                numbers.put("fraction", proportional.fraction());
                numbers.put("factor", proportional.factor());
            }
        }
        return numbers;
    }

    /** Returns the embeddings in the form of version 1, in which every ramp of YaRN is truncated. */
    private static String versionOne(Config config) {
        List<String> layers = new ArrayList<>();
        for (int layer = 0; layer < config.layers(); layer++) {
            Rope rope = config.rope(layer);
            layers.add(rope == null ? "none" : versionOne(rope));
        }
        return String.join(" ", oneOrAll(layers));
    }

    private static String versionOne(Rope rope) {
        Rope.Config config = config(rope);
        Map<String, Object> numbers = numbers(config.scaling());
        numbers.remove("truncate", true);
        String scaling = numbers.entrySet().stream()
                .map(number -> number.getKey() + "=" + number.getValue())
                .collect(Collectors.joining(", ", type(config.scaling()) + "[", "]"));
        String text = "Config[rotaryDims=" + config.rotaryDims() + ", theta=" + config.theta() + ", pairing="
                + pairing(config) + ", scaling=" + scaling + "]";
        return rope.sections() == null ? text : text + ", " + rope.sections();
    }
}
