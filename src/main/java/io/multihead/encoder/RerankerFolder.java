package io.multihead.encoder;

import io.multihead.internal.base.Checks;
import io.multihead.internal.base.JsonObject;
import io.multihead.internal.load.Loading;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/**
 * Reads folders of cross-encoders: those of transformers, and those with a {@code modules.json}, which sentence-transformers writes from version
 * 5.4 on.
 */
final class RerankerFolder {
    private static final String FRAMEWORK = "config_sentence_transformers.json";

    /** A cross-encoder's folder: the model with its classification head, the activation of its outputs, and the template of a pair. */
    record Loaded(EncoderCore core, ScoreActivation activation, int maxTokens) {}

    private RerankerFolder() {}

    /** Reads all files of a folder, and maps the weights. */
    static Loaded load(Loading loading, Path folder) throws IOException {
        SettingsFile.requireModel(folder, "");
        boolean modular = Files.exists(folder.resolve("modules.json"));
        Path files = modular ? transformer(folder) : folder;
        RerankerConfig config = SettingsFile.read(files.resolve("config.json"), RerankerConfig::of);
        int maxTokens = EncoderFolder.maxTokens(files, modular, EncoderFolder.Task.CLASSIFICATION, config.model());
        ScoreActivation activation = modular
                ? SettingsFile.read(folder.resolve(FRAMEWORK), RerankerFolder::named)
                        .orElse(config.activation())
                : config.activation();
        EncoderCore core = Checkpoint.load(loading, files, config.model(), config.labels());
        return new Loaded(core, activation, maxTokens);
    }

    private static Path transformer(Path folder) throws IOException {
        return SettingsFile.modules(folder, modules -> {
            if (modules.size() != 1) {
                throw Checks.fail("modules", modules.size() + " modules", "expected a Transformer module alone");
            }
            return EncoderFolder.require(folder, modules.getFirst(), "Transformer");
        });
    }

    /** Returns the function of outputs that the framework's file names, which comes before that of {@code config.json}. */
    private static Optional<ScoreActivation> named(JsonObject framework) {
        if (!framework.text("model_type").equals("CrossEncoder")) {
            throw framework.fail("model_type", "CrossEncoder");
        }
        if (framework.has("default_prompt_name")) {
            throw framework.fail("default_prompt_name", "null: nothing is put before texts");
        }
        return Optional.ofNullable(RerankerConfig.activation(framework, "activation_fn"));
    }
}
