package io.multihead.encoder;

import io.multihead.internal.base.Checks;
import io.multihead.internal.base.JsonObject;
import io.multihead.internal.load.Loading;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

/** Reads folders of sparse encoders: those of sentence-transformers, with a {@code modules.json}, and masked language models of transformers. */
final class SparseFolder {
    private static final String FRAMEWORK = "config_sentence_transformers.json";
    private static final String SETTINGS = "sentence_bert_config.json";
    private static final Map<String, SparseActivation> ACTIVATIONS =
            Map.of("relu", SparseActivation.RELU, "log1p_relu", SparseActivation.LOG1P_RELU);

    /** What a folder has. */
    record Loaded(EncoderCore core, MaskedHead head, SparseActivation activation, int maxTokens) {}

    /** The transformer's folder, whether its settings must say what it is for, and the pooling's. */
    private record Modules(Path transformer, boolean mustBeNamed, Path pooling) {}

    private SparseFolder() {}

    /** Reads all files of a folder, and maps the weights. */
    static Loaded load(Loading loading, Path folder) throws IOException {
        SettingsFile.requireModel(folder, "");
        boolean modular = Files.exists(folder.resolve("modules.json"));
        Path files = folder;
        SparseActivation activation = SparseActivation.RELU;
        if (modular) {
            Modules modules = modules(folder);
            files = modules.transformer;
            if (modules.mustBeNamed) {
                SettingsFile.read(files.resolve(SETTINGS), SparseFolder::requireTask);
            }
            activation = SettingsFile.read(modules.pooling.resolve("config.json"), SparseFolder::activation);
            requireFramework(folder.resolve(FRAMEWORK));
        }
        Path model = files;
        JsonObject json = SettingsFile.read(model.resolve("config.json"), SparseFolder::requireMasked);
        BertConfig config = Checks.in(model.resolve("config.json"), () -> BertConfig.of(json));
        boolean isTied = Checks.in(model.resolve("config.json"), () -> json.flag("tie_word_embeddings", true));
        int maxTokens = EncoderFolder.maxTokens(model, modular, EncoderFolder.Task.FILL_MASK, config);
        SparseActivation function = activation;
        EncoderCore core = Checkpoint.load(loading, model, config, 0);
        return core.orClose(() -> {
            MaskedHead head = Checkpoint.copy(model, all -> MaskedHead.take(core.loading, all, config, isTied));
            return new Loaded(core, head, function, maxTokens);
        });
    }

    private static Modules modules(Path folder) throws IOException {
        return SettingsFile.modules(folder, list -> {
            if (list.size() != 2) {
                throw Checks.fail(
                        "modules", list.size() + " modules", "expected an MLMTransformer and a SpladePooling");
            }
            JsonObject transformer = list.getFirst();
            boolean isPlain = EncoderFolder.is(transformer.text("type"), "Transformer");
            if (!isPlain && !EncoderFolder.is(transformer.text("type"), "MLMTransformer")) {
                throw transformer.fail("type", "an MLMTransformer, or a Transformer that fills masks");
            }
            Path pooling = EncoderFolder.require(folder, list.getLast(), "SpladePooling");
            return new Modules(EncoderFolder.within(folder, transformer), isPlain, pooling);
        });
    }

    /** A Transformer that does not say what it is for has no head. */
    private static JsonObject requireTask(JsonObject settings) {
        if (!settings.has("transformer_task")) {
            throw settings.fail("transformer_task", "fill-mask");
        }
        return settings;
    }

    private static SparseActivation activation(JsonObject pooling) {
        pooling.require("pooling_strategy", "max");
        String name = pooling.has("activation_function") ? pooling.text("activation_function") : "relu";
        SparseActivation activation = ACTIVATIONS.get(name);
        if (activation == null) {
            throw pooling.fail("activation_function", "relu or log1p_relu");
        }
        return activation;
    }

    private static void requireFramework(Path file) throws IOException {
        if (Files.exists(file)) {
            SettingsFile.read(file, SparseFolder::requirePlain);
        }
    }

    /** Fails if something is put before texts, or tokens with small weights are left out. */
    private static JsonObject requirePlain(JsonObject framework) {
        framework.require("model_type", "SparseEncoder");
        if (framework.has("max_active_dims")) {
            throw framework.fail("max_active_dims", "null: all tokens with a weight are returned");
        }
        if (framework.has("prompts")
                && framework.object("prompts").texts().values().stream().anyMatch(prompt -> !prompt.isEmpty())) {
            throw framework.fail("prompts", "empty ones: nothing is put before texts");
        }
        return framework;
    }

    private static JsonObject requireMasked(JsonObject config) {
        if (config.has("architectures") && !EncoderFamilies.isArchitecture(config, "ForMaskedLM")) {
            throw config.fail("architectures", "a model for masked language");
        }
        return config;
    }
}
