package io.multihead.it.springai;

import io.multihead.decoder.TextEmbedder;
import java.util.ArrayList;
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
 * Spring AI's interface for an embedder that is a language model, such as Qwen3-Embedding. This is an example to copy.
 * Thread-safe. The embedder's model remains the caller's.
 *
 * @param name the name of the model in metadata
 * @param embedder computes the vectors with its pooling and prompt
 */
public record MultiheadTextEmbeddingModel(String name, TextEmbedder embedder) implements EmbeddingModel {
    @Override
    public EmbeddingResponse call(EmbeddingRequest request) {
        List<String> texts = request.getInstructions();
        List<Embedding> embeddings = new ArrayList<>();
        for (float[] vector : embedder.embed(texts)) {
            embeddings.add(new Embedding(vector, embeddings.size()));
        }
        int tokens = texts.stream().mapToInt(embedder::count).sum();
        return new EmbeddingResponse(embeddings, new EmbeddingResponseMetadata(name, new DefaultUsage(tokens, 0)));
    }

    /** Computes the vector of a document with the model's prompt for documents, if it has one. */
    @Override
    public float[] embed(Document document) {
        return embedder.forDocuments().embed(getEmbeddingContent(document));
    }

    /** Computes the vectors of many documents for vector stores. The embedder divides them into batches. */
    @Override
    public List<float[]> embed(List<Document> documents, EmbeddingOptions options, BatchingStrategy batching) {
        List<String> texts = documents.stream().map(this::getEmbeddingContent).toList();
        return List.of(embedder.forDocuments().embed(texts));
    }

    /** Returns the text of a document to embed. This method is an override since Spring AI 2. */
    public String getEmbeddingContent(Document document) {
        return document.getFormattedContent(MetadataMode.EMBED);
    }

    @Override
    public int dimensions() {
        return embedder.dimension();
    }
}
