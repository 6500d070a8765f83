package io.multihead.it.langchain4j;

import dev.langchain4j.data.segment.TextSegment;
import dev.langchain4j.model.scoring.ScoringModel;
import io.multihead.format.OnnxWeights;
import io.multihead.format.Safetensors;
import io.multihead.langchain4j.MultiheadScoringModel;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

/**
 * The scoring model with an older core, MiniLM and a head of random weights. Scores equal the scores of the reranker.
 */
final class OlderScoring {
    private static final int DIM = 384;
    private static final String QUERY = "What did the market do?";
    private static final List<String> TEXTS = List.of("A cat sleeps.", "Stocks fell.", "The market lost ground.");

    private static final String CONFIG = """
            {"architectures": ["BertForSequenceClassification"], "id2label": {"0": "LABEL_0"}, "model_type": "bert",
             "hidden_act": "gelu", "hidden_size": 384, "num_hidden_layers": 6, "num_attention_heads": 12,
             "intermediate_size": 1536, "vocab_size": 30522, "max_position_embeddings": 512, "type_vocab_size": 2,
             "layer_norm_eps": 1e-12}
            """;

    private OlderScoring() {}

    static void run() throws IOException {
        Path folder = Files.createTempDirectory("reranker");
        write(folder);
        try (MultiheadScoringModel model =
                MultiheadScoringModel.builder().directory(folder).threads(2).build()) {
            ScoringModel scoring = model;
            List<Double> expected =
                    Arrays.stream(model.reranker().score(QUERY, TEXTS)).boxed().toList();
            List<TextSegment> segments = TEXTS.stream().map(TextSegment::from).toList();
            require(expected.equals(scoring.scoreAll(segments, QUERY).content()), "scores");
            require(expected.get(1).equals(scoring.score(TEXTS.get(1), QUERY).content()), "score of a text");
            require(expected.get(2).equals(scoring.score(segments.get(2), QUERY).content()), "score of a segment");
            require(expected.stream().distinct().count() == TEXTS.size(), "scores of unlike texts");
        }
        for (String file : List.of("config.json", "tokenizer.json", "model.safetensors")) {
            Files.delete(folder.resolve(file));
        }
        Files.delete(folder);
        System.out.println("older core: the reranker's scores");
    }

    private static void write(Path folder) throws IOException {
        Files.writeString(folder.resolve("config.json"), CONFIG);
        try (InputStream model = OlderScoring.class.getResourceAsStream("/all-minilm-l6-v2.onnx");
                InputStream tokenizer = OlderScoring.class.getResourceAsStream("/all-minilm-l6-v2-tokenizer.json")) {
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
            throw new AssertionError("other " + message);
        }
    }
}
