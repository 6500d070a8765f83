package io.multihead.internal.load;

import io.multihead.internal.base.Checks;
import io.multihead.internal.base.JsonObject;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Settings of low-rank adapters in PEFT's {@code adapter_config.json} (Hu et al. 2022, "LoRA").
 *
 * @param rank rows of A, unless a pattern sets another number
 * @param alpha the factor of B A times the rank, unless a pattern sets another number
 * @param rankStabilized whether alpha is the factor times the root of the rank instead (Kalajdzievski 2023, "rsLoRA")
 * @param ranks the ranks of modules, by the ends of the modules' names
 * @param alphas the alphas of modules, by the ends of the modules' names
 * @param saved last parts of the names of modules that are saved as a whole and replace the model's own
 */
public record PeftSettings(
        int rank,
        double alpha,
        boolean rankStabilized,
        Map<String, Integer> ranks,
        Map<String, Double> alphas,
        List<String> saved) {
    /** The name of the file with the settings. */
    public static final String CONFIG = "adapter_config.json";

    /** The name of the file with the adapters. */
    public static final String WEIGHTS = "adapter_model.safetensors";

    /** The prefix of names of adapters. */
    public static final String PREFIX = "base_model.model.";

    /** The suffix of names of A. */
    public static final String A = ".lora_A.weight";

    /** The suffix of names of B. */
    public static final String B = ".lora_B.weight";

    /** The largest rank. */
    public static final int MOST = 1 << 20;

    /** Settings that would change results, with the values that adapters have here. */
    public static final Map<String, Object> EXPECTED = Collections.unmodifiableMap(new TreeMap<>(Map.of(
            "peft_type", "LORA",
            "bias", "none",
            "fan_in_fan_out", false,
            "use_dora", false,
            "lora_bias", false,
            "use_qalora", false)));

    /** The settings of {@link #EXPECTED} that only recent versions of PEFT know. */
    public static final Set<String> LATER = Set.of("lora_bias", "use_qalora");

    /** Settings that are lists or objects, which must be empty. */
    private static final List<String> EMPTY =
            List.of("layer_replication", "trainable_token_indices", "target_parameters", "alora_invocation_tokens");

    /** Initializations of adapters that do not change the model's own weights. */
    private static final Set<Object> DRAWN = Set.of(true, false, "gaussian", "eva", "orthogonal");

    /** Fails unless a folder has the files of an adapter; a message lists its files. */
    public static void requireFiles(Path folder) throws IOException {
        Checks.folderWith(folder, List.of(CONFIG), "an adapter of PEFT, with " + CONFIG + " and " + WEIGHTS);
        Checks.folderWith(folder, List.of(WEIGHTS), "an adapter of PEFT in safetensors; adapter_model.bin is not read");
    }

    /** Reads the settings; settings that would change results are refused with an error that names them. */
    public static PeftSettings read(JsonObject json) {
        json.text("peft_type");
        json.require("peft_type", "LORA");
        EXPECTED.forEach(json::require); // sorted: an error names the same setting in every JVM
        for (String setting : EMPTY) {
            if (!isEmpty(json.get(setting))) {
                throw json.fail(setting, "none");
            }
        }
        Object drawn = json.get("init_lora_weights");
        if (drawn != null && !DRAWN.contains(drawn)) {
            throw json.fail("init_lora_weights", "true, false, gaussian, eva or orthogonal");
        }
        Map<String, Integer> ranks = new LinkedHashMap<>();
        Map<String, Double> alphas = new LinkedHashMap<>();
        pattern(json, "rank_pattern").forEach((name, object) -> ranks.put(name, object.integer(name, 1, MOST)));
        pattern(json, "alpha_pattern").forEach((name, object) -> alphas.put(name, object.number(name)));
        return new PeftSettings(
                json.integer("r", 1, MOST),
                json.number("lora_alpha"),
                json.flag("use_rslora", false),
                Collections.unmodifiableMap(ranks), // in the order of the file: the first match counts, as in PEFT
                Collections.unmodifiableMap(alphas),
                isEmpty(json.get("modules_to_save")) ? List.of() : json.strings("modules_to_save"));
    }

    private static boolean isEmpty(@Nullable Object value) {
        return value == null
                || value instanceof List<?> list && list.isEmpty()
                || value instanceof Map<?, ?> map && map.isEmpty();
    }

    /** Returns a pattern's object by each of its keys. The keys must be names, although PEFT also accepts regular expressions. */
    private static Map<String, JsonObject> pattern(JsonObject json, String setting) {
        Map<String, JsonObject> byName = new LinkedHashMap<>();
        if (json.has(setting)) {
            JsonObject object = json.object(setting);
            for (Object name : object.names()) {
                if (!((String) name).matches("[A-Za-z0-9_.]+")) {
                    throw json.fail(setting, "names of modules");
                }
                byName.put((String) name, object);
            }
        }
        return byName;
    }

    /** Returns whether a weight, with a name without the prefix of adapters, belongs to a module that is saved as a whole. */
    boolean isSaved(String weight) {
        return saved.stream().anyMatch(module -> ("." + weight).contains("." + module + "."));
    }

    public int rankOf(String module) {
        return of(ranks, module, rank);
    }

    double alphaOf(String module) {
        return of(alphas, module, alpha);
    }

    /** Returns the factor of B A of a module. */
    public double scaleOf(String module) {
        int own = rankOf(module);
        return alphaOf(module) / (rankStabilized ? Math.sqrt(own) : own);
    }

    private static <T> T of(Map<String, T> pattern, String module, T otherwise) {
        for (Map.Entry<String, T> entry : pattern.entrySet()) {
            if (module.equals(entry.getKey()) || module.endsWith("." + entry.getKey())) {
                return entry.getValue();
            }
        }
        return otherwise;
    }
}
