package io.multihead.encoder;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** An interrupt ends a call of an encoder before its next batch, and does not affect later calls. */
class EncoderCancelTest {
    /** The texts are several batches. */
    private static final List<String> TEXTS =
            IntStream.range(0, 400).mapToObj(i -> "abc de fgh".substring(i % 9)).toList();

    private final Compute cpu = Compute.threads(2);

    @TempDir
    Path folder;

    @AfterEach
    void close() {
        Thread.interrupted();
        cpu.close();
    }

    @Test
    void vectorsOfTexts() throws IOException {
        TinyModel.write(folder);
        try (SentenceEncoder encoder = SentenceEncoder.load(cpu, folder)) {
            requireCancelled(() -> encoder.embed(TEXTS));
            requireCancelled(() -> new float[][] {encoder.embed("ab")});
            requireCancelled(() -> LateChunking.embed(encoder, List.of("ab c", " de")));
            float[][] whole = encoder.embed(TEXTS);
            List<Integer> done = new ArrayList<>();
            assertThrows(
                    CancellationException.class,
                    () -> encoder.embed(TEXTS, count -> {
                        done.add(count);
                        Thread.currentThread().interrupt();
                    }));
            assertTrue(Thread.interrupted(), "the thread stays interrupted");
            assertEquals(1, done.size(), "no batch after the interrupt");
            assertTrue(done.getFirst() < TEXTS.size());
            assertArrayEquals(whole, encoder.embed(TEXTS));
        }
    }

    @Test
    void vectorsOfAnIterator() throws IOException {
        TinyModel.write(folder);
        try (SentenceEncoder encoder = SentenceEncoder.load(cpu, folder)) {
            Iterator<TextEmbedding> embeddings = encoder.embed(TEXTS.iterator());
            embeddings.next();
            Thread.currentThread().interrupt();
            assertThrows(CancellationException.class, () -> embeddings.forEachRemaining(next -> {}));
        }
    }

    /** An interrupt after the last batch has no effect on the call. */
    @Test
    void anInterruptAfterTheLastBatchHasNoEffect() throws IOException {
        TinyModel.write(folder);
        try (SentenceEncoder encoder = SentenceEncoder.load(cpu, folder)) {
            float[][] vectors =
                    encoder.embed(List.of("ab"), done -> Thread.currentThread().interrupt());
            assertTrue(Thread.interrupted(), "the thread stays interrupted");
            assertArrayEquals(encoder.embed(List.of("ab")), vectors);
        }
    }

    @Test
    void scores() throws IOException {
        new TinyReranker(1, 1).write(folder);
        try (Reranker reranker = Reranker.load(cpu, folder)) {
            requireCancelled(() -> new double[][] {reranker.score("ab", TEXTS)});
            requireCancelled(() -> reranker.labelScores("ab", TEXTS));
            assertThrows(
                    CancellationException.class,
                    () -> reranker.score(
                            "ab", TEXTS, done -> Thread.currentThread().interrupt()));
        }
    }

    @Test
    void sparseVectors() throws IOException {
        new TinyMasked(1, true).write(folder);
        try (SparseEncoder encoder = SparseEncoder.load(cpu, folder)) {
            requireCancelled(() ->
                    encoder.embed(TEXTS).stream().map(SparseVector::weights).toArray(float[][]::new));
        }
    }

    @Test
    void vectorsOfTokens() throws IOException {
        new TinyTokenModel(1).writePyLate(folder);
        try (TokenEncoder encoder = TokenEncoder.load(cpu, folder)) {
            requireCancelled(() -> encoder.embedDocuments(TEXTS).vectors(0));
            requireCancelled(() -> encoder.embedQueries(TEXTS).vectors(0));
        }
    }

    /** A call on an interrupted thread ends with an error, the thread stays interrupted, and the next call has the same results. */
    private static void requireCancelled(Supplier<Object[]> call) {
        Object[] whole = call.get();
        Thread.currentThread().interrupt();
        String message = assertThrows(CancellationException.class, call::get).getMessage();
        assertEquals("encoder: the calling thread was interrupted; expected no interrupt", message);
        assertTrue(Thread.interrupted(), "the thread stays interrupted");
        assertArrayEquals(whole, call.get());
    }
}
