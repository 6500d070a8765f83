package io.multihead.internal.encoder.load;

import io.multihead.internal.base.Checks;
import io.multihead.internal.base.JsonObject;
import io.multihead.internal.encoder.family.EncoderConfig;
import io.multihead.internal.encoder.family.EncoderFamilies;
import io.multihead.internal.encoder.layer.DenseFunction;
import io.multihead.internal.load.Given;
import io.multihead.internal.load.Loading;
import io.multihead.internal.load.ModelFolder;
import io.multihead.internal.load.ModelFolder.Module;
import io.multihead.internal.load.TextLength;
import io.multihead.internal.load.WeightSource;
import io.multihead.internal.load.Weights;
import io.multihead.model.PackedLinear;
import io.multihead.tensor.Shape;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Reads folders of encoders of tokens: folders of PyLate with a {@code modules.json}, and folders of ColBERT's authors, whose projection is
 * a weight among the encoder's weights.
 */
public final class TokenEncoderFolder {
    private static final String LINEAR = "linear";
    private static final String IDENTITY = DenseFunction.IDENTITY.type();
    private static final String AUTHORS = "HF_ColBERT";
    private static final int MOST = 1 << 24;

    /** The contents of a folder. */
    public record Loaded(
            EncoderCore core, Projection projection, TokenSettings settings, TokenizerFiles tokenizerFiles) {}

    /** The layer after the encoder, and its weights by name. */
    public record Projection(PackedLinear linear, Given weights) {}

    /** The folders of the transformer and of the projection, which has a separate module except in folders of ColBERT's authors. */
    private record Modules(Path transformer, @Nullable Path dense) {}

    private static final String FORMAT = "multihead token encoder 1";
    /** The prefix of the projection's weights in a packed file. */
    private static final String PROJECTION = "projection.";

    private TokenEncoderFolder() {}

    public static void write(Path file, Loaded loaded) throws IOException {
        PackedCore.contents(FORMAT, loaded.core, loaded.tokenizerFiles, loaded.settings.toJson())
                .with("", loaded.core.model.weights)
                .with(PROJECTION, loaded.projection.weights)
                .write(file);
    }

    /** Maps a file that {@link #write} wrote. */
    public static Loaded map(Loading loading, Path path) throws IOException {
        return PackedCore.map(loading, path, FORMAT, (file, own, options) -> {
            EncoderConfig config = PackedCore.config(file);
            TokenSettings settings = TokenSettings.ofPacked(options);
            requireLengths(settings, config, path);
            Weights weights = file.weights(own, PROJECTION, file.names(PROJECTION, Set.of()));
            Projection projection = pack(weights, config, -1, weights.has(LINEAR + ".bias"));
            weights.requireAllUsed();
            EncoderCore core = PackedCore.core(own, file, config, 0, PROJECTION);
            return new Loaded(core, projection, settings, TokenizerFiles.of(file));
        });
    }

    public static Loaded load(Loading loading, Path folder) throws IOException {
        ModelFolder.require(folder, "; TokenEncoder.map reads files of TokenEncoder.write");
        boolean modular = ModelFolder.isModular(folder);
        Modules modules =
                modular ? ModelFolder.modules(folder, TokenEncoderFolder::modules) : new Modules(folder, null);
        Path files = modules.transformer;
        EncoderConfig config = ModelFolder.config(files, json -> config(json, modular));
        TextLength.of(files, modular, TextLength.Task.EMBEDDING, config.positions());
        TokenSettings settings = modular
                ? ModelFolder.read(folder.resolve("config_sentence_transformers.json"), TokenSettings::ofPyLate)
                : ModelFolder.find(folder.resolve("artifact.metadata"), TokenSettings::ofMetadata)
                        .orElseGet(() -> TokenSettings.ofMetadata(new JsonObject("metadata", Map.of())));
        requireLengths(settings, config, folder);
        EncoderCore core = Checkpoint.load(loading, files, config, 0);
        return core.orClose(() ->
                new Loaded(core, projection(core.loading, modules, config), settings, TokenizerFiles.map(core, files)));
    }

    private static EncoderConfig config(JsonObject json, boolean modular) {
        if (!modular
                && !(json.has("architectures") && json.array("architectures").equals(List.of(AUTHORS)))) {
            throw json.fail("architectures", "[" + AUTHORS + "], or a modules.json with a projection");
        }
        return EncoderFamilies.configure(json);
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

    private static Modules modules(List<Module> list) {
        if (list.size() != 2) {
            throw Checks.fail("modules", list.size() + " modules", "expected a Transformer and a Dense module");
        }
        if (!list.getFirst().is("Transformer")) {
            throw list.getFirst().fail("a Transformer module");
        }
        Module dense = list.getLast();
        if (!dense.isOf("pylate", "Dense") && !dense.is("Dense")) {
            throw dense.fail("a Dense module");
        }
        return new Modules(list.getFirst().folder(), dense.folder());
    }

    private static Projection projection(Loading loading, Modules modules, EncoderConfig config) throws IOException {
        Path dense = modules.dense;
        if (dense == null) {
            return ModelFolder.copy(
                    modules.transformer,
                    file -> pack(new Weights(loading, loading.adapted(WeightSource.of(file))), config, -1, false));
        }
        JsonObject settings = ModelFolder.config(dense, TokenEncoderFolder::plain);
        int outputs = Checks.in(dense, () -> settings.integer("out_features", 1, MOST));
        return ModelFolder.copy(
                dense,
                file -> pack(
                        new Weights(loading, WeightSource.of(file)), config, outputs, settings.flag("bias", true)));
    }

    /** Fails unless the module is only a linear layer on the states of tokens. */
    private static JsonObject plain(JsonObject dense) {
        if (!IDENTITY.equals(dense.find("activation_function"))) {
            throw dense.fail("activation_function", IDENTITY);
        }
        dense.require("use_residual", false);
        dense.require("module_input_name", "token_embeddings");
        dense.require("module_output_name", "token_embeddings");
        return dense;
    }

    private static Projection pack(Weights weights, EncoderConfig config, int outputs, boolean hasBias) {
        Shape shape = weights.shape(LINEAR + ".weight");
        int rows = outputs > 0 ? outputs : shape.rank() == 2 ? Math.clamp(shape.dim(0), 1, MOST) : 1;
        return new Projection(weights.linear(LINEAR, rows, config.dim(), hasBias), weights.given());
    }
}
