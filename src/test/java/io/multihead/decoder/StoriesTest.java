package io.multihead.decoder;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.multihead.cache.CacheFormat;
import io.multihead.compute.Compute;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A trained decoder, stories260K, in several GGUF formats. A plain implementation in double generated the expected ids from the same
 * weights. Rounding in f32 cannot change the ids: the two largest logits differ by at least 0.0046 in all prompts and files, and errors of
 * logits in f32 are below 2e-5.
 */
@Tag("lanes")
@Tag("bits")
class StoriesTest {
    private static final String PUBLISHED =
            ", there was a little girl named Lily. She loved to play outside in the park. One day,"
                    + " she saw a big, red ball.";

    @ParameterizedTest
    @ValueSource(strings = {"f32", "f16", "q8_0", "q4_0"})
    void greedyIdsAreThoseOfThePlainImplementation(String format) throws IOException {
        String name = "stories260K." + format + ".gguf";
        JsonNode golden = new ObjectMapper()
                .readTree(file("golden.json").toFile())
                .get("files")
                .get(name);
        assertEquals(2, golden.size());
        try (Compute cpu = Compute.threads(2);
                LanguageModel model = LanguageModel.load(cpu, file(name));
                Sessions sessions = model.sessions(SessionOptions.DEFAULT.withCacheFormat(CacheFormat.F32))) {
            for (JsonNode each : golden) {
                try (Session session = sessions.open()) {
                    session.append(each.get("prompt").asText());
                    assertArrayEquals(ints(each.get("prompt_ids")), session.tokens());
                    GeneratedText text = session.generate(GenerationOptions.DEFAULT.withMaxTokens(100));
                    int[] ids =
                            text.tokens().stream().mapToInt(GeneratedToken::id).toArray();
                    assertArrayEquals(ints(each.get("double")), ids, name + ": " + text.text());
                }
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"f32", "f16", "q8_0"})
    void theTextIsThePublishedOne(String format) throws IOException {
        try (Compute cpu = Compute.serial();
                LanguageModel model = LanguageModel.load(cpu, file("stories260K." + format + ".gguf"));
                Sessions sessions = model.sessions(SessionOptions.DEFAULT);
                Session session = sessions.open()) {
            StringBuilder streamed = new StringBuilder();
            GeneratedText text = session.append("Once upon a time")
                    .generate(GenerationOptions.DEFAULT.withMaxTokens(100), token -> {
                        streamed.append(token.text());
                        return true;
                    });
            assertTrue(text.text().startsWith(PUBLISHED), text.text());
            assertEquals(text.text(), streamed.toString());
            assertEquals(FinishReason.MAX_TOKENS, text.finish());
        }
    }

    /** The test has the options of the first program of the page. The output of the program is in a separate block of the page. */
    @Test
    void thePageHasTheTextOfItsProgram() throws IOException {
        String page = Files.readString(Path.of("docs/language-models.md"));
        String expected = page.substring(page.indexOf("```text\n") + 8);
        expected = expected.substring(0, expected.indexOf("\n```"));
        assertTrue(page.contains("Sampling.of(0.7, 42).withTopP(0.9)"), page);
        try (Compute cpu = Compute.threads(2);
                LanguageModel model = LanguageModel.load(cpu, file("stories260K.f32.gguf"));
                Sessions sessions = model.sessions(SessionOptions.DEFAULT);
                Session session = sessions.open().append("Once upon a time")) {
            GenerationOptions options = GenerationOptions.DEFAULT
                    .withMaxTokens(100)
                    .withSampling(Sampling.of(0.7, 42).withTopP(0.9));
            String text = session.generate(options).text();
            assertTrue(text.startsWith(expected), text);
        }
    }

    @Test
    void allOfThemInOneBatchHaveTheSameTexts() throws IOException {
        String[] prompts = {"Once upon a time", "The dog", "Lily saw", "One day", "It was"};
        try (Compute cpu = Compute.threads(2);
                LanguageModel model = LanguageModel.load(cpu, file("stories260K.q8_0.gguf"));
                Sessions sessions = model.sessions(SessionOptions.DEFAULT.withSessions(2 * prompts.length))) {
            GenerationOptions options =
                    GenerationOptions.DEFAULT.withMaxTokens(40).withSampling(Sampling.of(0.8, 7));
            String[] alone = Stream.of(prompts)
                    .map(prompt ->
                            sessions.open().append(prompt).generate(options).text())
                    .toArray(String[]::new);
            Session[] open = Stream.of(prompts)
                    .map(prompt -> sessions.open().append(prompt))
                    .toArray(Session[]::new);
            String[] together = sessions
                    .generate(
                            Arrays.asList(open),
                            IntStream.range(0, open.length)
                                    .mapToObj(i -> options)
                                    .toList())
                    .stream()
                    .map(GeneratedText::text)
                    .toArray(String[]::new);
            assertArrayEquals(alone, together);
        }
    }

    private static int[] ints(JsonNode array) {
        return StreamSupport.stream(array.spliterator(), false)
                .mapToInt(JsonNode::asInt)
                .toArray();
    }

    private static Path file(String name) {
        Path file = Path.of("..", "shared", "models", "stories260K").resolve(name);
        assumeTrue(Files.exists(file), () -> file.toAbsolutePath().normalize() + " does not exist");
        return file;
    }
}
