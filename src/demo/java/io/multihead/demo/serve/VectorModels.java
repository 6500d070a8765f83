package io.multihead.demo.serve;

import io.multihead.compute.Compute;
import io.multihead.decoder.LanguageModel;
import io.multihead.decoder.SessionOptions;
import io.multihead.decoder.TextEmbedder;
import io.multihead.decoder.TextReranker;
import io.multihead.encoder.Reranker;
import io.multihead.encoder.SentenceEncoder;
import io.multihead.model.Embedder;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.function.IntFunction;
import java.util.function.ToIntFunction;

/** Embedding models and rerankers, which are encoders or language models that were trained for this use. */
final class VectorModels {
    private VectorModels() {}

    /**
     * An embedding model.
     *
     * @param dimension elements of a vector
     * @param leastDimension elements of the shortest vector of the model
     * @param ofDimension the model with shorter vectors
     * @param count the tokens of a text
     * @param close frees its memory
     */
    record Embedding(
            int dimension,
            int leastDimension,
            IntFunction<Embedder> ofDimension,
            ToIntFunction<String> count,
            Runnable close) {
        /** Loads an embedding model. */
        static Embedding load(Compute cpu, Path path) throws IOException {
            return ofEither(
                    () -> {
                        SentenceEncoder encoder = SentenceEncoder.load(cpu, path);
                        int dimension = encoder.dimension();
                        ToIntFunction<String> count = encoder.tokenizer()::count;
                        return new Embedding(dimension, 1, encoder::withDimension, count, encoder::close);
                    },
                    () -> {
                        LanguageModel model = LanguageModel.load(cpu, path);
                        TextEmbedder embedder = orClose(model, LanguageModel::embedder);
                        int dimension = embedder.dimension();
                        return new Embedding(dimension, dimension, any -> embedder, embedder::count, model::close);
                    });
        }
    }

    /**
     * A reranker.
     *
     * @param scores of passages for a query
     * @param close frees its memory
     */
    record Ranking(BiFunction<String, List<String>, double[]> scores, Runnable close) {
        /**
         * Loads a reranker.
         *
         * @param options the memory of a language model's prompts
         */
        static Ranking load(Compute cpu, Path path, Function<LanguageModel, SessionOptions> options)
                throws IOException {
            return ofEither(
                    () -> {
                        Reranker reranker = Reranker.load(cpu, path);
                        return new Ranking(reranker::score, reranker::close);
                    },
                    () -> {
                        LanguageModel model = LanguageModel.load(cpu, path);
                        TextReranker reranker = orClose(model, loaded -> loaded.reranker(options.apply(loaded)));
                        return new Ranking(reranker::score, () -> {
                            reranker.close();
                            model.close();
                        });
                    });
        }
    }

    private static <T> T orClose(LanguageModel model, Function<LanguageModel, T> use) {
        try {
            return use.apply(model);
        } catch (RuntimeException failed) {
            model.close();
            throw failed;
        }
    }

    /** A loader of a model. */
    @FunctionalInterface
    private interface Loader<T> {
        T load() throws IOException;
    }

    /**
     * Loads an encoder or a language model. The loader of each kind refuses files of the other kind before it reads
     * weights.
     */
    private static <T> T ofEither(Loader<T> encoder, Loader<T> language) throws IOException {
        try {
            return encoder.load();
        } catch (IllegalArgumentException noEncoder) {
            try {
                return language.load();
            } catch (IllegalArgumentException | IllegalStateException neither) {
                throw new IllegalArgumentException(
                        "no encoder: " + noEncoder.getMessage() + "; and no language model: " + neither.getMessage(),
                        neither);
            }
        }
    }
}
