package io.multihead.langchain4j;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.data.message.SystemMessage;
import dev.langchain4j.data.message.TextContent;
import dev.langchain4j.data.message.UserMessage;
import dev.langchain4j.data.segment.TextSegment;
import dev.langchain4j.model.TokenCountEstimator;
import dev.langchain4j.model.embedding.request.EmbeddingInputType;
import dev.langchain4j.model.embedding.request.EmbeddingRequest;
import dev.langchain4j.model.embedding.response.EmbeddingResponse;
import io.multihead.compute.Compute;
import io.multihead.encoder.LongTexts;
import io.multihead.encoder.TinyModel;
import io.multihead.model.Pooling;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The adapter to langchain4j with the model in MiniLM's jar: prompts, token counts, options and errors. */
class MultiheadEmbeddingModelTest {
    private static final Compute CPU = Compute.serial();
    private static final MultiheadEmbeddingModel MODEL = MultiheadEmbeddingModel.allMiniLmL6V2()
            .queryPrefix("query: ")
            .compute(CPU)
            .build();

    @AfterAll
    static void close() {
        MODEL.close();
    }

    @Test
    void textsBecomeTheEncodersVectors() {
        List<TextSegment> texts = List.of(TextSegment.from("Hello, World!"), TextSegment.from("unaffable"));
        var response = MODEL.embedAll(texts);
        assertEquals(2, response.content().size());
        assertArrayEquals(
                MODEL.encoder().embed("Hello, World!"),
                response.content().get(0).vector());
        assertArrayEquals(
                MODEL.encoder().embed("unaffable"), response.content().get(1).vector());
        assertEquals(4 + 3, response.tokenUsage().inputTokenCount());
        assertArrayEquals(
                MODEL.encoder().embed("unaffable"),
                MODEL.embed("unaffable").content().vector());
        assertEquals(384, MODEL.dimension());
        assertEquals("all-minilm-l6-v2", MODEL.modelName());
    }

    @Test
    void inputTypesChoosePrompts() {
        EmbeddingRequest.Builder request = EmbeddingRequest.builder().inputs("abc");
        assertArrayEquals(
                MODEL.encoder().embed("query: abc"),
                vector(MODEL.embed(request.inputType(EmbeddingInputType.QUERY).build())));
        assertArrayEquals(
                MODEL.encoder().embed("abc"),
                vector(MODEL.embed(
                        request.inputType(EmbeddingInputType.DOCUMENT).build())));
    }

    private static float[] vector(EmbeddingResponse response) {
        return response.embeddings().get(0).vector();
    }

    @Test
    void tokensThatAreCutOffAreNotCounted() {
        String text = "word ".repeat(300);
        assertEquals(254, MODEL.embed(text).tokenUsage().inputTokenCount());
        try (MultiheadEmbeddingModel split = MultiheadEmbeddingModel.allMiniLmL6V2()
                .longTexts(LongTexts.SPLIT_AND_AVERAGE)
                .maxTokens(128)
                .threads(2)
                .modelName("split")
                .build()) {
            assertEquals(300, split.embed(text).tokenUsage().inputTokenCount());
            assertEquals("split", split.modelName());
        }
    }

    @Test
    void tokensAreCounted() {
        TokenCountEstimator estimator = MODEL.tokenCountEstimator();
        assertEquals(4, estimator.estimateTokenCountInText("Hello, World!"));
        assertEquals(0, estimator.estimateTokenCountInText(""));
        assertEquals(
                4 + 1 + 2,
                estimator.estimateTokenCountInMessages(List.of(
                        UserMessage.from("Hello, World!"), SystemMessage.from("word"), AiMessage.from("two words"))));
        UserMessage two = UserMessage.from(TextContent.from("one"), TextContent.from("two"));
        IllegalArgumentException refused =
                assertThrows(IllegalArgumentException.class, () -> estimator.estimateTokenCountInMessage(two));
        assertEquals("message: 2 contents; expected a message with one text and nothing else", refused.getMessage());
    }

    @Test
    void aMissingModelIsNamed(@TempDir Path folder) {
        UncheckedIOException missing = assertThrows(UncheckedIOException.class, () -> MultiheadEmbeddingModel.builder()
                .resources("none.onnx", "none.json", Pooling.CLS)
                .build());
        assertTrue(missing.getMessage().contains("resource none.onnx: not on the class path"), missing.getMessage());
        assertTrue(missing.getMessage().contains("by .classLoader(...)"), missing.getMessage());
        assertThrows(
                UncheckedIOException.class,
                () -> MultiheadEmbeddingModel.builder().directory(folder).build());
        IllegalArgumentException neither =
                assertThrows(IllegalArgumentException.class, () -> MultiheadEmbeddingModel.builder()
                        .build());
        assertEquals("model: neither directory, packed file nor resources; expected one of them", neither.getMessage());
    }

    /** The name is the name of the folder, even if the path ends with a dot. */
    @Test
    void theNameIsThatOfTheFolder(@TempDir Path folder) throws IOException {
        Path tiny = TinyModel.write(folder.resolve("tiny"));
        for (Path path : List.of(tiny, tiny.resolve("."), tiny.resolve("1_Pooling/.."))) {
            try (MultiheadEmbeddingModel model =
                    MultiheadEmbeddingModel.builder().directory(path).build()) {
                assertEquals("tiny", model.modelName());
            }
        }
    }

    /** The packed file's setting for long texts applies unless the builder sets another. */
    @Test
    void longTextsAreThoseOfThePackedFile(@TempDir Path folder) throws IOException {
        Path file = folder.resolve("packed");
        MODEL.encoder().withMaxTokens(4).withLongTexts(LongTexts.FAIL).write(file);
        try (MultiheadEmbeddingModel packed =
                        MultiheadEmbeddingModel.builder().packedFile(file).build();
                MultiheadEmbeddingModel truncating = MultiheadEmbeddingModel.builder()
                        .packedFile(file)
                        .longTexts(LongTexts.TRUNCATE)
                        .build()) {
            assertThrows(IllegalArgumentException.class, () -> packed.embed("one two three"));
            assertArrayEquals(
                    MODEL.embed("one two").content().vector(),
                    truncating.embed("one two three").content().vector());
        }
    }

    /**
     * The encoder comes from the file. Prefixes and the name come from the builder. The builder's resources are not
     * read.
     */
    @Test
    void aPackedFileTakesThePlaceOfResources(@TempDir Path folder) throws IOException {
        Path file = folder.resolve("packed");
        MODEL.encoder().write(file);
        try (MultiheadEmbeddingModel packed = MultiheadEmbeddingModel.builder()
                        .resources("minilm.onnx", "none.json", Pooling.CLS)
                        .packedFile(file)
                        .queryPrefix("query: ")
                        .build();
                MultiheadEmbeddingModel unnamed =
                        MultiheadEmbeddingModel.builder().packedFile(file).build()) {
            assertEquals("minilm", packed.modelName());
            assertEquals("packed", unnamed.modelName());
            float[] expected = MODEL.embed("query: a text").content().vector();
            assertArrayEquals(expected, unnamed.embed("query: a text").content().vector());
            EmbeddingRequest query = EmbeddingRequest.builder()
                    .inputs("a text")
                    .inputType(EmbeddingInputType.QUERY)
                    .build();
            assertArrayEquals(expected, packed.embed(query).embeddings().get(0).vector());
        }
    }

    /** langchain4j's segments must not be blank, but requests may have any text. */
    @Test
    void anEmptyTextHasAVectorForRequests() {
        assertThrows(IllegalArgumentException.class, () -> MODEL.embed(""));
        EmbeddingResponse response =
                MODEL.embed(EmbeddingRequest.builder().inputs("").build());
        assertArrayEquals(MODEL.encoder().embed(""), vector(response));
    }

    /** Found by a user: the message stated only the number of bytes of a header. */
    @Test
    void aPackedFileThatIsATextIsNamed(@TempDir Path folder) throws IOException {
        Path file = java.nio.file.Files.writeString(folder.resolve("pom.xml"), "<?xml version=\"1.0\"?>");
        IllegalArgumentException wrong = assertThrows(
                IllegalArgumentException.class,
                () -> MultiheadEmbeddingModel.builder().packedFile(file).build());
        assertEquals(
                file + ": file: begins with the text \"<?xml version=\"1.0\"?>\"; expected safetensors",
                wrong.getMessage());
    }
}
