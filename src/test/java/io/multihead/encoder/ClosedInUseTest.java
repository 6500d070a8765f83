package io.multihead.encoder;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Encoders of all kinds are closed while other threads compute. Each call returns, or ends with the error of a closed encoder. */
class ClosedInUseTest {
    private static final int ROUNDS = 30;
    private static final int CALLERS = 3;
    private static final List<String> TEXTS =
            IntStream.range(0, 400).mapToObj(i -> "abc de fgh".substring(i % 9)).toList();

    @TempDir
    Path folder;

    /** Loads an encoder. */
    private interface Loading<E extends AutoCloseable> {
        E load(Compute cpu) throws IOException;
    }

    /** Computes with an encoder. */
    private interface Use<E> {
        Object of(E encoder);
    }

    @Test
    void vectorsOfTexts() throws Exception {
        TinyModel.write(folder);
        check(cpu -> SentenceEncoder.load(cpu, folder), encoder -> encoder.embed(TEXTS));
        check(cpu -> SentenceEncoder.load(cpu, folder), encoder -> encoder.attention("ab c"));
        Path file = folder.resolve("packed");
        try (SentenceEncoder encoder = SentenceEncoder.load(Compute.serial(), folder)) {
            encoder.write(file);
        }
        check(cpu -> SentenceEncoder.map(cpu, file), encoder -> encoder.embed(TEXTS));
    }

    @Test
    void staticVectors() throws Exception {
        TinyStatic.write(folder, TinyStatic.rows(1, TinyStatic.ROWS), true);
        check(cpu -> SentenceEncoder.load(cpu, folder), encoder -> encoder.embed(TEXTS));
    }

    @Test
    void scores() throws Exception {
        new TinyReranker(1, 1).write(folder);
        check(cpu -> Reranker.load(cpu, folder), encoder -> encoder.score("ab", TEXTS));
    }

    @Test
    void sparseVectors() throws Exception {
        new TinyMasked(1, true).write(folder);
        check(cpu -> SparseEncoder.load(cpu, folder), encoder -> encoder.embed(TEXTS));
    }

    @Test
    void vectorsOfTokens() throws Exception {
        new TinyTokenModel(1).writePyLate(folder);
        check(cpu -> TokenEncoder.load(cpu, folder), encoder -> encoder.embedDocuments(TEXTS));
    }

    private static <E extends AutoCloseable> void check(Loading<E> loading, Use<E> use) throws Exception {
        try (Compute cpu = Compute.threads(2);
                ExecutorService callers = Executors.newFixedThreadPool(CALLERS)) {
            for (int round = 0; round < ROUNDS; round++) {
                E encoder = loading.load(cpu);
                CountDownLatch started = new CountDownLatch(CALLERS);
                Callable<Object> caller = () -> {
                    use.of(encoder);
                    started.countDown();
                    while (true) {
                        use.of(encoder);
                    }
                };
                List<Future<Object>> calls = IntStream.range(0, CALLERS)
                        .mapToObj(i -> callers.submit(caller))
                        .toList();
                started.await();
                Thread.sleep(0, 100_000 * (round % 7));
                encoder.close();
                encoder.close();
                for (Future<Object> call : calls) {
                    requireClosed(call);
                }
            }
        }
    }

    private static void requireClosed(Future<Object> call) throws InterruptedException {
        try {
            assertTrue(call.get() == null, "a call returned");
        } catch (ExecutionException failed) {
            assertInstanceOf(IllegalStateException.class, failed.getCause());
            assertEquals(
                    "encoder: closed; expected an open one", failed.getCause().getMessage());
        }
    }
}
