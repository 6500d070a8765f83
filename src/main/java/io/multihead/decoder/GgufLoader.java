package io.multihead.decoder;

import io.multihead.format.Gguf;
import io.multihead.internal.base.Checks;
import io.multihead.internal.load.Loading;
import io.multihead.internal.load.WeightSource;
import io.multihead.internal.load.Weights;
import io.multihead.model.Transformer;
import io.multihead.text.Tokenizer;
import io.multihead.text.Tokenizers;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

/** Loads a GGUF file: settings, tokenizer, and weights, which are packed from the mapped file. */
final class GgufLoader {
    private GgufLoader() {}

    static LoadedDecoder load(Loading loading, Path path, LoadOptions options) throws IOException {
        Gguf file = Gguf.map(path, loading.arena());
        return Checks.in(path, () -> load(loading, path, file, options));
    }

    private static LoadedDecoder load(Loading loading, Path path, Gguf file, LoadOptions options) {
        String architecture = file.string("general.architecture");
        GgufSettings settings = new GgufSettings(file, path);
        DecoderConfig config = Families.of(settings).configure(settings);
        EmbedderSettings embedder = EmbedderSettings.of(file, architecture);
        Tokenizer tokenizer = Tokenizers.of(file);
        Weights weights = new Weights(loading, WeightSource.of(file));
        List.of(GgufSettings.ROPE_FACTORS, GgufSettings.LONG_FACTORS, GgufSettings.SHORT_FACTORS)
                .forEach(weights::ignore);
        Transformer model = DecoderBuilder.build(config, weights, false, options.listener());
        requireRows(model, tokenizer);
        return new LoadedDecoder(
                file.findString("general.name").orElse(architecture),
                config,
                model,
                tokenizer,
                weights,
                FileTemplates.of(file),
                embedder,
                loading);
    }

    /**
     * Fails if the model has no row for a token of the tokenizer's vocabulary. For tokens that were added beside it there need not be one; a
     * session refuses them, as the model of transformers fails. A table may have more rows, which are never chosen.
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
