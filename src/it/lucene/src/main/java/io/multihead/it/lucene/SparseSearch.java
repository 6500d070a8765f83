package io.multihead.it.lucene;

import io.multihead.encoder.SparseEncoder;
import io.multihead.encoder.SparseVector;
import java.io.IOException;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.FeatureField;
import org.apache.lucene.document.StoredField;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.search.BooleanClause;
import org.apache.lucene.search.BooleanQuery;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.MatchNoDocsQuery;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.TopDocs;

/**
 * Documents with sparse vectors, and a search with these vectors. This is an example to copy. Each word of a vector is
 * a feature. The score of a document is the sum of the products of its weights and the weights of the query. Lucene
 * stores weights of documents in 16 bits, with 8 bits of precision.
 *
 * @param encoder computes the vectors; remains the caller's
 * @param most the maximum number of clauses of a query, which has the words with the largest weights
 */
public record SparseSearch(SparseEncoder encoder, int most) {
    static final String TEXT = "text";
    static final String WORDS = "words";

    /** The largest weight that Lucene accepts in a query. */
    private static final float LARGEST = 64;

    /** Adds one document for each text. */
    public void add(IndexWriter index, List<String> texts) throws IOException {
        List<SparseVector> vectors = encoder.embed(texts);
        for (int i = 0; i < texts.size(); i++) {
            Document document = new Document();
            document.add(new StoredField(TEXT, texts.get(i)));
            int[] ids = vectors.get(i).ids();
            float[] weights = vectors.get(i).weights();
            for (int k = 0; k < ids.length; k++) {
                if (weights[k] >= Float.MIN_NORMAL) { // Lucene refuses smaller weights
                    document.add(new FeatureField(WORDS, word(ids[k]), weights[k]));
                }
            }
            index.addDocument(document);
        }
    }

    /** Returns the best documents for a query. */
    public TopDocs search(IndexSearcher searcher, String query, int topN) throws IOException {
        return searcher.search(query(encoder.embed(query)), topN);
    }

    private Query query(SparseVector vector) {
        BooleanQuery.Builder words = new BooleanQuery.Builder();
        List<Integer> largest = Arrays.stream(vector.ids())
                .boxed()
                .sorted(Comparator.comparing(id -> -vector.weight(id)))
                .limit(most)
                .toList();
        for (int id : largest) {
            float weight = Math.min(LARGEST, vector.weight(id));
            words.add(FeatureField.newLinearQuery(WORDS, word(id), weight), BooleanClause.Occur.SHOULD);
        }
        return largest.isEmpty() ? new MatchNoDocsQuery() : words.build();
    }

    private String word(int id) {
        return encoder.tokenizer().token(id);
    }
}
