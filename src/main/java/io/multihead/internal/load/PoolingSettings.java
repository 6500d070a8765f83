package io.multihead.internal.load;

import io.multihead.internal.base.Checks;
import io.multihead.internal.base.JsonObject;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The configuration of a Pooling module of sentence-transformers.
 *
 * @param modes the pooling modes by their names in version 5.4, whose vectors are concatenated; at least one
 * @param includesPrompt whether the tokens of a prompt are included
 */
public record PoolingSettings(List<String> modes, boolean includesPrompt) {
    /** The first token. */
    public static final String CLS = "cls";
    /** The mean of all tokens. */
    public static final String MEAN = "mean";

    public static final String LAST = "lasttoken";

    private static final String MODE = "pooling_mode";
    private static final String FLAG = "pooling_mode_";
    private static final String MEAN_FLAG = FLAG + "mean_tokens";
    private static final String INCLUDES_PROMPT = "include_prompt";

    /** Names in version 5.4 and later, by the names of the earlier flags, in the order of their vectors. */
    private static final Map<String, String> FLAGS = new LinkedHashMap<>();

    static {
        FLAGS.put("cls_token", CLS);
        FLAGS.put("max_tokens", "max");
        FLAGS.put("mean_tokens", MEAN);
        FLAGS.put("mean_sqrt_len_tokens", "mean_sqrt_len_tokens");
        FLAGS.put("weightedmean_tokens", "weightedmean");
        FLAGS.put("lasttoken", LAST);
    }

    /** Reads the module's {@code config.json}. */
    static PoolingSettings of(JsonObject json) {
        List<String> modes = json.has(MODE) ? named(json) : flagged(json);
        boolean includesPrompt = json.flag(INCLUDES_PROMPT, true);
        if (!includesPrompt && modes.contains(CLS)) {
            // version 5.3 takes the first token, and 5.4 takes the first token after the prompt
            throw json.fail(INCLUDES_PROMPT, "true with the first token, since versions of the library differ");
        }
        return new PoolingSettings(modes, includesPrompt);
    }

    private static List<String> named(JsonObject json) {
        List<?> names = json.get(MODE) instanceof List<?> several ? several : List.of(json.text(MODE));
        if (names.isEmpty() || !FLAGS.values().containsAll(names)) {
            throw json.fail(MODE, "of " + FLAGS.values());
        }
        return names.stream().map(String.class::cast).toList();
    }

    private static List<String> flagged(JsonObject json) {
        List<String> chosen = json.names().stream()
                .map(String.class::cast)
                .filter(name -> name.startsWith(FLAG) && json.flag(name, false))
                .map(name -> name.substring(FLAG.length()))
                .toList();
        if (!json.names().contains(MEAN_FLAG)) {
            if (!chosen.isEmpty()) {
                // version 5.3 puts the mean after the chosen modes, and 5.4 does not
                throw json.fail(MEAN_FLAG, "true or false with " + chosen + ", since versions of the library differ");
            }
            return List.of(MEAN);
        }
        if (chosen.isEmpty() || !FLAGS.keySet().containsAll(chosen)) {
            throw Checks.fail("pooling", String.valueOf(chosen), "expected one or more of " + FLAGS.keySet());
        }
        return FLAGS.entrySet().stream()
                .filter(flag -> chosen.contains(flag.getKey()))
                .map(Map.Entry::getValue)
                .toList();
    }
}
