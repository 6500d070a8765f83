package io.multihead.it.springai;

import io.multihead.encoder.RankedPassage;
import io.multihead.encoder.Reranker;
import java.util.ArrayList;
import java.util.List;
import org.springframework.ai.document.Document;
import org.springframework.ai.document.MetadataMode;
import org.springframework.ai.rag.Query;
import org.springframework.ai.rag.postretrieval.document.DocumentPostProcessor;

/**
 * Spring AI's post-processor of retrieved documents for a cross-encoder. This is an example to copy. It keeps the
 * documents with the highest scores, the best one first, each with its score. Thread-safe. The reranker remains the
 * caller's.
 *
 * @param reranker computes the scores
 * @param topN number of documents to keep, at least 1
 */
public record MultiheadDocumentReranker(Reranker reranker, int topN) implements DocumentPostProcessor {
    @Override
    public List<Document> process(Query query, List<Document> documents) {
        List<String> texts = documents.stream()
                .map(document -> document.getFormattedContent(MetadataMode.NONE))
                .toList();
        List<Document> best = new ArrayList<>();
        for (RankedPassage found : reranker.rank(query.text(), texts, topN)) {
            best.add(documents.get(found.index()).mutate().score(found.score()).build());
        }
        return best;
    }
}
