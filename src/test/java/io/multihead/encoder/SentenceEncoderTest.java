package io.multihead.encoder;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.internal.encoder.family.BertConfig;
import io.multihead.model.Pooling;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.SplittableRandom;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Vectors, lengths, prompts, batches and threads of an encoder with a tiny model. */
class SentenceEncoderTest extends TinyModelFolder {
    /** An element has the roundings of two blocks, about 150 each, of states and vectors whose elements are about 1. */
    static final double TOLERANCE = 2 * 150 * 0x1p-24;

    private static final String LONG = "abc defghi jk lmnopqrs t uvw xyz a bcde";

    private SentenceEncoder encoder;

    @BeforeEach
    void loadModel() throws IOException {
        encoder = load();
    }

    @ParameterizedTest
    @EnumSource(Pooling.class)
    void vectorsAreThoseOfTheReference(Pooling pooling) throws Exception {
        for (int seed = 2; seed < 7; seed++) {
            Path other = TinyModel.write(folder.resolve("seed" + seed), TinyModel.weights(seed));
            ReferenceEncoder reference = new ReferenceEncoder(TinyModel.weights(seed));
            try (SentenceEncoder loaded = SentenceEncoder.load(Compute.serial(), other)) {
                for (boolean normalized : new boolean[] {true, false}) {
                    SentenceEncoder chosen = loaded.withPooling(pooling).withNormalization(normalized);
                    List<String> texts = texts(seed, 40);
                    float[][] actual = chosen.embed(texts);
                    for (int i = 0; i < texts.size(); i++) {
                        int[] ids = loaded.tokenizer().encodeWithSpecialTokens(texts.get(i), loaded.maxTokens());
                        double part = pooling == Pooling.MEAN_SQRT_LEN ? Math.sqrt(ids.length) : 1;
                        assertNear(reference.embed(ids, pooling, normalized), actual[i], part, texts.get(i));
                    }
                }
            }
        }
    }

    @Test
    void aFolderSaysHow() {
        assertEquals(TinyModel.DIM, encoder.dimension());
        assertEquals(12, encoder.maxTokens());
        assertEquals(1, norm(encoder.embed("abc")), 1e-6);
        assertTrue(Math.abs(norm(encoder.withNormalization(false).embed("abc")) - 1) > 1e-3);
        assertEquals(Map.of(), encoder.prompts());
    }

    @ParameterizedTest
    @EnumSource(LongTexts.class)
    void tokensHaveTheBitsOfTheirTexts(LongTexts way) {
        SentenceEncoder chosen = encoder.withLongTexts(way).withPrompt("abc ");
        List<String> texts = way == LongTexts.FAIL ? List.of("a", "bcd", "") : texts(3, 60);
        List<int[]> ids = texts.stream()
                .map(text -> encoder.tokenizer().encodeWithSpecialTokens(text))
                .toList();
        assertArrayEquals(chosen.withPrompt("").embed(texts), chosen.embedTokens(ids));
    }

    @Test
    void tokensAreThoseOfTheVocabulary() {
        int first = encoder.tokenizer().firstToken();
        int last = encoder.tokenizer().lastToken();
        int size = encoder.tokenizer().vocabularySize();
        for (int[] wrong : new int[][] {{}, {first}, {last, first}, {first, -1, last}, {first, size, last}}) {
            IllegalArgumentException thrown = assertThrows(
                    IllegalArgumentException.class, () -> encoder.embedTokens(List.of(new int[] {first, last}, wrong)));
            assertTrue(thrown.getMessage().matches("text 1: ids(\\[1])?: .*"), thrown.getMessage());
        }
        assertThrows(
                NullPointerException.class,
                () -> encoder.embedTokens(Stream.of((int[]) null).toList()));
    }

    @Test
    void bitsDoNotDependOnBatchOrThreads() throws Exception {
        List<String> texts = texts(1, 200);
        float[][] all = encoder.embed(texts);
        try (Compute threads = Compute.threads(3);
                SentenceEncoder threaded = SentenceEncoder.load(threads, folder)) {
            assertArrayEquals(all, threaded.embed(texts));
        }
        for (int i = 0; i < texts.size(); i++) {
            assertArrayEquals(all[i], encoder.embed(texts.get(i)));
        }
    }

    @Test
    void emptyTextIsTheTwoTokensAroundIt() {
        float[] vector = encoder.embed("");
        assertNear(
                new ReferenceEncoder(TinyModel.weights(1)).embed(new int[] {2, 3}, Pooling.MEAN, true), vector, 1, "");
        assertArrayEquals(vector, encoder.embed(" \n"));
        assertArrayEquals(
                vector, encoder.withLongTexts(LongTexts.SPLIT_AND_AVERAGE).embed(""));
        assertEquals(0, encoder.embed(List.of()).length);
    }

    @Test
    void longTextsAreCutOff() {
        TextEmbedding embedding = encoder.embed(List.of(LONG).iterator()).next();
        assertEquals(31, embedding.tokens());
        assertEquals(21, embedding.ignoredTokens());
        assertArrayEquals(encoder.embed("abc defghi j"), embedding.vector());
        assertArrayEquals(
                encoder.withMaxTokens(24).embed("abc defghi jk lmnopqrs t uv"),
                encoder.withMaxTokens(24).embed(LONG));
    }

    @Test
    void longTextsMayFail() {
        SentenceEncoder strict = encoder.withLongTexts(LongTexts.FAIL);
        assertArrayEquals(encoder.embed("abc defghi j"), strict.embed("abc defghi j"));
        IllegalArgumentException wrong =
                assertThrows(IllegalArgumentException.class, () -> strict.embed(List.of("a", LONG)));
        assertEquals("text 1: 33 tokens; expected at most 12, or another treatment of long texts", wrong.getMessage());
    }

    /** Parts end at the end of a word if possible. The word of 8 tokens is not divided, but a word of 13 tokens must be. */
    @Test
    void longTextsMayBeSplit() {
        SentenceEncoder split = encoder.withLongTexts(LongTexts.SPLIT_AND_AVERAGE);
        assertSplit(split, LONG, "abc defghi", "jk lmnopqrs", "t uvw xyz a", "bcde");
        assertArrayEquals(encoder.embed("abc defghi j"), split.embed("abc defghi j"));
        TextEmbedding whole = split.embed(List.of(LONG).iterator()).next();
        assertEquals(31, whole.tokens());
        assertEquals(0, whole.ignoredTokens());
        TextEmbedding word = split.embed(List.of("abcdefghijklm").iterator()).next();
        assertEquals(13, word.tokens());
        assertEquals(1, norm(word.vector()), 1e-6);
    }

    private void assertSplit(SentenceEncoder split, String text, String... parts) {
        double[] mean = new double[TinyModel.DIM];
        int all = split.tokenizer().count(text);
        for (String part : parts) {
            float[] vector = encoder.withNormalization(false).embed(part);
            for (int i = 0; i < mean.length; i++) {
                mean[i] += (double) split.tokenizer().count(part) / all * vector[i];
            }
        }
        assertNear(mean, split.withNormalization(false).embed(text), 1e-2, text);
        double norm = Math.sqrt(IntStream.range(0, mean.length)
                .mapToDouble(i -> mean[i] * mean[i])
                .sum());
        double[] normalized =
                IntStream.range(0, mean.length).mapToDouble(i -> mean[i] / norm).toArray();
        assertNear(normalized, split.embed(text), 1e-2, text);
    }

    @Test
    void promptsArePutBeforeTexts() throws Exception {
        assertArrayEquals(
                encoder.embed("query: abc"), encoder.withPrompt("query: ").embed("abc"));
        assertArrayEquals(encoder.embed("abc"), encoder.forQueries().embed("abc"));
        Files.writeString(
                folder.resolve("config_sentence_transformers.json"),
                "{\"prompts\": {\"query\": \"query: \", \"passage\": \"p: \"}, \"default_prompt_name\": \"passage\"}");
        try (SentenceEncoder prompted = load()) {
            assertEquals(Map.of("query", "query: ", "passage", "p: "), prompted.prompts());
            assertArrayEquals(encoder.embed("p: abc"), prompted.embed("abc"));
            assertArrayEquals(
                    encoder.embed("p: abc"),
                    prompted.forQueries().forDocuments().embed("abc"));
            assertArrayEquals(encoder.embed("query: abc"), prompted.forQueries().embed("abc"));
            assertArrayEquals(encoder.embed("abc"), prompted.withPrompt("").embed("abc"));
        }
    }

    @Test
    void anIteratorReadsABatchAhead() {
        List<String> texts = texts(3, 500);
        float[][] expected = encoder.embed(texts);
        int[] asked = {0};
        Iterator<TextEmbedding> embeddings =
                encoder.embed(texts.stream().peek(text -> asked[0]++).iterator());
        assertEquals(0, asked[0]);
        for (int i = 0; i < expected.length; i++) {
            assertTrue(embeddings.hasNext());
            assertArrayEquals(expected[i], embeddings.next().vector());
            assertTrue(asked[0] <= i + 1 + BertConfig.BATCH_TOKENS / 2, asked[0] + " texts read for " + i);
        }
        assertFalse(embeddings.hasNext());
        assertThrows(NoSuchElementException.class, embeddings::next);
    }

    @Test
    void progressIsReportedBatchByBatch() {
        List<Integer> done = new ArrayList<>();
        encoder.embed(texts(4, 300), done::add);
        assertTrue(done.size() > 2, done.toString());
        assertEquals(done.stream().sorted().distinct().toList(), done);
        assertEquals(300, done.get(done.size() - 1));
        RuntimeException stop = new RuntimeException("stop");
        assertSame(
                stop,
                assertThrows(
                        RuntimeException.class,
                        () -> encoder.embed(texts(4, 300), n -> {
                            throw stop;
                        })));
        assertEquals(300, encoder.embed(texts(4, 300)).length);
    }

    @Test
    void virtualThreadsGetTheSameBits() throws Exception {
        List<String> texts = texts(5, 60);
        float[][] expected = encoder.embed(texts);
        try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
            List<Future<float[][]>> results = Stream.generate(() -> threads.submit(() -> encoder.embed(texts)))
                    .limit(200)
                    .toList();
            for (Future<float[][]> result : results) {
                assertArrayEquals(expected, result.get());
            }
        }
    }

    @Test
    void aClosedEncoderSaysSo() {
        SentenceEncoder view = encoder.forQueries();
        Iterator<TextEmbedding> before = view.embed(Collections.emptyIterator());
        encoder.close();
        assertThrows(IllegalStateException.class, () -> view.embed("abc"));
        assertThrows(IllegalStateException.class, () -> view.embed(List.of()));
        assertThrows(IllegalStateException.class, () -> view.embedTokens(List.of()));
        assertThrows(IllegalStateException.class, before::hasNext);
        encoder.close();
    }

    @Test
    void argumentsAreChecked() {
        assertEquals(
                "maxTokens: 25; expected at most the model's 24 positions",
                assertThrows(IllegalArgumentException.class, () -> encoder.withMaxTokens(25))
                        .getMessage());
        assertThrows(IllegalArgumentException.class, () -> encoder.withMaxTokens(2));
        List<String> texts = new ArrayList<>(List.of("a"));
        texts.add(null);
        assertEquals(
                "text 1: null; expected a value",
                assertThrows(NullPointerException.class, () -> encoder.embed(texts))
                        .getMessage());
    }

    /** Returns texts of 0 to 9 words of 1 to 7 letters. */
    private static List<String> texts(long seed, int count) {
        SplittableRandom random = new SplittableRandom(seed);
        List<String> texts = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            StringBuilder text = new StringBuilder();
            for (int words = random.nextInt(10); words > 0; words--) {
                for (int letters = 1 + random.nextInt(7); letters > 0; letters--) {
                    text.append((char) ('a' + random.nextInt(26)));
                }
                text.append(' ');
            }
            texts.add(text.toString());
        }
        return texts;
    }

    private static double norm(float[] vector) {
        double squares = 0;
        for (float x : vector) {
            squares += x * x;
        }
        return Math.sqrt(squares);
    }

    private static void assertNear(double[] expected, float[] actual, double part, String text) {
        assertEquals(expected.length, actual.length);
        for (int i = 0; i < expected.length; i++) {
            assertEquals(expected[i], actual[i], part * TOLERANCE, "element " + i + " of \"" + text + "\"");
        }
    }
}
