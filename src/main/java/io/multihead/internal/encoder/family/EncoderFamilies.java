package io.multihead.internal.encoder.family;

import io.multihead.internal.base.JsonObject;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Function;

/** The families of encoders, by the {@code model_type} of their {@code config.json}. */
public final class EncoderFamilies {
    private static final Map<String, Function<JsonObject, EncoderConfig>> ALL = new LinkedHashMap<>();

    static {
        BertConfig.TYPES.forEach(type -> ALL.put(type, BertConfig::of));
        ALL.put(ModernBertConfig.TYPE, ModernBertConfig::of);
        ALL.put(NomicBertConfig.TYPE, NomicBertConfig::of);
    }

    private EncoderFamilies() {}

    /** Reads {@code config.json}; a setting that would change results and is not implemented is an error that names it. */
    public static EncoderConfig configure(JsonObject config) {
        Function<JsonObject, EncoderConfig> family = ALL.get(config.text("model_type"));
        if (family == null) {
            throw config.fail("model_type", "one of " + ALL.keySet() + "; LanguageModel.load reads language models");
        }
        return family.apply(config);
    }

    /** Returns whether {@code config.json} names a class of transformers with this suffix. */
    public static boolean isArchitecture(JsonObject config, String end) {
        return config.has("architectures")
                && config.array("architectures").stream()
                        .anyMatch(name -> name instanceof String text && text.endsWith(end));
    }
}
