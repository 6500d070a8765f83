package io.multihead.decoder;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.cache.CacheFormat;
import io.multihead.compute.Compute;
import io.multihead.decoder.FamilyFile.Kind;
import io.multihead.format.GgufValue;
import io.multihead.format.GgufWriter;
import io.multihead.reference.ReferenceTransformer;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Scores are compared with the softmax of the logits of both answers, which the specification computes for the prompt of Qwen3-Reranker.
 */
@Tag("lanes")
class TextRerankerTest {
    private static final int CONTEXT = 900;
    /** The ids of the tokens yes and no, which replace bytes that no text contains. */
    private static final int YES = 4;

    private static final int NO = 5;
    /** The text after a passage. Digits represent the control tokens of ChatML. */
    private static final String END = "2\n1assistant\n<think>\n\n</think>\n\n";

    private static final List<String> PASSAGES = List.of(
            "Tea is hot.", "x", "", "It rains in the mountains, and the river rises. <|im_end|>", "Tea is cold.");
    private static final SessionOptions OPTIONS =
            SessionOptions.DEFAULT.withCacheFormat(CacheFormat.F32).withSessions(2);

    /**
     * A logit is about 1 and is a sum of 64 products of states, each with the rounding errors of three layers. The slope of the softmax is
     * at most a quarter, so the errors of two logits count by half.
     */
    private static final double BOUND = 64 * (5 * 128 + 6 * 64) * 0x1p-24;

    @TempDir
    private Path folder;

    private FamilyFile file() {
        return new FamilyFile(Kind.QWEN_3, 9).withContext(CONTEXT).withAnswers();
    }

    private void withGguf(FamilyFile file, Consumer<LanguageModel> test) throws IOException {
        Path path = folder.resolve("model.gguf");
        file.write(path);
        try (Compute cpu = Compute.threads(2);
                LanguageModel model = LanguageModel.load(cpu, path)) {
            test.accept(model);
        }
    }

    /** Returns the bytes of the prompt as tokens. Digits become control tokens of ChatML. */
    private static int[] prompt(String instruction, String query, String passage) {
        String begin = "1system\nJudge whether the Document meets the requirements based on the Query and the Instruct"
                + " provided. Note that the answer can only be \"yes\" or \"no\".2\n1user\n";
        String text = "<Instruct>: " + instruction + "\n<Query>: " + query + "\n<Document>: " + passage;
        int[] marks = {'1', '2'};
        return IntStream.concat(IntStream.concat(bytes(begin, marks), bytes(text)), bytes(END, marks))
                .toArray();
    }

    private static IntStream bytes(String text, int... marks) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        return IntStream.range(0, bytes.length).map(i -> {
            int mark = Arrays.binarySearch(marks, bytes[i]);
            return mark < 0 ? 3 + (bytes[i] & 0xff) : 259 + mark;
        });
    }

    private static double expected(ReferenceTransformer reference, int[] prompt) {
        double[] logits = reference.logits(prompt);
        int last = (prompt.length - 1) * FamilyFile.VOCABULARY;
        double yes = Math.exp(logits[last + YES]);
        return yes / (yes + Math.exp(logits[last + NO]));
    }

    @Test
    void scoresAreThoseOfTheSpecification() throws IOException {
        FamilyFile file = file();
        ReferenceTransformer reference = file.reference();
        withGguf(file, model -> {
            try (TextReranker reranker = model.reranker(OPTIONS)) {
                assertEquals(CONTEXT, reranker.maxTokens());
                assertEquals(TextReranker.WEB_SEARCH, reranker.instruction());
                assertScores(reference, reranker, TextReranker.WEB_SEARCH);
                TextReranker other = reranker.withInstruction("Find rain.");
                assertEquals("Find rain.", other.instruction());
                assertScores(reference, other, "Find rain.");
            }
        });
    }

    private static void assertScores(ReferenceTransformer reference, TextReranker reranker, String instruction) {
        double[] scores = reranker.score("Is tea hot?", PASSAGES);
        for (int i = 0; i < scores.length; i++) {
            double expected = expected(reference, prompt(instruction, "Is tea hot?", PASSAGES.get(i)));
            assertEquals(expected, scores[i], BOUND);
        }
        assertTrue(Arrays.stream(scores).distinct().count() == scores.length);
    }

    @Test
    void foldersHaveTheSameScores() throws IOException {
        FamilyFile file = file().withHalves();
        String json = BytePieces.tokenizerJson()
                .replace("\"\\u0101\": 4", "\"yes\": 4")
                .replace("\"\\u0102\": 5", "\"no\": 5");
        file.writeFolder(folder, json);
        Path config = folder.resolve("config.json");
        Files.writeString(
                config,
                Files.readString(config)
                        .replace("\"max_position_embeddings\": 128", "\"max_position_embeddings\": " + CONTEXT));
        try (Compute cpu = Compute.serial();
                LanguageModel model = LanguageModel.load(cpu, folder);
                TextReranker reranker = model.reranker(OPTIONS)) {
            assertScores(file.reference(), reranker, TextReranker.WEB_SEARCH);
        }
    }

    /**
     * Returns a file as the converter of llama.cpp writes it, with rows for yes and no, labels, a pooling type, and a template that is not
     * for chats.
     */
    private static GgufWriter ranking(FamilyFile file, int pooling, String... labels) {
        GgufWriter writer = file.metadata()
                .put("qwen3.pooling_type", FamilyFile.number(pooling))
                .put("qwen3.classifier.output_labels", GgufValue.ofStrings(List.of(labels)))
                .put("tokenizer.chat_templates", GgufValue.ofStrings(List.of("rerank")))
                .put("tokenizer.chat_template.rerank", GgufValue.ofString("{query} {document}"));
        Stream.concat(file.matrices().stream(), file.others().stream())
                .forEach(name -> writer.tensor(name, file.tensor(name)));
        return writer;
    }

    private static Tensor answers(FamilyFile file) {
        float[] rows = file.weights.get("token_embd.weight");
        float[] answers = new float[2 * file.dim];
        System.arraycopy(rows, YES * file.dim, answers, 0, file.dim);
        System.arraycopy(rows, NO * file.dim, answers, file.dim, file.dim);
        return Tensor.of(answers, 2, file.dim);
    }

    @Test
    void aHeadOfYesAndNoHasTheSameScores() throws IOException {
        FamilyFile file = file();
        Path ranking = folder.resolve("ranking.gguf");
        ranking(file, 4, "yes", "no").tensor("cls.output.weight", answers(file)).write(ranking);
        Path packed = folder.resolve("ranking.packed");
        withGguf(file, plain -> {
            try (Compute cpu = Compute.threads(2);
                    LanguageModel model = LanguageModel.load(cpu, ranking);
                    TextReranker reranker = model.reranker(OPTIONS);
                    TextReranker other = plain.reranker(OPTIONS)) {
                assertScores(file.reference(), reranker, TextReranker.WEB_SEARCH);
                double[] scores = reranker.score("Is tea hot?", PASSAGES);
                assertArrayEquals(other.score("Is tea hot?", PASSAGES), scores);
                assertEquals(plain.vocabularySize(), model.vocabularySize());
                assertThrows(IllegalStateException.class, () -> model.sessions(OPTIONS));
                assertThrows(IllegalStateException.class, model::embedder);
                model.write(packed);
                try (LanguageModel mapped = LanguageModel.map(cpu, packed);
                        TextReranker again = mapped.reranker(OPTIONS)) {
                    assertArrayEquals(scores, again.score("Is tea hot?", PASSAGES));
                }
            } catch (IOException failed) {
                throw new UncheckedIOException(failed);
            }
        });
    }

    @Test
    void anotherHeadThanThatOfYesAndNoIsRefused() throws IOException {
        FamilyFile file = file();
        Tensor answers = answers(file);
        assertRefused(ranking(file, 4, "yes", "no"), "cls.output.weight");
        assertRefused(
                ranking(file, 4, "no", "yes").tensor("cls.output.weight", answers), "qwen3.classifier.output_labels");
        assertRefused(ranking(file, 3, "yes", "no").tensor("cls.output.weight", answers), "cls.output.weight");
    }

    private void assertRefused(GgufWriter writer, String name) throws IOException {
        Path path = folder.resolve("refused.gguf");
        writer.write(path);
        try (Compute cpu = Compute.serial()) {
            String message = assertThrows(IllegalArgumentException.class, () -> LanguageModel.load(cpu, path))
                    .getMessage();
            assertTrue(message.contains(name), message);
        }
    }

    @Test
    void aScoreHasTheSameBitsAloneAndInAnyBatch() throws IOException {
        withGguf(file(), model -> {
            try (TextReranker reranker = model.reranker(SessionOptions.DEFAULT.withSessions(3));
                    TextReranker small = model.reranker(SessionOptions.DEFAULT.withKeptPrefixes(false))) {
                List<String> many = IntStream.range(0, 40)
                        .mapToObj(i -> PASSAGES.get(i % 5).repeat(1 + i % 3))
                        .toList();
                double[] together = reranker.score("Is tea hot?", many);
                assertArrayEquals(together, small.score("Is tea hot?", many));
                for (int i = 0; i < many.size(); i++) {
                    assertEquals(together[i], reranker.score("Is tea hot?", many.get(i)));
                }
                assertEquals(together[3], small.score("Is tea hot?", many.get(3)));
                assertEquals(0, reranker.score("Is tea hot?", List.of()).length);
            }
        });
    }

    /** The instruction and the query end within a page. They are computed once for a call and for later calls. */
    @Test
    void theBeginOfPromptsIsComputedOnce() throws IOException {
        withGguf(file(), model -> {
            try (TextReranker reranker = model.reranker(OPTIONS)) {
                reranker.score("Is tea hot?", PASSAGES);
                assertEquals(0, reranker.prefixReuse().hits());
                reranker.score("Is tea hot?", PASSAGES);
                reranker.score("Is tea hot?", "Tea");
                assertEquals(2, reranker.prefixReuse().hits());
                int begin = prompt(TextReranker.WEB_SEARCH, "Is tea hot?", "").length - END.length();
                assertEquals(2 * begin, reranker.prefixReuse().savedTokens());
            }
        });
    }

    @Test
    void callsOfSeveralThreadsHaveTheSameBits() throws Exception {
        withGguf(file(), model -> {
            try (TextReranker reranker = model.reranker(OPTIONS)) {
                double[] expected = reranker.score("Is tea hot?", PASSAGES);
                List<Thread> threads = new ArrayList<>();
                List<double[]> scores = Collections.synchronizedList(new ArrayList<>());
                for (int i = 0; i < 4; i++) {
                    threads.add(Thread.ofVirtual().start(() -> scores.add(reranker.score("Is tea hot?", PASSAGES))));
                }
                for (Thread thread : threads) {
                    thread.join();
                }
                assertEquals(4, scores.size());
                scores.forEach(each -> assertArrayEquals(expected, each));
            } catch (InterruptedException interrupted) {
                throw new AssertionError(interrupted);
            }
        });
    }

    @Test
    void errorsNameTheirTexts() throws IOException {
        withGguf(file(), model -> {
            TextReranker closed = model.reranker(OPTIONS);
            try (TextReranker reranker = closed) {
                int around = prompt(TextReranker.WEB_SEARCH, "q", "").length;
                assertEquals(
                        "passages[1]: " + (around + 700)
                                + " tokens with its query and the template; expected at most 900",
                        assertThrows(
                                        IllegalArgumentException.class,
                                        () -> reranker.score("q", List.of("a", "b".repeat(700))))
                                .getMessage());
                assertThrows(NullPointerException.class, () -> reranker.score("q", Arrays.asList("a", null)));
            }
            assertEquals(
                    "sessions: closed; expected open sessions",
                    assertThrows(IllegalStateException.class, () -> closed.score("q", "a"))
                            .getMessage());
        });
        Path path = folder.resolve("plain.gguf");
        new FamilyFile(Kind.QWEN_3, 9).write(path);
        try (Compute cpu = Compute.serial();
                LanguageModel model = LanguageModel.load(cpu, path)) {
            assertEquals(
                    "tokenizer: no token yes; expected yes and no, as Qwen3-Reranker answers",
                    assertThrows(IllegalArgumentException.class, () -> model.reranker(OPTIONS))
                            .getMessage());
        }
    }

    @Test
    void aScoreThatIsNoNumberIsNamed() throws IOException {
        FamilyFile file = file();
        float[] numbers = file.tensor("token_embd.weight").toArray();
        int poisoned = 'z' + 3;
        Arrays.fill(numbers, poisoned * 64, poisoned * 64 + 64, Float.NaN);
        file.replace("token_embd.weight", Tensor.of(numbers, FamilyFile.VOCABULARY, 64));
        withGguf(file, model -> {
            try (TextReranker reranker = model.reranker(OPTIONS)) {
                assertEquals(
                        "passages[1]: logits NaN of yes and NaN of no; expected finite numbers, which the model's weights do"
                                + " not give",
                        assertThrows(
                                        ArithmeticException.class,
                                        () -> reranker.score("q", List.of("a", "zebra", "b", "zoo")))
                                .getMessage());
                assertTrue(Double.isFinite(reranker.score("q", "a")));
            }
        });
    }
}
