package io.multihead.langchain4j;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.langchain4j.data.segment.TextSegment;
import dev.langchain4j.model.embedding.request.EmbeddingInputType;
import dev.langchain4j.model.embedding.request.EmbeddingRequest;
import dev.langchain4j.model.embedding.response.EmbeddingResponse;
import io.multihead.compute.Compute;
import io.multihead.decoder.FamilyModel;
import io.multihead.decoder.LanguageModel;
import io.multihead.decoder.LoadListener;
import io.multihead.decoder.LoadOptions;
import io.multihead.decoder.SessionOptions;
import io.multihead.decoder.TextEmbedder;
import io.multihead.decoder.TextReranker;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The adapters of embedders and rerankers that are language models: numbers, options and errors. */
class MultiheadTextModelsTest {
    private static final String PROMPTS = "{\"query\": \"find: \", \"document\": \"text: \"}";
    private static final SessionOptions SESSIONS = SessionOptions.DEFAULT.withSessions(2);

    @TempDir
    private Path folder;

    @Test
    void vectorsAreTheEmbeddersWithThePromptsOfItsFolder() throws IOException {
        FamilyModel.writePrompts(folder, PROMPTS);
        try (MultiheadTextEmbeddingModel model = MultiheadTextEmbeddingModel.builder()
                        .path(folder)
                        .threads(2)
                        .modelName("tiny")
                        .build();
                Compute cpu = Compute.serial();
                LanguageModel loaded = LanguageModel.load(cpu, folder)) {
            TextEmbedder embedder = loaded.embedder();
            assertEquals(64, model.dimension());
            assertEquals("tiny", model.modelName());
            assertArrayEquals(
                    embedder.embed("a bird"), model.embed("a bird").content().vector());
            EmbeddingRequest.Builder request = EmbeddingRequest.builder().inputs("a bird", "x");
            EmbeddingResponse queries =
                    model.embed(request.inputType(EmbeddingInputType.QUERY).build());
            assertArrayEquals(
                    embedder.forQueries().embed("x"),
                    queries.embeddings().get(1).vector());
            assertEquals(2 * 6 + 6 + 1, queries.tokenUsage().inputTokenCount());
            assertEquals("tiny", queries.modelName());
            assertArrayEquals(
                    embedder.forDocuments().embed("a bird"),
                    model.embed(request.inputType(EmbeddingInputType.DOCUMENT).build())
                            .embeddings()
                            .get(0)
                            .vector());
            assertEquals(
                    2,
                    model.embedAll(List.of(TextSegment.from("a"), TextSegment.from("b")))
                            .content()
                            .size());
        }
    }

    @Test
    void optionsReachTheModel() throws IOException {
        Path file = folder.resolve("tiny.gguf");
        FamilyModel.writeAnswers(file, 128);
        AtomicInteger calls = new AtomicInteger();
        LoadListener listener = (done, all) -> calls.incrementAndGet();
        try (Compute cpu = Compute.serial();
                MultiheadTextEmbeddingModel model = MultiheadTextEmbeddingModel.builder()
                        .path(file)
                        .compute(cpu)
                        .loadOptions(LoadOptions.DEFAULT.withListener(listener))
                        .embedder(embedder -> embedder.withNormalization(false).withPrompt("p: "))
                        .build()) {
            assertTrue(calls.get() > 0);
            assertEquals("tiny.gguf", model.modelName());
            assertArrayEquals(
                    model.embedder().withPrompt("").embed("p: x"),
                    model.embed("x").content().vector());
        }
    }

    @Test
    void scoresAreTheRerankers() throws IOException {
        Path file = folder.resolve("tiny.gguf");
        FamilyModel.writeAnswers(file, 600);
        List<TextSegment> segments = List.of(TextSegment.from("Tea is hot."), TextSegment.from("x"));
        try (MultiheadTextScoringModel model = MultiheadTextScoringModel.builder()
                        .path(file)
                        .sessions(SESSIONS)
                        .instruction("Find tea.")
                        .build();
                Compute cpu = Compute.serial();
                LanguageModel loaded = LanguageModel.load(cpu, file);
                TextReranker reranker = loaded.reranker(SESSIONS).withInstruction("Find tea.")) {
            List<Double> expected = Arrays.stream(reranker.score("hot", List.of("Tea is hot.", "x")))
                    .boxed()
                    .toList();
            assertEquals(expected, model.scoreAll(segments, "hot").content());
            assertEquals(expected.get(1), model.score("x", "hot").content());
            assertEquals(List.of(), model.scoreAll(List.of(), "hot").content());
            assertEquals("Find tea.", model.reranker().instruction());
        }
    }

    @Test
    void whatCannotBeLoadedIsNamed() throws IOException {
        assertEquals(
                "path: absent; expected a model's file",
                assertThrows(IllegalArgumentException.class, MultiheadTextScoringModel.builder()::build)
                        .getMessage());
        assertThrows(
                UncheckedIOException.class,
                MultiheadTextEmbeddingModel.builder().path(folder.resolve("none"))::build);
        Path file = folder.resolve("plain.gguf");
        FamilyModel.write(file);
        assertEquals(
                "tokenizer: no token yes; expected yes and no, as Qwen3-Reranker answers",
                assertThrows(
                                IllegalArgumentException.class,
                                MultiheadTextScoringModel.builder().path(file)::build)
                        .getMessage());
    }
}
