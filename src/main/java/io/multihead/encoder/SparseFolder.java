package io.multihead.encoder;

import io.multihead.internal.base.Checks;
import io.multihead.internal.base.JsonObject;
import io.multihead.internal.encoder.family.BertConfig;
import io.multihead.internal.encoder.family.EncoderFamilies;
import io.multihead.internal.encoder.family.MaskedHead;
import io.multihead.internal.encoder.load.Checkpoint;
import io.multihead.internal.encoder.load.EncoderCore;
import io.multihead.internal.encoder.load.PackedCore;
import io.multihead.internal.encoder.load.TokenizerFiles;
import io.multihead.internal.load.Loading;
import io.multihead.internal.load.ModelFolder;
import io.multihead.internal.load.ModelFolder.Framework;
import io.multihead.internal.load.ModelFolder.Module;
import io.multihead.internal.load.TextLength;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * Reads folders of sparse encoders: folders of sentence-transformers with a {@code modules.json}, and masked language models of
 * transformers.
 */
final class SparseFolder {
    private static final String SETTINGS = "sentence_bert_config.json";
    private static final Map<String, SparseActivation> ACTIVATIONS =
            Map.of("relu", SparseActivation.RELU, "log1p_relu", SparseActivation.LOG1P_RELU);

    /** The contents of a folder. */
    record Loaded(
            EncoderCore core,
            MaskedHead head,
            SparseActivation activation,
            int maxTokens,
            TokenizerFiles tokenizerFiles) {}

    private static final String FORMAT = "multihead sparse encoder 1";
    /** The prefix of the head's weights in a packed file. */
    private static final String HEAD = "head.";

    private SparseFolder() {}

    /** Writes a packed file, with the largest number of tokens of a text. */
    static void write(Path file, Loaded loaded, int maxTokens) throws IOException {
        Map<String, Object> options = new TreeMap<>(); // sorted, so that the file always has the same bytes
        options.put("activation", loaded.activation.name());
        options.put("is_tied", loaded.head.isTied());
        options.put("max_tokens", maxTokens);
        PackedCore.contents(FORMAT, loaded.core, loaded.tokenizerFiles, options)
                .with("", loaded.core.model.weights)
                .with(HEAD, loaded.head.weights())
                .write(file);
    }

    /** Maps a file that {@link #write} wrote. */
    static Loaded map(Loading loading, Path path) throws IOException {
        return PackedCore.map(loading, path, FORMAT, (file, own, options) -> {
            if (!(PackedCore.config(file) instanceof BertConfig config)) {
                throw Checks.fail("config.model_type", "of another family", "expected one of " + BertConfig.TYPES);
            }
            SparseActivation activation = PackedCore.choice(options, "activation", SparseActivation.values());
            int maxTokens = PackedCore.maxTokens(options, config);
            MaskedHead head = MaskedHead.take(
                    file.weights(own, HEAD, file.names(HEAD, Set.of())), config, options.flag("is_tied"));
            EncoderCore core = PackedCore.core(own, file, config, 0, HEAD);
            return new Loaded(core, head, activation, maxTokens, TokenizerFiles.of(file));
        });
    }

    /** Reads all files of a folder, and maps the weights. */
    static Loaded load(Loading loading, Path folder) throws IOException {
        ModelFolder.require(folder, "; SparseEncoder.map reads files of SparseEncoder.write");
        boolean modular = ModelFolder.isModular(folder);
        List<Module> modules = modular ? ModelFolder.modules(folder, SparseFolder::requireOrder) : List.of();
        Path files = modular ? modules.getFirst().folder() : folder;
        if (modular && modules.getFirst().is("Transformer")) {
            ModelFolder.read(files.resolve(SETTINGS), SparseFolder::requireTask);
        }
        SparseActivation activation = modular
                ? ModelFolder.config(modules.getLast().folder(), SparseFolder::activation)
                : SparseActivation.RELU;
        ModelFolder.framework(folder, "SparseEncoder", SparseFolder::requirePlain);
        BertConfig config = ModelFolder.config(files, json -> BertConfig.of(requireMasked(json)));
        boolean isTied = ModelFolder.config(files, json -> json.flag("tie_word_embeddings", true));
        int maxTokens = TextLength.of(files, modular, TextLength.Task.FILL_MASK, config.positions());
        EncoderCore core = Checkpoint.load(loading, files, config, 0);
        return core.orClose(() -> {
            MaskedHead head = ModelFolder.copy(files, all -> MaskedHead.take(core.loading, all, config, isTied));
            return new Loaded(core, head, activation, maxTokens, TokenizerFiles.map(core, files));
        });
    }

    private static List<Module> requireOrder(List<Module> modules) {
        if (modules.size() != 2) {
            throw Checks.fail("modules", modules.size() + " modules", "expected an MLMTransformer and a SpladePooling");
        }
        if (!modules.getFirst().is("Transformer") && !modules.getFirst().is("MLMTransformer")) {
            throw modules.getFirst().fail("an MLMTransformer, or a Transformer that fills masks");
        }
        if (!modules.getLast().is("SpladePooling")) {
            throw modules.getLast().fail("a SpladePooling module");
        }
        return modules;
    }

    /** Fails if a Transformer module has no task, because it then has no head. */
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

    /** Fails if settings put a prompt before texts, or omit tokens with small weights. */
    private static Framework requirePlain(Framework framework) {
        if (framework.json().has("max_active_dims")) {
            throw framework.json().fail("max_active_dims", "null: all tokens with a weight are returned");
        }
        if (framework.prompts().values().stream().anyMatch(prompt -> !prompt.isEmpty())) {
            throw framework.json().fail("prompts", "empty ones: nothing is put before texts");
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
