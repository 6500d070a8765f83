package io.multihead.it.lucene;

import io.multihead.encoder.TokenEncoder;
import io.multihead.encoder.TokenVectors;
import java.io.IOException;
import java.util.List;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.LateInteractionField;
import org.apache.lucene.document.TextField;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.VectorSimilarityFunction;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.LateInteractionRescorer;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.TopDocs;

/**
 * Documents with the vectors of their tokens, and a search that reranks with these vectors. This is an example to copy.
 * A first query, by words or by vectors of whole texts, finds candidates. Late interaction orders them.
 *
 * @param encoder computes the vectors; remains the caller's
 */
public record LateInteraction(TokenEncoder encoder) {
    static final String TEXT = "text";
    static final String TOKENS = "tokens";

    /** Adds one document for each text. */
    public void add(IndexWriter index, List<String> texts) throws IOException {
        TokenVectors vectors = encoder.embedDocuments(texts);
        for (int i = 0; i < texts.size(); i++) {
            Document document = new Document();
            document.add(new TextField(TEXT, texts.get(i), Field.Store.YES));
            document.add(new LateInteractionField(TOKENS, vectors.vectors(i)));
            index.addDocument(document);
        }
    }

    /**
     * Returns the best documents for a query.
     *
     * @param first finds the candidates
     * @param candidates the number of candidates to rerank
     * @param topN number of results
     */
    public TopDocs search(IndexSearcher searcher, String query, Query first, int candidates, int topN)
            throws IOException {
        float[][] tokens = encoder.embedQueries(List.of(query)).vectors(0);
        TopDocs found = searcher.search(first, candidates);
        return LateInteractionRescorer.create(TOKENS, tokens, VectorSimilarityFunction.DOT_PRODUCT)
                .rescore(searcher, found, topN);
    }
}
