package io.multihead.encoder;

import io.multihead.format.Gguf;
import io.multihead.internal.base.Checks;
import io.multihead.internal.base.FileMemory;
import io.multihead.internal.encoder.family.EncoderConfig;
import io.multihead.internal.encoder.family.GgufEncoderSettings;
import io.multihead.internal.encoder.family.GgufNames;
import io.multihead.internal.encoder.layer.DenseLayers;
import io.multihead.internal.encoder.layer.Normalization;
import io.multihead.internal.encoder.layer.PoolingConfig;
import io.multihead.internal.encoder.load.EncoderCore;
import io.multihead.internal.encoder.load.EncoderModel;
import io.multihead.internal.encoder.load.ModelLoader;
import io.multihead.internal.encoder.load.TokenizerFiles;
import io.multihead.internal.load.Loading;
import io.multihead.internal.load.WeightSource;
import io.multihead.internal.load.Weights;
import io.multihead.text.Tokenizers;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/** Loads encoders from llama.cpp's GGUF files. */
final class EncoderGguf {
    private static final byte[] MAGIC = "GGUF".getBytes(StandardCharsets.US_ASCII);

    private EncoderGguf() {}

    /** Returns whether a path is a GGUF file. */
    static boolean is(Path path) throws IOException {
        return Files.isRegularFile(path) && Arrays.equals(FileMemory.head(path, MAGIC.length), MAGIC);
    }

    /** Fails for a GGUF file, which lacks data that an encoder needs. */
    static void refuse(Path path, String missing) throws IOException {
        if (is(path)) {
            throw Checks.fail(path.toString(), "a GGUF file", "expected a folder, as GGUF has " + missing);
        }
    }

    /** Reads an encoder; vectors have length 1, as in llama.cpp. */
    static LoadedEncoder load(Loading loading, Path path) throws IOException {
        loading.requireNoAdapter(path, "a GGUF file");
        Gguf file = Gguf.map(loading.arena(), path);
        return Checks.in(path, () -> load(loading, path, file));
    }

    private static LoadedEncoder load(Loading loading, Path path, Gguf file) throws IOException {
        GgufEncoderSettings settings = new GgufEncoderSettings(file, path);
        EncoderConfig config = settings.config();
        EncoderOptions options = new EncoderOptions(
                new PoolingConfig(List.of(settings.pooling()), true),
                Normalization.CUT,
                EncoderOptions.WHOLE,
                config.positions(),
                LongTexts.TRUNCATE,
                "");
        EncoderCore core = core(loading, file, settings.names(), config, 0);
        return new LoadedEncoder(core, DenseLayers.none(config.dim()), options, Map.of(), "", TokenizerFiles.NONE);
    }

    /** Reads a cross-encoder; the activation is the default of sentence-transformers. */
    static RerankerFolder.Loaded loadReranker(Loading loading, Path path) throws IOException {
        loading.requireNoAdapter(path, "a GGUF file");
        Gguf file = Gguf.map(loading.arena(), path);
        return Checks.in(path, () -> loadReranker(loading, path, file));
    }

    private static RerankerFolder.Loaded loadReranker(Loading loading, Path path, Gguf file) throws IOException {
        GgufEncoderSettings settings = new GgufEncoderSettings(file, path);
        EncoderConfig config = settings.config();
        int labels = settings.labels();
        EncoderCore core = core(loading, file, settings.names(), config, labels);
        return core.orClose(() -> {
            if (core.tokenizer.separators() == 1 && core.tokenizer.secondType() >= config.types()) {
                throw file.fail(GgufEncoderSettings.TYPES, "2, for two texts");
            }
            return new RerankerFolder.Loaded(
                    core, RerankerConfig.byDefault(labels), config.positions(), TokenizerFiles.NONE);
        });
    }

    private static EncoderCore core(Loading loading, Gguf file, GgufNames names, EncoderConfig config, int labels)
            throws IOException {
        Weights.Naming naming = new Weights.Naming(names::stored, file.names());
        return ModelLoader.load(
                loading,
                () -> new EncoderModel(config, labels, new Weights(loading, WeightSource.of(file), naming)),
                () -> Tokenizers.ofEncoder(file));
    }
}
