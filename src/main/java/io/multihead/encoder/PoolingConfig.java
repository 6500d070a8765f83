package io.multihead.encoder;

import io.multihead.internal.base.Checks;
import io.multihead.internal.base.JsonObject;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * What the configuration of a Pooling module says.
 *
 * @param modes whose vectors are put one after another
 * @param includesPrompt whether the tokens of a prompt count
 */
record PoolingConfig(List<Pooling> modes, boolean includesPrompt) {
    /** Where there is no such module. */
    static final PoolingConfig DEFAULT = new PoolingConfig(List.of(Pooling.MEAN), true);

    private static final String MODE = "pooling_mode";
    private static final String FLAG = "pooling_mode_";
    private static final String MEAN_FLAG = FLAG + "mean_tokens";
    private static final String INCLUDES_PROMPT = "include_prompt";

    /** By the names of version 5.4 of sentence-transformers and later. */
    private static final Map<String, Pooling> MODES = new LinkedHashMap<>();

    /** By the names of flags before, in the order of their vectors. */
    private static final Map<String, Pooling> FLAGS = new LinkedHashMap<>();

    static {
        put("cls", "cls_token", Pooling.CLS);
        put("max", "max_tokens", Pooling.MAX);
        put("mean", "mean_tokens", Pooling.MEAN);
        put("mean_sqrt_len_tokens", "mean_sqrt_len_tokens", Pooling.MEAN_SQRT_LEN);
        put("weightedmean", "weightedmean_tokens", Pooling.WEIGHTED_MEAN);
        put("lasttoken", "lasttoken", Pooling.LAST);
    }

    private static void put(String mode, String flag, Pooling pooling) {
        MODES.put(mode, pooling);
        FLAGS.put(flag, pooling);
    }

    static PoolingConfig of(JsonObject json) {
        List<Pooling> modes = json.has(MODE) ? named(json) : flagged(json);
        boolean includesPrompt = json.flag(INCLUDES_PROMPT, true);
        if (!includesPrompt && modes.contains(Pooling.CLS)) {
            // version 5.3 takes the first token, and 5.4 the first one after the prompt
            throw json.fail(INCLUDES_PROMPT, "true beside the first token, which versions read differently");
        }
        return new PoolingConfig(modes, includesPrompt);
    }

    private static List<Pooling> named(JsonObject json) {
        List<?> names = json.get(MODE) instanceof List<?> several ? several : List.of(json.text(MODE));
        List<Pooling> modes = new ArrayList<>();
        for (Object name : names) {
            Pooling mode = name instanceof String text ? MODES.get(text) : null;
            if (mode == null) {
                throw json.fail(MODE, "of " + MODES.keySet());
            }
            modes.add(mode);
        }
        if (modes.isEmpty()) {
            throw json.fail(MODE, "of " + MODES.keySet());
        }
        return List.copyOf(modes);
    }

    private static List<Pooling> flagged(JsonObject json) {
        List<String> chosen = json.names().stream()
                .map(String.class::cast)
                .filter(name -> name.startsWith(FLAG) && json.flag(name, false))
                .map(name -> name.substring(FLAG.length()))
                .toList();
        boolean known = FLAGS.keySet().containsAll(chosen);
        if (!json.names().contains(MEAN_FLAG)) {
            if (!chosen.isEmpty()) {
                // version 5.3 puts the mean after what is chosen, and 5.4 does not
                throw json.fail(
                        MEAN_FLAG, "true or false beside " + chosen + ", as versions read its absence differently");
            }
            return DEFAULT.modes;
        }
        if (!known || chosen.isEmpty()) {
            throw Checks.fail("pooling", String.valueOf(chosen), "expected one or more of " + FLAGS.keySet());
        }
        return FLAGS.entrySet().stream()
                .filter(flag -> chosen.contains(flag.getKey()))
                .map(Map.Entry::getValue)
                .toList();
    }
}
