package io.multihead.it.langchain4j;

import dev.langchain4j.data.embedding.Embedding;
import dev.langchain4j.data.segment.TextSegment;
import dev.langchain4j.model.embedding.EmbeddingModel;
import dev.langchain4j.model.output.Response;
import io.multihead.encoder.Neighbor;
import io.multihead.langchain4j.MultiheadEmbeddingModel;
import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Compares this library's vectors, computed alone and in one batch, with the vectors of langchain4j's classes. */
public final class Ours {
    /** The rounding errors of two f32 encoders differ by about 2e-7 per element of a vector of length 1. */
    private static final double TOLERANCE = 1e-6;

    /** The number of tokens of a text that langchain4j's MiniLM embeds. It ignores the rest. */
    private static final int MINILM_TOKENS = 126;

    /**
     * The number of tokens that langchain4j's other models embed as one part, which is their number of positions minus
     * two.
     */
    private static final int MOST_TOKENS = 510;

    /** The text itself and its three nearest texts. */
    private static final int NEIGHBORS = 4;

    private record Expected(String text, int tokens, float[] vector) {}

    private Ours() {}

    public static void main(String[] args) throws IOException {
        Map<String, List<Expected>> all = read(Path.of(args[0]));
        compare("all-minilm-l6-v2", MultiheadEmbeddingModel.allMiniLmL6V2().build(), MINILM_TOKENS, all);
        compare("bge-small-en-v1.5", MultiheadEmbeddingModel.bgeSmallEnV15().build(), MOST_TOKENS, all);
        compare("bge-small-zh-v1.5", MultiheadEmbeddingModel.bgeSmallZhV15().build(), MOST_TOKENS, all);
        compare("e5-small-v2", MultiheadEmbeddingModel.e5SmallV2().threads(2).build(), MOST_TOKENS, all);
    }

    private static Map<String, List<Expected>> read(Path file) throws IOException {
        Map<String, List<Expected>> all = new LinkedHashMap<>();
        try (DataInputStream in = new DataInputStream(new BufferedInputStream(Files.newInputStream(file)))) {
            while (in.available() > 0) {
                String model = in.readUTF();
                String text = in.readUTF();
                int tokens = in.readInt();
                float[] vector = new float[in.readInt()];
                for (int i = 0; i < vector.length; i++) {
                    vector[i] = in.readFloat();
                }
                all.computeIfAbsent(model, name -> new ArrayList<>()).add(new Expected(text, tokens, vector));
            }
        }
        return all;
    }

    private static void compare(
            String name, MultiheadEmbeddingModel closed, int mostTokens, Map<String, List<Expected>> all) {
        try (closed) {
            EmbeddingModel model = closed;
            List<Expected> texts = all.get(name);
            Response<List<Embedding>> batch = model.embedAll(texts.stream()
                    .map(expected -> TextSegment.from(expected.text))
                    .toList());
            double worst = 0;
            int longest = 0;
            for (int i = 0; i < texts.size(); i++) {
                Expected expected = texts.get(i);
                Response<Embedding> alone = model.embed(expected.text);
                require(
                        alone.tokenUsage().inputTokenCount() == expected.tokens,
                        name + ": other tokens: " + expected.text);
                require(
                        alone.content().equals(batch.content().get(i)),
                        name + ": other bits in a batch: " + expected.text);
                float[] actual = alone.content().vector();
                require(actual.length == expected.vector.length, name + ": " + actual.length + " elements");
                for (int k = 0; k < actual.length; k++) {
                    worst = Math.max(worst, Math.abs(actual[k] - expected.vector[k]));
                }
                longest = Math.max(longest, expected.tokens);
            }
            require(worst <= TOLERANCE, name + ": differs by " + worst);
            // both classes embed the last token before the limit, so texts must reach it
            require(longest == mostTokens, name + ": texts of up to " + longest + " tokens, not " + mostTokens);
            requireSameNeighbors(name, texts, batch.content());
            System.out.println(
                    name + ": " + texts.size() + " texts of up to " + longest + " tokens, differences up to " + worst);
        }
    }

    /**
     * Requires that the three nearest other texts of each text are the same with the expected vectors and with this
     * library's.
     */
    private static void requireSameNeighbors(String name, List<Expected> texts, List<Embedding> ours) {
        float[][] expected = texts.stream().map(Expected::vector).toArray(float[][]::new);
        float[][] actual = ours.stream().map(Embedding::vector).toArray(float[][]::new);
        for (int i = 0; i < expected.length; i++) {
            List<Integer> same = indices(Neighbor.nearest(expected[i], expected, NEIGHBORS));
            require(
                    same.equals(indices(Neighbor.nearest(actual[i], actual, NEIGHBORS))),
                    name + ": other neighbors: " + texts.get(i).text);
        }
    }

    private static List<Integer> indices(List<Neighbor> neighbors) {
        return neighbors.stream().map(Neighbor::index).toList();
    }

    private static void require(boolean condition, String message) {
        if (!condition) {
            throw new AssertionError(message);
        }
    }
}
