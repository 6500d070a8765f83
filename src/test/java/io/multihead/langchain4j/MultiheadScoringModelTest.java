package io.multihead.langchain4j;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.langchain4j.data.segment.TextSegment;
import dev.langchain4j.model.scoring.ScoringModel;
import io.multihead.compute.Compute;
import io.multihead.encoder.Reranker;
import io.multihead.encoder.ScoreActivation;
import io.multihead.encoder.TinyReranker;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The adapter to langchain4j's scoring models: scores, options and errors. */
class MultiheadScoringModelTest {
    @TempDir
    Path folder;

    @BeforeEach
    void write() throws IOException {
        new TinyReranker(1, 1).write(folder);
    }

    @Test
    void scoresAreTheRerankers() throws IOException {
        List<TextSegment> segments = List.of(TextSegment.from("de f"), TextSegment.from("ab"), TextSegment.from("xyz"));
        try (MultiheadScoringModel model = MultiheadScoringModel.builder()
                        .directory(folder)
                        .threads(2)
                        .build();
                Reranker reranker = Reranker.load(Compute.serial(), folder)) {
            ScoringModel scoring = model;
            List<Double> expected = Arrays.stream(reranker.score("ab c", List.of("de f", "ab", "xyz")))
                    .boxed()
                    .toList();
            assertEquals(expected, scoring.scoreAll(segments, "ab c").content());
            assertEquals(expected.get(0), scoring.score("de f", "ab c").content());
            assertEquals(expected.get(2), scoring.score(segments.get(2), "ab c").content());
            assertEquals(List.of(), scoring.scoreAll(List.of(), "ab c").content());
        }
    }

    @Test
    void optionsAreTheRerankers() throws IOException {
        try (Compute cpu = Compute.serial()) {
            try (MultiheadScoringModel model = MultiheadScoringModel.builder()
                    .directory(folder)
                    .maxTokens(9)
                    .activation(ScoreActivation.IDENTITY)
                    .compute(cpu)
                    .build()) {
                assertEquals(9, model.reranker().maxTokens());
                assertEquals(ScoreActivation.IDENTITY, model.reranker().activation());
            }
            Reranker.load(cpu, folder).close(); // the caller's Compute is still open
        }
    }

    @Test
    void whatCannotScoreIsNamed() throws IOException {
        MultiheadScoringModel.Builder builder = MultiheadScoringModel.builder();
        assertEquals(
                "model: no directory; expected one",
                assertThrows(IllegalArgumentException.class, builder::build).getMessage());
        Path three = new TinyReranker(1, 3).write(folder.resolve("three"));
        assertEquals(
                "model: 3 labels; expected 1, for a score",
                assertThrows(IllegalArgumentException.class, builder.directory(three)::build)
                        .getMessage());
        assertThrows(UncheckedIOException.class, builder.directory(folder.resolve("none"))::build);
        assertTrue(assertThrows(
                        IllegalArgumentException.class,
                        builder.directory(folder).maxTokens(1000)::build)
                .getMessage()
                .startsWith("maxTokens: 1000; expected at most"));
        assertThrows(IllegalArgumentException.class, () -> builder.maxTokens(2));
        assertThrows(IllegalArgumentException.class, () -> builder.threads(0));
    }
}
