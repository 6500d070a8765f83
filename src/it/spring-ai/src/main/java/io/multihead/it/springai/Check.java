package io.multihead.it.springai;

import io.multihead.compute.Compute;
import io.multihead.encoder.SentenceEncoder;
import io.multihead.model.Pooling;
import java.io.InputStream;
import java.util.Arrays;
import java.util.List;
import org.springframework.ai.document.Document;
import org.springframework.ai.embedding.EmbeddingModel;
import org.springframework.ai.embedding.EmbeddingOptions;
import org.springframework.ai.embedding.EmbeddingResponse;
import org.springframework.ai.embedding.TokenCountBatchingStrategy;

/** Requires that Spring AI's calls return the vectors of the encoder, with MiniLM. */
public final class Check {
    private static final List<String> TEXTS =
            List.of("A cat sleeps.", "", "Stocks fell.", "The market lost ground, and a cat slept through it.");

    private Check() {}

    public static void main(String[] args) throws Exception {
        try (Compute cpu = Compute.threads(2);
                InputStream weights = Check.class.getResourceAsStream("/all-minilm-l6-v2.onnx");
                InputStream tokenizer = Check.class.getResourceAsStream("/all-minilm-l6-v2-tokenizer.json");
                SentenceEncoder encoder = SentenceEncoder.ofOnnx(cpu, weights, tokenizer, Pooling.MEAN)) {
            EmbeddingModel model = new MultiheadEmbeddingModel("all-MiniLM-L6-v2", encoder);
            float[][] expected = encoder.embed(TEXTS);
            EmbeddingResponse response = model.embedForResponse(TEXTS);
            int tokens = TEXTS.stream()
                    .mapToInt(text -> encoder.tokenizer().count(text))
                    .sum();
            require(model.dimensions() == 384, "dimensions: " + model.dimensions());
            require(response.getMetadata().getModel().equals("all-MiniLM-L6-v2"), "name of the model");
            require(response.getMetadata().getUsage().getPromptTokens() == tokens, "number of tokens");
            for (int i = 0; i < expected.length; i++) {
                require(response.getResults().get(i).getIndex() == i, "index " + i);
                same(expected[i], response.getResults().get(i).getOutput(), "response " + i);
                same(expected[i], model.embed(TEXTS).get(i), "list " + i);
                same(expected[i], model.embed(TEXTS.get(i)), "text " + i);
            }
            Document document = new Document(TEXTS.get(0));
            same(expected[0], model.embed(document), "document");
            List<float[]> stored = model.embed(
                    List.of(document, new Document(TEXTS.get(2))),
                    EmbeddingOptions.builder().build(),
                    new TokenCountBatchingStrategy());
            same(expected[0], stored.get(0), "first document of a store");
            same(expected[2], stored.get(1), "second document of a store");
            System.out.println("Spring AI: " + TEXTS.size() + " texts, the encoder's vectors");
            CheckReranker.run(cpu, TEXTS);
            CheckChat.run(cpu);
            CheckTextEmbedding.run(cpu);
        }
        CheckHttp.run();
    }

    private static void same(float[] expected, float[] actual, String what) {
        require(Arrays.equals(expected, actual), "another vector: " + what);
    }

    private static void require(boolean condition, String message) {
        if (!condition) {
            throw new AssertionError(message);
        }
    }
}
