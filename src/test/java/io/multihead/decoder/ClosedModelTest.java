package io.multihead.decoder;

import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.multihead.compute.Compute;
import io.multihead.decoder.FamilyFile.Kind;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A model is closed while other threads compute. Each call returns, or ends with an error, and the JVM continues. */
class ClosedModelTest {
    private static final int ROUNDS = 20;

    @TempDir
    private Path folder;

    /** Loads a model. */
    private interface Loading {
        LanguageModel load(Compute cpu) throws IOException;
    }

    @Test
    void loadedModels() throws Exception {
        Path path = folder.resolve("model.gguf");
        new FamilyFile(Kind.LLAMA, 5).write(path);
        check(cpu -> LanguageModel.load(cpu, path));
    }

    @Test
    void mappedModels() throws Exception {
        Path path = folder.resolve("model.gguf");
        Path packed = folder.resolve("packed");
        new FamilyFile(Kind.LLAMA, 5).write(path);
        try (Compute cpu = Compute.serial();
                LanguageModel model = LanguageModel.load(cpu, path)) {
            model.write(packed);
        }
        check(cpu -> LanguageModel.map(cpu, packed));
    }

    private static void check(Loading loading) throws Exception {
        try (Compute cpu = Compute.threads(2);
                ExecutorService callers = Executors.newFixedThreadPool(2)) {
            for (int round = 0; round < ROUNDS; round++) {
                LanguageModel model = loading.load(cpu);
                try (Sessions sessions = model.sessions(SessionOptions.DEFAULT.withContextTokens(64))) {
                    TextEmbedder embedder = model.embedder();
                    CountDownLatch started = new CountDownLatch(2);
                    Future<?> embeds = callers.submit(() -> forever(started, () -> embedder.embed("A text.")));
                    Future<?> generates = callers.submit(() -> forever(started, () -> {
                        try (Session session = sessions.open()) {
                            session.append(5, 60, 70).nextLogits();
                        }
                    }));
                    started.await();
                    Thread.sleep(0, 100_000 * (round % 7));
                    model.close();
                    model.close();
                    for (Future<?> call : List.of(embeds, generates)) {
                        Throwable ended = assertThrows(ExecutionException.class, call::get)
                                .getCause();
                        assertInstanceOf(IllegalStateException.class, ended, () -> trace(ended));
                    }
                }
            }
        }
    }

    private static String trace(Throwable thrown) {
        return thrown + " at " + List.of(thrown.getStackTrace());
    }

    private static void forever(CountDownLatch started, Runnable call) {
        call.run();
        started.countDown();
        while (true) {
            call.run();
        }
    }
}
