package io.multihead.decoder;

import io.multihead.format.Gguf;
import io.multihead.internal.base.Checks;
import io.multihead.internal.base.FileMemory;
import io.multihead.internal.base.Json;
import io.multihead.internal.base.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * How a model's file makes vectors of texts: the modules of sentence-transformers in a folder, {@code pooling_type} in a GGUF file.
 *
 * @param pooling how states become a vector; null where the file says that they do not
 * @param normalised whether vectors have length 1
 * @param mostTokens of a text, as the folder says; 0 where it does not
 * @param prompts by name
 * @param prompt the one that is put before each text unless a program says otherwise
 */
record EmbedderSettings(
        @Nullable Pooling pooling, boolean normalised, int mostTokens, Map<String, String> prompts, String prompt) {
    /** Of files that say nothing: the state of the last token, as most decoders are trained. */
    static final EmbedderSettings DEFAULT = new EmbedderSettings(Pooling.LAST, true, 0, Map.of(), "");

    private static final String MODULES = "modules.json";
    private static final String FLAG = "pooling_mode_";
    private static final int MOST = 1 << 24;

    /** Arguments of the configuration and the tokenizer, by their names in versions 2 to 5. */
    private static final List<String> ARGUMENTS =
            List.of("config_args", "config_kwargs", "tokenizer_args", "processor_kwargs", "processing_kwargs");

    /** Pooling by the names of sentence-transformers 5.4 and later, and by those of flags before. */
    private static final Map<String, Pooling> NAMES = Map.of(
            "cls", Pooling.CLS,
            "cls_token", Pooling.CLS,
            "mean", Pooling.MEAN,
            "mean_tokens", Pooling.MEAN,
            "lasttoken", Pooling.LAST);

    /** Reads a GGUF file, whose vectors are normalised as llama.cpp's are. */
    static EmbedderSettings of(Gguf file, String architecture) {
        String key = architecture + ".pooling_type";
        OptionalLong type = file.findInteger(key);
        if (type.isEmpty()) {
            return DEFAULT;
        }
        return DEFAULT.with(
                switch (Math.clamp(type.getAsLong(), -1, MOST)) {
                    case 0 -> null;
                    case 1 -> Pooling.MEAN;
                    case 2 -> Pooling.CLS;
                    case 3 -> Pooling.LAST;
                    default -> throw file.fail(key, "0 (none), 1 (mean), 2 (cls) or 3 (last)");
                });
    }

    EmbedderSettings with(@Nullable Pooling newPooling) {
        return new EmbedderSettings(newPooling, normalised, mostTokens, prompts, prompt);
    }

    EmbedderSettings withNormalised(boolean newNormalised) {
        return new EmbedderSettings(pooling, newNormalised, mostTokens, prompts, prompt);
    }

    EmbedderSettings withPrompt(String newPrompt) {
        return new EmbedderSettings(pooling, normalised, mostTokens, prompts, newPrompt);
    }

    /** Reads the modules of a folder; without {@value #MODULES}, sentence-transformers reads none of its other files either. */
    static EmbedderSettings of(Path folder) throws IOException {
        Path modules = folder.resolve(MODULES);
        if (!Files.exists(modules)) {
            return DEFAULT;
        }
        List<JsonObject> list = Checks.in(
                modules,
                () -> requireOrder(Json.array("modules", FileMemory.bytes(modules)).stream()
                        .map(module -> JsonObject.of("modules", module))
                        .toList()));
        Path pool = Checks.in(modules, () -> within(folder, list.get(1)).resolve("config.json"));
        Pooling pooling = read(pool, EmbedderSettings::pooling, Pooling.MEAN);
        int tokens = read(folder.resolve("sentence_bert_config.json"), EmbedderSettings::mostTokens, 0);
        EmbedderSettings plain = new EmbedderSettings(pooling, list.size() == 3, tokens, Map.of(), "");
        return read(folder.resolve("config_sentence_transformers.json"), plain::framework, plain);
    }

    /** Reads a file that may be missing; its path begins messages. */
    private static <T> T read(Path file, Function<JsonObject, T> reader, T otherwise) throws IOException {
        if (!Files.exists(file)) {
            return otherwise;
        }
        String name = String.valueOf(file.getFileName()).replaceFirst("\\.json$", "");
        return Checks.in(file, () -> reader.apply(new JsonObject(name, Json.object(name, FileMemory.bytes(file)))));
    }

    /** Fails unless there are a Transformer, in the folder itself, a Pooling, and perhaps a Normalize module. */
    private static List<JsonObject> requireOrder(List<JsonObject> list) {
        List<String> classes = List.of("Transformer", "Pooling", "Normalize");
        for (int i = 0; i < list.size(); i++) {
            String type = list.get(i).text("type");
            String expected = i < classes.size() ? classes.get(i) : "";
            if (!type.startsWith("sentence_transformers.") || !type.endsWith("." + expected)) {
                throw list.get(i)
                        .fail("type", "a Transformer, a Pooling, and perhaps a Normalize module beside a decoder");
            }
        }
        if (list.size() < 2) {
            throw Checks.fail("modules", list.size() + " modules", "expected a Transformer and a Pooling module");
        }
        list.get(0).require("path", "");
        return list;
    }

    /** Returns a module's folder, which is one in the model's: a file must not choose which other files are read. */
    private static Path within(Path folder, JsonObject module) {
        String name = module.text("path");
        if (!name.matches("[\\w.-]+") || name.startsWith("..")) {
            throw module.fail("path", "a folder within the model's");
        }
        return folder.resolve(name);
    }

    private static Pooling pooling(JsonObject config) {
        List<String> chosen = chosen(config);
        Pooling pooling = chosen.size() == 1 ? NAMES.get(chosen.getFirst()) : null;
        if (pooling == null) {
            throw Checks.fail(
                    config.name() + ".pooling_mode",
                    chosen.toString(),
                    "expected one of cls, mean and lasttoken beside a decoder");
        }
        if (pooling != Pooling.LAST) {
            config.require("include_prompt", true);
        }
        return pooling;
    }

    private static List<String> chosen(JsonObject config) {
        String mode = "pooling_mode";
        if (config.has(mode)) {
            return config.get(mode) instanceof List<?> ? config.strings(mode) : List.of(config.text(mode));
        }
        boolean isDefault = !config.names().contains(FLAG + "mean_tokens");
        List<String> flags = config.names().stream()
                .map(String.class::cast)
                .filter(name -> name.startsWith(FLAG) && config.flag(name, false))
                .map(name -> name.substring(FLAG.length()))
                .toList();
        return isDefault && flags.isEmpty() ? List.of("mean") : flags;
    }

    private static int mostTokens(JsonObject settings) {
        settings.require("do_lower_case", false);
        for (String arguments : ARGUMENTS) {
            if (settings.has(arguments) && !settings.object(arguments).names().isEmpty()) {
                throw settings.fail(arguments, "none");
            }
        }
        return settings.integer("max_seq_length", 1, MOST, 0);
    }

    private EmbedderSettings framework(JsonObject settings) {
        settings.require("model_type", "SentenceTransformer");
        settings.require("truncate_dim", null);
        Map<String, String> named =
                settings.has("prompts") ? settings.object("prompts").texts() : Map.of();
        String name = settings.find("default_prompt_name");
        if (name != null && !named.containsKey(name)) {
            throw settings.fail("default_prompt_name", "one of " + named.keySet());
        }
        String chosen = name == null ? "" : named.getOrDefault(name, "");
        return new EmbedderSettings(pooling, normalised, mostTokens, Map.copyOf(named), chosen);
    }
}
