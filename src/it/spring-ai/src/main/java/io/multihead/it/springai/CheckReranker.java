package io.multihead.it.springai;

import io.multihead.compute.Compute;
import io.multihead.encoder.RankedPassage;
import io.multihead.encoder.Reranker;
import io.multihead.format.OnnxWeights;
import io.multihead.format.Safetensors;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.springframework.ai.document.Document;
import org.springframework.ai.rag.Query;
import org.springframework.ai.rag.postretrieval.document.DocumentPostProcessor;

/** Requires that Spring AI's post-processor keeps the reranker's best documents, with MiniLM and a head of random weights. */
final class CheckReranker {
    private static final int DIM = 384;

    private static final String CONFIG = """
            {"architectures": ["BertForSequenceClassification"], "id2label": {"0": "LABEL_0"}, "model_type": "bert",
             "hidden_act": "gelu", "hidden_size": 384, "num_hidden_layers": 6, "num_attention_heads": 12,
             "intermediate_size": 1536, "vocab_size": 30522, "max_position_embeddings": 512, "type_vocab_size": 2,
             "layer_norm_eps": 1e-12}
            """;

    private CheckReranker() {}

    static void run(Compute cpu, List<String> texts) throws IOException {
        Path folder = Files.createTempDirectory("reranker");
        write(folder);
        try (Reranker reranker = Reranker.load(cpu, folder)) {
            DocumentPostProcessor processor = new MultiheadDocumentReranker(reranker, 3);
            List<Document> documents = texts.stream().map(Document::new).toList();
            List<Document> best = processor.process(new Query("What did the market do?"), documents);
            List<RankedPassage> expected = reranker.rank("What did the market do?", texts, 3);
            require(best.size() == expected.size(), best.size() + " documents");
            for (int i = 0; i < best.size(); i++) {
                RankedPassage passage = expected.get(i);
                Document original = documents.get(passage.index());
                require(best.get(i).getId().equals(original.getId()), "document " + i);
                require(best.get(i).getScore() == passage.score(), "score " + i);
            }
            System.out.println("Spring AI: " + best.size() + " of " + texts.size() + " documents, the reranker's best");
        }
        for (String file : List.of("config.json", "tokenizer.json", "model.safetensors")) {
            Files.delete(folder.resolve(file));
        }
        Files.delete(folder);
    }

    private static void write(Path folder) throws IOException {
        Files.writeString(folder.resolve("config.json"), CONFIG);
        try (InputStream model = CheckReranker.class.getResourceAsStream("/all-minilm-l6-v2.onnx");
                InputStream tokenizer = CheckReranker.class.getResourceAsStream("/all-minilm-l6-v2-tokenizer.json")) {
            Files.copy(tokenizer, folder.resolve("tokenizer.json"));
            OnnxWeights encoder = OnnxWeights.read(model);
            Map<String, Tensor> weights = new LinkedHashMap<>();
            encoder.names().forEach(name -> weights.put(name, encoder.get(name)));
            weights.put("pooler.dense.weight", random(DIM * DIM, 1, DIM, DIM));
            weights.put("pooler.dense.bias", random(DIM, 2, DIM));
            weights.put("classifier.weight", random(DIM, 3, 1, DIM));
            weights.put("classifier.bias", random(1, 4, 1));
            Safetensors.write(folder.resolve("model.safetensors"), weights, Map.of("format", "pt"));
        }
    }

    private static Tensor random(int elements, long seed, long... dims) {
        Random random = new Random(seed);
        float[] values = new float[elements];
        for (int i = 0; i < elements; i++) {
            values[i] = (float) random.nextGaussian(0, 0.05);
        }
        return Tensor.of(values, dims);
    }

    private static void require(boolean condition, String message) {
        if (!condition) {
            throw new AssertionError("another " + message);
        }
    }
}
