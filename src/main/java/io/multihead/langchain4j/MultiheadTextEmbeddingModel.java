package io.multihead.langchain4j;

import dev.langchain4j.data.embedding.Embedding;
import dev.langchain4j.data.segment.TextSegment;
import dev.langchain4j.model.embedding.EmbeddingModel;
import dev.langchain4j.model.embedding.request.EmbeddingInputType;
import dev.langchain4j.model.embedding.request.EmbeddingParameter;
import dev.langchain4j.model.embedding.request.EmbeddingRequest;
import dev.langchain4j.model.embedding.request.EmbeddingRequestParameters;
import dev.langchain4j.model.embedding.response.EmbeddingResponse;
import dev.langchain4j.model.output.Response;
import dev.langchain4j.model.output.TokenUsage;
import io.multihead.decoder.LanguageModel;
import io.multihead.decoder.TextEmbedder;
import io.multihead.internal.base.Checks;
import java.io.UncheckedIOException;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * langchain4j's embedding model on a {@link TextEmbedder}, such as Qwen3-Embedding: in process, without native libraries.
 *
 * <p>A request for {@link EmbeddingInputType#QUERY} or {@code DOCUMENT} puts the prompt of the model's folder before each text. A request
 * without input type puts the folder's default prompt before each text. {@link TokenUsage} counts the tokens of texts and prompts, without the
 * special tokens around them. A text with more tokens than the model accepts is an error.
 *
 * <p>Works with langchain4j's core from version 1.0 on, with requests from 1.18 on, as {@link MultiheadEmbeddingModel} does. Thread-safe.
 * {@link #close} ends the threads and frees the weights.
 */
public final class MultiheadTextEmbeddingModel implements EmbeddingModel, AutoCloseable {
    private final LanguageModel model;
    private final TextEmbedder embedder;
    private final String name;
    private final ModelThreads threads;

    private MultiheadTextEmbeddingModel(LanguageModel model, TextEmbedder embedder, String name, ModelThreads threads) {
        this.model = model;
        this.embedder = embedder;
        this.name = name;
        this.threads = threads;
    }

    /** {@return a builder, which needs a path and is not thread-safe} */
    public static Builder builder() {
        return new Builder();
    }

    @Override
    public EmbeddingResponse doEmbed(EmbeddingRequest request) {
        TextEmbedder chosen = embedder(request.inputType());
        List<String> texts =
                request.inputs().stream().map(input -> input.text()).toList();
        return EmbeddingResponse.builder()
                .embeddings(vectors(chosen, texts))
                .modelName(name)
                .tokenUsage(usage(chosen, texts))
                .build();
    }

    @Override
    public Response<List<Embedding>> embedAll(List<TextSegment> segments) {
        if (MultiheadEmbeddingModel.HAS_REQUESTS) {
            return EmbeddingModel.super.embedAll(segments); // this method calls the listeners
        }
        List<String> texts = segments.stream().map(TextSegment::text).toList();
        return Response.from(vectors(embedder, texts), usage(embedder, texts));
    }

    private static List<Embedding> vectors(TextEmbedder chosen, List<String> texts) {
        return Arrays.stream(chosen.embed(texts)).map(Embedding::from).toList();
    }

    private static TokenUsage usage(TextEmbedder chosen, List<String> texts) {
        return new TokenUsage(texts.stream().mapToInt(chosen::count).sum());
    }

    private TextEmbedder embedder(@Nullable EmbeddingInputType type) {
        if (type == null) {
            return embedder;
        }
        return type == EmbeddingInputType.QUERY ? embedder.forQueries() : embedder.forDocuments();
    }

    @Override
    public Set<EmbeddingParameter<?>> supportedParameters() {
        return Set.of(EmbeddingRequestParameters.INPUT_TYPE);
    }

    @Override
    public int dimension() {
        return embedder.dimension();
    }

    @Override
    public String modelName() {
        return name;
    }

    /**
     * {@return the embedder for requests without an input type, for methods that langchain4j's interface does not have; it is valid until this
     * model is closed}
     */
    public TextEmbedder embedder() {
        return embedder;
    }

    /** Ends the model's own threads and frees its weights. */
    @Override
    public void close() {
        try {
            model.close();
        } finally {
            threads.close();
        }
    }

    /** Collects the parts of a model. Not thread-safe. */
    public static final class Builder extends LanguageModelBuilder<MultiheadTextEmbeddingModel, Builder> {
        private UnaryOperator<TextEmbedder> choice = UnaryOperator.identity();
        private @Nullable String name;

        Builder() {}

        @Override
        Builder self() {
            return this;
        }

        /**
         * Changes the pooling, prompts and normalization of the model's file.
         *
         * @param newChoice a function from the embedder with the settings of the file to the
         *     embedder to use
         * @return this
         */
        public Builder embedder(UnaryOperator<TextEmbedder> newChoice) {
            choice = Checks.notNull(newChoice, "embedder");
            return this;
        }

        /**
         * Sets the model's name in responses. The default is the name of the file or folder.
         *
         * @param newName a name
         * @return this
         */
        public Builder modelName(String newName) {
            name = Checks.notNull(newName, "modelName");
            return this;
        }

        /**
         * Loads the model.
         *
         * @return the model
         * @throws UncheckedIOException if a file is missing or cannot be read
         * @throws IllegalArgumentException if no path was given, or the model is malformed or not supported
         * @throws IllegalStateException if the file has no vectors of texts, or the given Compute is closed
         */
        public MultiheadTextEmbeddingModel build() {
            return open();
        }

        @Override
        MultiheadTextEmbeddingModel load(LanguageModel loaded, ModelThreads open) {
            TextEmbedder chosen = Checks.notNull(choice.apply(loaded.embedder()), "embedder");
            return new MultiheadTextEmbeddingModel(loaded, chosen, name == null ? fileName() : name, open);
        }
    }
}
