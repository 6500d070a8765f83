package io.multihead.encoder;

import io.multihead.internal.base.Checks;
import io.multihead.internal.base.JsonObject;
import io.multihead.internal.encoder.family.EncoderConfig;
import io.multihead.internal.encoder.load.Checkpoint;
import io.multihead.internal.encoder.load.EncoderCore;
import io.multihead.internal.encoder.load.PackedCore;
import io.multihead.internal.encoder.load.TokenizerFiles;
import io.multihead.internal.load.Loading;
import io.multihead.internal.load.ModelFolder;
import io.multihead.internal.load.ModelFolder.Module;
import io.multihead.internal.load.TextLength;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * Reads folders of cross-encoders: folders of transformers, and folders with a {@code modules.json}, which sentence-transformers writes
 * from version 5.4 on.
 */
final class RerankerFolder {
    /** A cross-encoder's folder: the model with its classification head, the activation of its outputs, and the template of a pair. */
    record Loaded(EncoderCore core, ScoreActivation activation, int maxTokens, TokenizerFiles tokenizerFiles) {
        Loaded {
            Checks.notNull(activation, "activation");
        }
    }

    private static final String FORMAT = "multihead reranker 1";
    private static final int MOST_LABELS = 1 << 16;

    private RerankerFolder() {}

    static void write(Path file, Loaded loaded) throws IOException {
        Map<String, Object> options = new TreeMap<>(); // sorted, so that the file always has the same bytes
        options.put("labels", loaded.core.model.head().labels());
        options.put("activation", loaded.activation.name());
        options.put("max_tokens", loaded.maxTokens);
        PackedCore.contents(FORMAT, loaded.core, loaded.tokenizerFiles, options)
                .with("", loaded.core.model.weights)
                .write(file);
    }

    /** Maps a file that {@link #write} wrote. */
    static Loaded map(Loading loading, Path path) throws IOException {
        return PackedCore.map(loading, path, FORMAT, (file, own, options) -> {
            EncoderConfig config = PackedCore.config(file);
            RerankerConfig.requireTwoTypes(config);
            ScoreActivation activation = PackedCore.choice(options, "activation", ScoreActivation.values());
            int maxTokens = PackedCore.maxTokens(options, config);
            EncoderCore core = PackedCore.core(own, file, config, options.integer("labels", 1, MOST_LABELS));
            return new Loaded(core, activation, maxTokens, TokenizerFiles.of(file));
        });
    }

    /** Reads all files of a folder, and maps the weights. */
    static Loaded load(Loading loading, Path folder) throws IOException {
        ModelFolder.require(folder, ", or a GGUF file; Reranker.map reads files of Reranker.write");
        boolean modular = ModelFolder.isModular(folder);
        Path files = modular ? ModelFolder.modules(folder, RerankerFolder::transformer) : folder;
        RerankerConfig config = ModelFolder.config(files, RerankerConfig::of);
        int maxTokens = TextLength.of(
                files, modular, TextLength.Task.CLASSIFICATION, config.model().positions());
        ScoreActivation named = modular
                ? ModelFolder.read(folder.resolve(ModelFolder.FRAMEWORK), RerankerFolder::named)
                        .orElse(null)
                : null;
        EncoderCore core = Checkpoint.load(loading, files, config.model(), config.labels());
        ScoreActivation activation = named == null ? config.activation() : named;
        return core.orClose(() -> new Loaded(core, activation, maxTokens, TokenizerFiles.map(core, files)));
    }

    private static Path transformer(List<Module> modules) {
        if (modules.size() != 1) {
            throw Checks.fail("modules", modules.size() + " modules", "expected a Transformer module alone");
        }
        if (!modules.getFirst().is("Transformer")) {
            throw modules.getFirst().fail("a Transformer module");
        }
        return modules.getFirst().folder();
    }

    /** Returns the activation of outputs in the file of sentence-transformers, which has priority over {@code config.json}. */
    private static Optional<ScoreActivation> named(JsonObject json) {
        json.text("model_type"); // a folder without this member belongs to another class
        json.require("model_type", "CrossEncoder");
        if (json.has("default_prompt_name")) {
            throw json.fail("default_prompt_name", "null: nothing is put before texts");
        }
        return Optional.ofNullable(RerankerConfig.activation(json, "activation_fn"));
    }
}
