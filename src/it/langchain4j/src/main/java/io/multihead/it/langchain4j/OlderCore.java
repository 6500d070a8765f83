package io.multihead.it.langchain4j;

import dev.langchain4j.data.embedding.Embedding;
import dev.langchain4j.data.segment.TextSegment;
import dev.langchain4j.model.output.Response;
import io.multihead.langchain4j.MultiheadEmbeddingModel;
import java.io.IOException;
import java.util.Arrays;
import java.util.List;

/** The adapter with a core that has no requests. Segments and texts have the vectors of the encoder. */
public final class OlderCore {
    private OlderCore() {}

    public static void main(String[] arguments) throws IOException {
        List<String> texts = List.of("Hello, World!", "unaffable");
        try (MultiheadEmbeddingModel model =
                MultiheadEmbeddingModel.allMiniLmL6V2().threads(2).build()) {
            float[][] expected = model.encoder().embed(texts);
            Response<List<Embedding>> all =
                    model.embedAll(texts.stream().map(TextSegment::from).toList());
            int tokens = 0;
            for (int i = 0; i < expected.length; i++) {
                require(expected[i], all.content().get(i));
                require(expected[i], model.embed(texts.get(i)).content());
                tokens += model.tokenCountEstimator().estimateTokenCountInText(texts.get(i));
            }
            if (tokens != all.tokenUsage().inputTokenCount()) {
                throw new AssertionError(all.tokenUsage() + "; expected " + tokens + " tokens");
            }
        }
        System.out.println("older core: the encoder's vectors");
        OlderScoring.run();
        OlderChat.run();
    }

    private static void require(float[] expected, Embedding actual) {
        if (!Arrays.equals(expected, actual.vector())) {
            throw new AssertionError(actual + "; expected " + Arrays.toString(expected));
        }
    }
}
