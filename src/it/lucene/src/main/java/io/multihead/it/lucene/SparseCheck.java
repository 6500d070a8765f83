package io.multihead.it.lucene;

import io.multihead.compute.Compute;
import io.multihead.encoder.SparseEncoder;
import io.multihead.encoder.SparseVector;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.lucene.analysis.standard.StandardAnalyzer;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.TopDocs;
import org.apache.lucene.store.ByteBuffersDirectory;
import org.apache.lucene.store.Directory;

/**
 * Requires that Lucene's scores of documents are the products of sparse vectors, with MiniLM and a head. The first
 * layer of the head is random, and its last layer is the table of words.
 */
final class SparseCheck {
    /** The bias of all logits, with which most words have no weight. */
    private static final float BIAS = -3;

    private static final int MOST = 256;

    private SparseCheck() {}

    static void run(Compute cpu, List<String> texts, String query) throws IOException {
        Path folder = Check.write(Files.createTempDirectory("splade"), "BertForMaskedLM", SparseCheck::addHead);
        try (SparseEncoder encoder = SparseEncoder.load(cpu, folder);
                Directory directory = new ByteBuffersDirectory()) {
            SparseSearch search = new SparseSearch(encoder, MOST);
            try (IndexWriter writer = new IndexWriter(directory, new IndexWriterConfig(new StandardAnalyzer()))) {
                search.add(writer, texts);
            }
            try (DirectoryReader reader = DirectoryReader.open(directory)) {
                IndexSearcher searcher = new IndexSearcher(reader);
                TopDocs found = search.search(searcher, query, texts.size());
                compare(searcher, found, encoder.embed(query), encoder, texts);
            }
        }
        Check.delete(folder);
    }

    private static void addHead(Map<String, Tensor> weights) {
        Random random = new Random(2);
        int dim = Check.DIM;
        float[] dense = new float[dim * dim];
        for (int i = 0; i < dense.length; i++) {
            dense[i] = (float) random.nextGaussian(0, 1);
        }
        float[] ones = new float[dim];
        Arrays.fill(ones, 1);
        int words = (int) weights.get("bert.embeddings.word_embeddings.weight").dim(0);
        float[] bias = new float[words];
        Arrays.fill(bias, BIAS);
        weights.put("cls.predictions.transform.dense.weight", Tensor.of(dense, dim, dim));
        weights.put("cls.predictions.transform.dense.bias", Tensor.of(new float[dim], dim));
        weights.put("cls.predictions.transform.LayerNorm.weight", Tensor.of(ones, dim));
        weights.put("cls.predictions.transform.LayerNorm.bias", Tensor.of(new float[dim], dim));
        weights.put("cls.predictions.bias", Tensor.of(bias, words));
    }

    private static void compare(
            IndexSearcher searcher, TopDocs found, SparseVector query, SparseEncoder encoder, List<String> texts)
            throws IOException {
        int[] searched = Arrays.stream(query.ids())
                .boxed()
                .sorted((a, b) -> Float.compare(query.weight(b), query.weight(a)))
                .limit(MOST)
                .mapToInt(Integer::intValue)
                .toArray();
        require(searched.length > 10, "query of " + searched.length + " words");
        require(found.scoreDocs.length == texts.size(), found.scoreDocs.length + " documents");
        for (int i = 0; i < found.scoreDocs.length; i++) {
            String text =
                    searcher.storedFields().document(found.scoreDocs[i].doc).get(SparseSearch.TEXT);
            SparseVector document = encoder.embed(text);
            double expected = 0;
            for (int id : searched) {
                expected += (double) query.weight(id) * document.weight(id);
            }
            float score = found.scoreDocs[i].score;
            // weights are truncated to 9 bits, including the leading bit; the sum is in f32
            require(Math.abs(score - expected) <= 0.005 * expected, "score " + score + ", not " + expected);
            require(i == 0 || score <= found.scoreDocs[i - 1].score, "order");
        }
        System.out.println("Lucene: " + texts.size() + " documents by sparse vectors of " + query.size() + " of "
                + encoder.vocabularySize() + " words");
    }

    private static void require(boolean condition, String message) {
        if (!condition) {
            throw new AssertionError("another " + message);
        }
    }
}
