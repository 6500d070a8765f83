package io.multihead.decoder;

import io.multihead.format.Gguf;
import io.multihead.format.SafetensorsFolder;
import io.multihead.internal.base.Checks;
import io.multihead.internal.load.Loading;
import io.multihead.internal.load.ModelFolder;
import io.multihead.internal.load.WeightSource;
import io.multihead.internal.load.Weights;
import io.multihead.model.Transformer;
import io.multihead.text.Tokenizer;
import java.io.IOException;
import java.nio.file.Path;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/** Loads GGUF files and Hugging Face folders: settings, tokenizer, and weights, which are packed from the mapped file. */
final class DecoderLoader {
    private DecoderLoader() {}

    static LoadedDecoder gguf(Loading loading, Path path, LoadListener listener) throws IOException {
        loading.requireNoAdapter(path, "a GGUF file");
        Gguf file = Gguf.map(loading.arena(), path);
        return Checks.in(path, () -> {
            WeightSource source = WeightSource.of(file);
            DecoderFiles files = loading.besideMemory(
                    source, () -> DecoderFiles.of(file, path, file.names().size()));
            Weights weights =
                    new Weights(loading, source, new Weights.Naming(name -> name, withoutDrafts(file, files.config())));
            DecoderFiles.GGUF_SETTINGS.forEach(weights::ignore);
            return load(loading, files, weights, false, listener);
        });
    }

    /** Returns the names of a file's weights, except the weights of layers that draft tokens. These layers follow the other layers. */
    private static Set<String> withoutDrafts(Gguf file, DecoderConfig config) {
        long drafts = file.findInteger(config.family() + "." + GgufSettings.DRAFT_LAYERS)
                .orElse(0);
        int layers = config.sizes().layers();
        Set<String> names = new LinkedHashSet<>(file.names());
        for (long layer = layers; layer < layers + drafts; layer++) {
            String begin = "blk." + layer + ".";
            names.removeIf(name -> name.startsWith(begin));
        }
        return names;
    }

    /** Loads a folder. {@code expected} describes the expected kinds of paths. */
    static LoadedDecoder folder(Loading loading, Path folder, LoadListener listener, String expected)
            throws IOException {
        Checks.folderWith(folder, List.of(ModelFolder.CONFIG), expected);
        SafetensorsFolder tensors = SafetensorsFolder.map(loading.arena(), folder);
        DecoderFiles files = loading.besideMemory(
                WeightSource.of(tensors),
                () -> DecoderFiles.of(folder, tensors.names().size(), loading.arena()));
        WeightSource source =
                Checks.in(tensors.path(), () -> files.family().source(loading.adapted(WeightSource.of(tensors))));
        Weights weights = new Weights(loading, source, HuggingFaceNames.naming(source.names(), files.family()));
        boolean isForEmbeddings = HuggingFaceNames.isForEmbeddings(tensors.names());
        return Checks.in(tensors.path(), () -> load(loading, files, weights, isForEmbeddings, listener));
    }

    private static LoadedDecoder load(
            Loading loading, DecoderFiles files, Weights weights, boolean isForEmbeddings, LoadListener listener) {
        Transformer model = build(files, weights, isForEmbeddings, listener);
        return new LoadedDecoder(files, model, weights, ModelIdentity.Tensors.of(weights), loading);
    }

    /** Makes a model from all its weights. A model for embeddings may have no head. */
    static Transformer build(DecoderFiles files, Weights weights, boolean isForEmbeddings, LoadListener listener) {
        boolean ranks = files.embedder().ranks();
        Transformer model = DecoderBuilder.build(files.config(), weights, isForEmbeddings, ranks, listener);
        requireRows(model, files.tokenizer());
        return model;
    }

    /**
     * Fails if the model has no row for a token of the tokenizer's vocabulary. Tokens that were added to the vocabulary need no row; a
     * session refuses them, and the model of transformers fails on them. A table may have more rows, which are never chosen.
     */
    static void requireRows(Transformer model, Tokenizer tokenizer) {
        if (tokenizer.ownVocabularySize() > model.vocabulary()) {
            throw Checks.fail(
                    "tokenizer",
                    tokenizer.ownVocabularySize() + " tokens",
                    "expected at most the " + model.vocabulary() + " of the model's embeddings");
        }
    }
}
