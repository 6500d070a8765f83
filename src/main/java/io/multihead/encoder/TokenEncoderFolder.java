package io.multihead.encoder;

import io.multihead.format.SafetensorsFolder;
import io.multihead.internal.base.Checks;
import io.multihead.internal.base.JsonObject;
import io.multihead.internal.load.Loading;
import io.multihead.internal.load.WeightSource;
import io.multihead.internal.load.Weights;
import io.multihead.model.PackedLinear;
import io.multihead.tensor.Shape;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Reads folders of encoders of tokens: those of PyLate, with a {@code modules.json}, and those of ColBERT's authors, whose projection is a weight
 * beside the encoder's.
 */
final class TokenEncoderFolder {
    private static final String LINEAR = "linear";
    private static final String IDENTITY = DenseFunction.IDENTITY.type();
    private static final String AUTHORS = "HF_ColBERT";
    private static final int MOST = 1 << 24;

    /** What a folder has. */
    record Loaded(EncoderCore core, PackedLinear projection, TokenSettings settings) {}

    /** The folders of the transformer and of the projection, which has a module of its own but in folders of ColBERT's authors. */
    private record Modules(Path transformer, @Nullable Path dense) {}

    private TokenEncoderFolder() {}

    static Loaded load(Loading loading, Path folder) throws IOException {
        SettingsFile.requireModel(folder, "");
        boolean modular = Files.exists(folder.resolve("modules.json"));
        Modules modules = modular ? modules(folder) : new Modules(folder, null);
        Path files = modules.transformer;
        EncoderConfig config = SettingsFile.read(files.resolve("config.json"), json -> config(json, modular));
        EncoderFolder.maxTokens(files, modular, EncoderFolder.Task.EMBEDDING, config);
        TokenSettings settings = modular
                ? SettingsFile.read(folder.resolve("config_sentence_transformers.json"), TokenSettings::ofPyLate)
                : metadata(folder.resolve("artifact.metadata"));
        requireLengths(settings, config, folder);
        EncoderCore core = Checkpoint.load(loading, files, config, 0);
        return core.orClose(() -> new Loaded(core, projection(core.loading, modules, config), settings));
    }

    private static EncoderConfig config(JsonObject json, boolean modular) {
        if (!modular
                && !(json.has("architectures") && json.array("architectures").equals(List.of(AUTHORS)))) {
            throw json.fail("architectures", "[" + AUTHORS + "], or a modules.json with a projection");
        }
        return EncoderFamilies.configure(json);
    }

    private static TokenSettings metadata(Path file) throws IOException {
        return Files.exists(file)
                ? SettingsFile.read(file, TokenSettings::ofMetadata)
                : TokenSettings.ofMetadata(new JsonObject("metadata", Map.of()));
    }

    private static void requireLengths(TokenSettings settings, EncoderConfig config, Path folder) {
        Checks.in(folder, () -> {
            requireLength(settings.queryTokens(), settings.queryPrefix(), config, "length of queries");
            requireLength(settings.documentTokens(), settings.documentPrefix(), config, "length of documents");
            return settings;
        });
    }

    private static void requireLength(int tokens, String prefix, EncoderConfig config, String what) {
        int least = prefix.isEmpty() ? 3 : 4;
        if (tokens < least || tokens > config.positions()) {
            throw Checks.fail(
                    what, String.valueOf(tokens), "expected " + least + " to the model's " + config.positions());
        }
    }

    private static Modules modules(Path folder) throws IOException {
        return SettingsFile.modules(folder, list -> {
            if (list.size() != 2) {
                throw Checks.fail("modules", list.size() + " modules", "expected a Transformer and a Dense module");
            }
            Path transformer = EncoderFolder.require(folder, list.getFirst(), "Transformer");
            JsonObject dense = list.getLast();
            String type = dense.text("type");
            if (!(type.startsWith("pylate.") && type.endsWith(".Dense")) && !EncoderFolder.is(type, "Dense")) {
                throw dense.fail("type", "a Dense module");
            }
            return new Modules(transformer, EncoderFolder.within(folder, dense));
        });
    }

    private static PackedLinear projection(Loading loading, Modules modules, EncoderConfig config) throws IOException {
        Path dense = modules.dense;
        if (dense == null) {
            return Checkpoint.copy(modules.transformer, file -> pack(loading, file, config, -1, false));
        }
        JsonObject settings = SettingsFile.read(dense.resolve("config.json"), TokenEncoderFolder::plain);
        int outputs = Checks.in(dense, () -> settings.integer("out_features", 1, MOST));
        return Checkpoint.copy(dense, file -> pack(loading, file, config, outputs, settings.flag("bias", true)));
    }

    /** Fails unless the module is a linear layer of the states of tokens, and nothing else. */
    private static JsonObject plain(JsonObject dense) {
        if (!IDENTITY.equals(dense.find("activation_function"))) {
            throw dense.fail("activation_function", IDENTITY);
        }
        dense.require("use_residual", false);
        dense.require("module_input_name", "token_embeddings");
        dense.require("module_output_name", "token_embeddings");
        return dense;
    }

    private static PackedLinear pack(
            Loading loading, SafetensorsFolder files, EncoderConfig config, int outputs, boolean hasBias) {
        Weights weights = new Weights(loading, WeightSource.of(files));
        Shape shape = weights.shape(LINEAR + ".weight");
        int rows = outputs > 0 ? outputs : shape.rank() == 2 ? Math.clamp(shape.dim(0), 1, MOST) : 1;
        return weights.linear(LINEAR, rows, config.dim(), hasBias);
    }
}
