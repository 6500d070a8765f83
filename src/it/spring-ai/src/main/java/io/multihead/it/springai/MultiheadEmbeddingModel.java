package io.multihead.it.springai;

import io.multihead.encoder.SentenceEncoder;
import io.multihead.encoder.TextEmbedding;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.springframework.ai.chat.metadata.DefaultUsage;
import org.springframework.ai.document.Document;
import org.springframework.ai.document.MetadataMode;
import org.springframework.ai.embedding.BatchingStrategy;
import org.springframework.ai.embedding.Embedding;
import org.springframework.ai.embedding.EmbeddingModel;
import org.springframework.ai.embedding.EmbeddingOptions;
import org.springframework.ai.embedding.EmbeddingRequest;
import org.springframework.ai.embedding.EmbeddingResponse;
import org.springframework.ai.embedding.EmbeddingResponseMetadata;

/**
 * Spring AI's interface for a sentence encoder. This is an example to copy. Thread-safe. The encoder remains the
 * caller's.
 *
 * @param name the name of the model in metadata
 * @param encoder computes the vectors with its length policy and pooling
 */
public record MultiheadEmbeddingModel(String name, SentenceEncoder encoder) implements EmbeddingModel {
    @Override
    public EmbeddingResponse call(EmbeddingRequest request) {
        Iterator<TextEmbedding> results =
                encoder.embed(request.getInstructions().iterator());
        List<Embedding> embeddings = new ArrayList<>();
        int tokens = 0;
        while (results.hasNext()) {
            TextEmbedding result = results.next();
            embeddings.add(new Embedding(result.vector(), embeddings.size()));
            tokens += result.tokens() - result.ignoredTokens();
        }
        return new EmbeddingResponse(embeddings, new EmbeddingResponseMetadata(name, new DefaultUsage(tokens, 0)));
    }

    /** Computes the vector of a document with the model's prompt for documents, if it has one. */
    @Override
    public float[] embed(Document document) {
        return encoder.forDocuments().embed(getEmbeddingContent(document));
    }

    /** Computes the vectors of many documents for vector stores. The encoder divides them into batches. */
    @Override
    public List<float[]> embed(List<Document> documents, EmbeddingOptions options, BatchingStrategy batching) {
        List<String> texts = documents.stream().map(this::getEmbeddingContent).toList();
        return List.of(encoder.forDocuments().embed(texts));
    }

    /** Returns the text of a document to embed. This method is an override since Spring AI 2. */
    public String getEmbeddingContent(Document document) {
        return document.getFormattedContent(MetadataMode.EMBED);
    }

    @Override
    public int dimensions() {
        return encoder.dimension();
    }
}
