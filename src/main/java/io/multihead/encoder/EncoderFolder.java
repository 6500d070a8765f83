package io.multihead.encoder;

import io.multihead.internal.base.Checks;
import io.multihead.internal.base.JsonObject;
import io.multihead.internal.load.Loading;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Reads folders that sentence-transformers wrote. */
final class EncoderFolder {
    /** Packages differ between versions of the library, from {@code sentence_transformers.models} on; the classes do not. */
    private static final String MODULE = "sentence_transformers.";

    /** Which modules there may be, in this order. */
    private static final String MODULES =
            "a Transformer, a Pooling, perhaps Dense and then a Normalize module, or a StaticEmbedding in place of the first two";

    /** Arguments of the configuration and the tokenizer, by their names in versions 2 to 5. */
    private static final List<String> ARGUMENTS =
            List.of("config_args", "config_kwargs", "tokenizer_args", "processor_kwargs", "processing_kwargs");

    /** sentence-transformers ignores it in files, and so runs no code of a folder. */
    private static final Set<String> HARMLESS = Set.of("trust_remote_code");

    /** The names that the transformer's own settings have had; the first file with members counts. */
    private static final List<String> SETTINGS = Stream.of(
                    "bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet")
            .map(model -> "sentence_" + model + "_config.json")
            .toList();

    /**
     * The contents of {@code modules.json}: the folder of the transformer, or of the table of static embeddings, how tokens are pooled, the
     * folders of dense layers, and whether vectors are normalised. Without that file, sentence-transformers reads none of its other files
     * either.
     */
    private record Modules(
            boolean exist,
            Path tokens,
            PoolingConfig pooling,
            boolean isStatic,
            List<Path> dense,
            Normalization normalization) {}

    /** The modules by their folders: a transformer and its pooling, or a table. */
    private record Paths(
            Path tokens,
            @Nullable Path pooling,
            List<Path> dense,
            @Nullable Path normalize) {}

    /** What {@code config_sentence_transformers.json} says: prompts by name, the one that is used by default, and elements of a vector. */
    private record Framework(Map<String, String> prompts, String prompt, int dimension) {
        static final Framework NONE = new Framework(Map.of(), "", EncoderOptions.WHOLE);
    }

    /** What a transformer's states are for, by what its settings say then. */
    enum Task {
        /** The vectors of tokens. */
        EMBEDDING("feature-extraction", "token_embeddings", "last_hidden_state"),
        /** The logits of a masked language model. */
        FILL_MASK("fill-mask", "token_embeddings", "logits"),
        /** A number for each label of a text or of a pair. */
        CLASSIFICATION("sequence-classification", "scores", "logits");

        private final String task;
        private final String module;
        private final String method;

        Task(String task, String module, String method) {
            this.task = task;
            this.module = module;
            this.method = method;
        }
    }

    private EncoderFolder() {}

    /** Reads all files of a folder, and maps the weights. */
    static LoadedEncoder load(Loading loading, Path folder) throws IOException {
        SettingsFile.requireModel(folder, "; SentenceEncoder.map reads files that were written");
        Modules modules = modules(folder);
        Path frameworkFile = folder.resolve("config_sentence_transformers.json");
        Framework framework = modules.exist && Files.exists(frameworkFile)
                ? SettingsFile.read(frameworkFile, EncoderFolder::framework)
                : Framework.NONE;
        if (modules.isStatic) {
            EncoderCore core = StaticTable.load(loading, modules.tokens);
            return loaded(core, core.tokenizer.truncation().orElse(core.model.config.positions()), modules, framework);
        }
        Path files = modules.tokens;
        EncoderConfig config = SettingsFile.read(files.resolve("config.json"), EncoderFamilies::configure);
        int maxTokens = maxTokens(files, modules.exist, Task.EMBEDDING, config);
        return loaded(Checkpoint.load(loading, files, config, 0), maxTokens, modules, framework);
    }

    private static LoadedEncoder loaded(EncoderCore core, int maxTokens, Modules modules, Framework framework)
            throws IOException {
        int pooled = modules.pooling.modes().size() * core.model.config.dim();
        return core.orClose(() -> new LoadedEncoder(
                core,
                DenseLayers.load(core.loading, modules.dense, pooled),
                new EncoderOptions(
                        modules.pooling,
                        modules.normalization,
                        framework.dimension,
                        maxTokens,
                        LongTexts.TRUNCATE,
                        framework.prompt),
                framework.prompts,
                framework.prompt,
                TokenizerFiles.map(core, modules.tokens)));
    }

    private static Modules modules(Path folder) throws IOException {
        if (!Files.exists(folder.resolve("modules.json"))) {
            SettingsFile.read(folder.resolve("config.json"), EncoderFolder::requireOwn);
            System.getLogger("io.multihead")
                    .log(
                            System.Logger.Level.WARNING,
                            folder + ": no modules.json; pooling is the mean, without normalisation and prompts");
            return new Modules(false, folder, PoolingConfig.DEFAULT, false, List.of(), Normalization.NONE);
        }
        Paths paths = SettingsFile.modules(folder, list -> paths(folder, list));
        Path pool = paths.pooling;
        PoolingConfig pooling = pool == null
                ? PoolingConfig.DEFAULT
                : SettingsFile.read(pool.resolve("config.json"), PoolingConfig::of);
        Path normalize = paths.normalize;
        if (normalize != null && Files.exists(normalize.resolve("config.json"))) {
            SettingsFile.read(normalize.resolve("config.json"), EncoderFolder::requireVectors);
        }
        Normalization normalization = normalize == null ? Normalization.NONE : Normalization.WHOLE;
        return new Modules(true, paths.tokens, pooling, pool == null, paths.dense, normalization);
    }

    /** Fails if the model of a folder without {@code modules.json} is not one for vectors of texts: its head would not count. */
    private static JsonObject requireOwn(JsonObject config) {
        if (EncoderFamilies.isArchitecture(config, "ForSequenceClassification")) {
            throw config.fail("architectures", "an encoder, or a Reranker for this folder");
        }
        if (EncoderFamilies.isArchitecture(config, "ColBERT")) {
            throw config.fail("architectures", "an encoder, or a TokenEncoder for this folder");
        }
        return config;
    }

    /** A Normalize module may be told to work on the vectors of tokens instead. */
    private static JsonObject requireVectors(JsonObject normalize) {
        normalize.require("module_input_name", "sentence_embedding");
        normalize.require("module_output_name", "sentence_embedding");
        return normalize;
    }

    private static Paths paths(Path folder, List<JsonObject> list) {
        Path tokens = null;
        Path pooling = null;
        boolean makesVectors = false;
        List<Path> dense = new ArrayList<>();
        Path normalize = null;
        for (JsonObject module : list) {
            Path path = within(folder, module);
            String type = module.text("type");
            if (is(type, "Transformer") && tokens == null) {
                tokens = path;
            } else if (is(type, "StaticEmbedding") && tokens == null) {
                tokens = path;
                makesVectors = true;
            } else if (is(type, "Pooling") && tokens != null && !makesVectors) {
                pooling = path;
                makesVectors = true;
            } else if (is(type, "Dense") && makesVectors && normalize == null) {
                dense.add(path);
            } else if (is(type, "Normalize") && makesVectors && normalize == null) {
                normalize = path;
            } else {
                throw module.fail("type", MODULES);
            }
        }
        if (tokens == null || !makesVectors) {
            throw Checks.fail(
                    "modules",
                    list.size() + " modules",
                    "expected a Transformer and a Pooling module, or a StaticEmbedding module");
        }
        return new Paths(tokens, pooling, dense, normalize);
    }

    /** Returns whether a module's type is a class of this name. */
    static boolean is(String type, String name) {
        return type.startsWith(MODULE) && type.endsWith("." + name);
    }

    /** Returns the folder of a module that must be a class of this name. */
    static Path require(Path folder, JsonObject module, String name) {
        if (!is(module.text("type"), name)) {
            throw module.fail("type", "a " + name + " module");
        }
        return within(folder, module);
    }

    /** Returns a module's folder, which is the model's or one in it: a file must not choose which other files are read. */
    static Path within(Path folder, JsonObject module) {
        String name = module.text("path");
        try {
            Path path = folder.getFileSystem().getPath(name).normalize();
            if (!path.isAbsolute() && !path.startsWith("..")) {
                return folder.resolve(path);
            }
        } catch (InvalidPathException malformed) {
            // falls through to the message for paths that leave the folder
        }
        throw module.fail("path", "a path within the model's folder");
    }

    /** Returns the length that the folder names, or else the tokenizer's, which is at most the positions that the model has. */
    static int maxTokens(Path transformer, boolean modular, Task task, EncoderConfig config) throws IOException {
        Path tokenizer = transformer.resolve("tokenizer_config.json");
        OptionalInt tokenizerLength = Files.exists(tokenizer)
                ? OptionalInt.of(SettingsFile.read(tokenizer, tokens -> tokenizerLength(tokens, config)))
                : OptionalInt.empty();
        OptionalInt named = modular ? namedLength(transformer, task, config) : OptionalInt.empty();
        return named.orElse(tokenizerLength.orElse(config.positions()));
    }

    private static OptionalInt namedLength(Path folder, Task task, EncoderConfig config) throws IOException {
        for (String name : SETTINGS) {
            Path file = folder.resolve(name);
            if (Files.exists(file)) {
                JsonObject settings = SettingsFile.read(file, Function.identity());
                if (!settings.names().isEmpty()) {
                    return Checks.in(file, () -> namedLength(settings, task, config));
                }
            }
        }
        return OptionalInt.empty();
    }

    private static OptionalInt namedLength(JsonObject settings, Task task, EncoderConfig config) {
        requirePlainTexts(settings, task);
        return settings.has("max_seq_length")
                ? OptionalInt.of(settings.integer("max_seq_length", 3, config.positions()))
                : OptionalInt.empty();
    }

    /** Fails if texts become other tokens, or tokens other vectors, than the tokenizer's and the model's last states. */
    private static void requirePlainTexts(JsonObject sentence, Task task) {
        sentence.require("do_lower_case", false);
        sentence.require("transformer_task", task.task);
        sentence.require("module_output_name", task.module);
        if (sentence.has("modality_config")) {
            JsonObject text = sentence.object("modality_config").object("text");
            text.require("method", "forward");
            text.require("method_output_name", task.method);
        }
        for (String member : List.of("query_length", "document_length", "query_expansion", "tokenizer_name_or_path")) {
            if (sentence.has(member)) {
                throw sentence.fail(member, "null: all texts are read alike, by the folder's tokenizer");
            }
        }
        for (String member : ARGUMENTS) {
            if (sentence.has(member)
                    && !HARMLESS.containsAll(sentence.object(member).names())) {
                throw sentence.fail(member, "none");
            }
        }
    }

    /** Returns {@code model_max_length}, for which a number of 31 digits stands where there is no limit, or the model's positions. */
    private static int tokenizerLength(JsonObject tokenizer, EncoderConfig config) {
        tokenizer.require("truncation_side", "right");
        tokenizer.require("padding_side", "right"); // positions would depend on the other texts of a batch
        // the older name counts only where the newer one is absent, as in transformers
        String member = tokenizer.names().contains("model_max_length") ? "model_max_length" : "max_len";
        if (!tokenizer.has(member) || tokenizer.number(member) >= config.positions()) {
            return config.positions();
        }
        return tokenizer.integer(member, 3, config.positions());
    }

    private static Framework framework(JsonObject config) {
        config.require("model_type", "SentenceTransformer");
        Map<String, String> prompts =
                config.has("prompts") ? config.object("prompts").texts() : Map.of();
        String name = config.find("default_prompt_name");
        if (name != null && !prompts.containsKey(name)) {
            throw config.fail("default_prompt_name", "one of " + prompts.keySet());
        }
        return new Framework(
                Map.copyOf(prompts),
                name == null ? "" : prompts.getOrDefault(name, ""),
                config.integer("truncate_dim", 1, Integer.MAX_VALUE, EncoderOptions.WHOLE));
    }
}
