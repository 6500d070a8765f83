package io.multihead.it.lucene;

import io.multihead.compute.Compute;
import io.multihead.encoder.Neighbor;
import io.multihead.encoder.SentenceEncoder;
import io.multihead.model.Pooling;
import java.io.IOException;
import java.io.InputStream;
import java.util.List;
import org.apache.lucene.analysis.standard.StandardAnalyzer;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.TopDocs;
import org.apache.lucene.store.ByteBuffersDirectory;
import org.apache.lucene.store.Directory;

/** Requires that Lucene finds the nearest neighbors of MiniLM's vectors in the right order. */
final class VectorCheck {
    /**
     * Two f32 sums of 384 products of vectors of length 1 differ by at most 384 units in the last place of 1. The score
     * halves this difference.
     */
    private static final double TOLERANCE = 384 * 0x1p-24;

    private VectorCheck() {}

    static void run(Compute cpu, List<String> texts, String query) throws IOException {
        try (InputStream weights = VectorCheck.class.getResourceAsStream("/all-minilm-l6-v2.onnx");
                InputStream tokenizer = VectorCheck.class.getResourceAsStream("/all-minilm-l6-v2-tokenizer.json");
                SentenceEncoder encoder = SentenceEncoder.ofOnnx(cpu, weights, tokenizer, Pooling.MEAN);
                Directory directory = new ByteBuffersDirectory()) {
            VectorSearch search = new VectorSearch(encoder);
            try (IndexWriter writer = new IndexWriter(directory, new IndexWriterConfig(new StandardAnalyzer()))) {
                search.add(writer, texts);
            }
            List<Neighbor> expected = Neighbor.nearest(encoder.embed(query), encoder.embed(texts), texts.size());
            try (DirectoryReader reader = DirectoryReader.open(directory)) {
                TopDocs found = search.search(new IndexSearcher(reader), query, texts.size());
                for (int i = 0; i < texts.size(); i++) {
                    Neighbor neighbor = expected.get(i);
                    String text = reader.storedFields()
                            .document(found.scoreDocs[i].doc)
                            .get(VectorSearch.TEXT);
                    double score = (1 + neighbor.similarity()) / 2;
                    if (!text.equals(texts.get(neighbor.index()))
                            || Math.abs(found.scoreDocs[i].score - score) > TOLERANCE) {
                        throw new AssertionError(text + ": " + found.scoreDocs[i].score + "; expected " + neighbor);
                    }
                }
            }
        }
        System.out.println("Lucene: nearest vectors, in the order of cosines");
    }
}
