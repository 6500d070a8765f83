package io.multihead.it.lucene;

import io.multihead.encoder.SentenceEncoder;
import java.io.IOException;
import java.util.List;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.KnnFloatVectorField;
import org.apache.lucene.document.StoredField;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.VectorSimilarityFunction;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.KnnFloatVectorQuery;
import org.apache.lucene.search.TopDocs;

/**
 * Documents with one vector each, and a search for the nearest documents. This is an example to copy. Lucene's score is
 * (1 + cosine) / 2.
 *
 * @param encoder computes vectors of length 1; remains the caller's
 */
public record VectorSearch(SentenceEncoder encoder) {
    static final String TEXT = "text";
    private static final String VECTOR = "vector";

    /** Adds one document for each text. */
    public void add(IndexWriter index, List<String> texts) throws IOException {
        float[][] vectors = encoder.forDocuments().embed(texts);
        for (int i = 0; i < vectors.length; i++) {
            Document document = new Document();
            document.add(new StoredField(TEXT, texts.get(i)));
            document.add(new KnnFloatVectorField(VECTOR, vectors[i], VectorSimilarityFunction.DOT_PRODUCT));
            index.addDocument(document);
        }
    }

    /** Returns the nearest documents of a query. */
    public TopDocs search(IndexSearcher searcher, String query, int topN) throws IOException {
        return searcher.search(
                new KnnFloatVectorQuery(VECTOR, encoder.forQueries().embed(query), topN), topN);
    }
}
