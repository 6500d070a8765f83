package io.multihead.it.lucene;

import io.multihead.compute.Compute;
import io.multihead.encoder.TokenEncoder;
import io.multihead.format.OnnxWeights;
import io.multihead.format.Safetensors;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.lucene.analysis.standard.StandardAnalyzer;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.index.StoredFields;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.MatchAllDocsQuery;
import org.apache.lucene.search.TopDocs;
import org.apache.lucene.store.ByteBuffersDirectory;
import org.apache.lucene.store.Directory;

/**
 * Requires that Lucene orders documents like the library's MaxSim, with MiniLM and a random projection to 128 elements,
 * which approximately preserves the angles between states.
 */
public final class Check {
    static final int DIM = 384;
    private static final int DIMENSION = 128;
    private static final int QUERY_TOKENS = 32;

    private static final String CONFIG = """
            {"architectures": ["%s"], "model_type": "bert", "hidden_act": "gelu", "hidden_size": 384,
             "num_hidden_layers": 6, "num_attention_heads": 12, "intermediate_size": 1536, "vocab_size": 30522,
             "max_position_embeddings": 512, "type_vocab_size": 2, "layer_norm_eps": 1e-12}
            """;

    private static final List<String> TEXTS = List.of(
            "A cat sleeps on the sofa, and nothing wakes it.",
            "Stocks fell on Monday as investors sold shares of banks.",
            "The recipe needs two eggs, flour, and a little milk.",
            "A dog, tired of barking, lies down beside the cat.",
            "The market lost ground after the central bank raised interest rates.",
            "He plays the violin in a small orchestra.");

    private static final String QUERY = "Why did shares lose value?";

    private Check() {}

    public static void main(String[] args) throws IOException {
        Path folder = write(Files.createTempDirectory("colbert"), "HF_ColBERT", Check::addProjection);
        try (Compute cpu = Compute.threads(2);
                TokenEncoder encoder = TokenEncoder.load(cpu, folder);
                Directory directory = new ByteBuffersDirectory()) {
            LateInteraction interaction = new LateInteraction(encoder);
            try (IndexWriter writer = new IndexWriter(directory, new IndexWriterConfig(new StandardAnalyzer()))) {
                interaction.add(writer, TEXTS);
            }
            try (DirectoryReader reader = DirectoryReader.open(directory)) {
                IndexSearcher searcher = new IndexSearcher(reader);
                TopDocs found =
                        interaction.search(searcher, QUERY, new MatchAllDocsQuery(), TEXTS.size(), TEXTS.size());
                compare(searcher.storedFields(), found, encoder.score(QUERY, encoder.embedDocuments(TEXTS)));
            }
            SparseCheck.run(cpu, TEXTS, QUERY);
            VectorCheck.run(cpu, TEXTS, QUERY);
        }
        delete(folder);
    }

    static void delete(Path folder) throws IOException {
        try (Stream<Path> files = Files.walk(folder)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        }
    }

    /**
     * Compares scores. Lucene's similarity of vectors of length 1 is (1 + product) / 2. A score is the sum of one
     * similarity for each token of the query.
     */
    private static void compare(StoredFields fields, TopDocs found, float[] scores) throws IOException {
        List<Integer> order = IntStream.range(0, scores.length)
                .boxed()
                .sorted(Comparator.comparing((Integer i) -> -scores[i]))
                .toList();
        require(found.scoreDocs.length == TEXTS.size(), found.scoreDocs.length + " documents");
        for (int i = 0; i < order.size(); i++) {
            String text = fields.document(found.scoreDocs[i].doc).get(LateInteraction.TEXT);
            require(text.equals(TEXTS.get(order.get(i))), "document at place " + i + ": " + text);
            double expected = (QUERY_TOKENS + scores[order.get(i)]) / 2;
            // 32 sums of 128 products, each below 1
            require(Math.abs(found.scoreDocs[i].score - expected) < 1e-4, "score " + found.scoreDocs[i].score);
        }
        require(order.subList(0, 2).containsAll(List.of(1, 4)), "order: " + order);
        System.out.println("Lucene: " + TEXTS.size() + " documents in the order of MaxSim, scores "
                + Arrays.toString(order.stream().mapToDouble(i -> scores[i]).toArray()));
    }

    /** Writes MiniLM as a folder with an architecture and the weights of a head. */
    static Path write(Path folder, String architecture, Consumer<Map<String, Tensor>> head) throws IOException {
        Files.writeString(folder.resolve("config.json"), CONFIG.formatted(architecture));
        try (InputStream model = Check.class.getResourceAsStream("/all-minilm-l6-v2.onnx");
                InputStream tokenizer = Check.class.getResourceAsStream("/all-minilm-l6-v2-tokenizer.json")) {
            Files.copy(tokenizer, folder.resolve("tokenizer.json"));
            OnnxWeights encoder = OnnxWeights.read(model);
            Map<String, Tensor> weights = new LinkedHashMap<>();
            encoder.names().forEach(name -> weights.put("bert." + name, encoder.get(name)));
            head.accept(weights);
            Safetensors.write(folder.resolve("model.safetensors"), weights, Map.of("format", "pt"));
        }
        return folder;
    }

    private static void addProjection(Map<String, Tensor> weights) {
        Random random = new Random(1);
        float[] projection = new float[DIMENSION * DIM];
        for (int i = 0; i < projection.length; i++) {
            projection[i] = (float) random.nextGaussian(0, 1 / Math.sqrt(DIM));
        }
        weights.put("linear.weight", Tensor.of(projection, DIMENSION, DIM));
    }

    private static void require(boolean condition, String message) {
        if (!condition) {
            throw new AssertionError("another " + message);
        }
    }
}
