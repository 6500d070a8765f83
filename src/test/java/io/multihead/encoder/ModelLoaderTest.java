package io.multihead.encoder;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.internal.encoder.family.BertConfig;
import io.multihead.internal.encoder.load.EncoderCore;
import io.multihead.internal.encoder.load.EncoderModel;
import io.multihead.internal.encoder.load.ModelLoader;
import io.multihead.internal.encoder.load.SmallModel;
import io.multihead.internal.load.Loading;
import io.multihead.support.Patience;
import io.multihead.text.EncoderTokenizer;
import io.multihead.text.Tokenizers;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** One thread or two threads read a model and its tokenizer, and an error in either of them is an error of the call. */
class ModelLoaderTest {
    private static final BertConfig CONFIG = new BertConfig(6, 1, 2, 5, 60, 4, 1, 0);

    @TempDir
    Path folder;

    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void threadsChangeNoBit(int threads) throws IOException {
        TinyModel.write(folder);
        try (Compute cpu = Compute.threads(threads);
                SentenceEncoder expected = SentenceEncoder.load(Compute.serial(), folder);
                SentenceEncoder encoder = SentenceEncoder.load(cpu, folder)) {
            assertArrayEquals(expected.embed("abc de"), encoder.embed("abc de"));
        }
    }

    @Test
    void twoThreadsReadAtTheSameTime() throws IOException {
        TinyModel.write(folder);
        CountDownLatch started = new CountDownLatch(2);
        try (Compute cpu = Compute.threads(2)) {
            ModelLoader.load(
                    Loading.of(cpu), () -> meet(started, model()), () -> meet(started, Tokenizers.loadEncoder(folder)));
        }
    }

    /** If the tokenizer takes longer than the model, the call waits for it. */
    @Test
    void theTokenizerMayTakeLonger() throws IOException {
        TinyModel.write(folder);
        CountDownLatch read = new CountDownLatch(1);
        try (Compute cpu = Compute.threads(2)) {
            EncoderCore core = ModelLoader.load(
                    Loading.of(cpu),
                    () -> {
                        read.countDown();
                        return model();
                    },
                    () -> {
                        assertTrue(read.await(Patience.HANG_SECONDS, TimeUnit.SECONDS));
                        return Tokenizers.loadEncoder(folder);
                    });
            assertEquals(TinyModel.VOCABULARY.size(), core.tokenizer.vocabularySize());
        }
    }

    private static <T> T meet(CountDownLatch started, T result) throws InterruptedException {
        started.countDown();
        assertTrue(started.await(Patience.HANG_SECONDS, TimeUnit.SECONDS));
        return result;
    }

    private static EncoderModel model() {
        return SmallModel.of(CONFIG, Loading.of(Compute.serial()));
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void theModelsFailureComesFirst(int threads) {
        requireFailure(threads, new FileNotFoundException("weights"), new IOException("tokenizer"));
        requireFailure(threads, new InterruptedException("weights"), new InterruptedException("tokenizer"));
        requireFailure(threads, new IllegalArgumentException("weights"), new IllegalArgumentException("tokenizer"));
    }

    private static void requireFailure(int threads, Exception ofModel, Exception ofTokenizer) {
        requireFailure(threads, ofModel, failing(ofModel), failing(ofTokenizer));
        requireFailure(threads, ofTokenizer, ModelLoaderTest::model, failing(ofTokenizer));
    }

    private static void requireFailure(
            int threads, Exception expected, Callable<EncoderModel> model, Callable<EncoderTokenizer> tokenizer) {
        try (Compute cpu = Compute.threads(threads)) {
            assertSame(
                    expected,
                    assertThrows(expected.getClass(), () -> ModelLoader.load(Loading.of(cpu), model, tokenizer)));
        }
    }

    private static <T> Callable<T> failing(Exception failure) {
        return () -> {
            throw failure;
        };
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void theCallingThreadReadsTheModel(int threads) throws IOException {
        TinyModel.write(folder);
        Thread caller = Thread.currentThread();
        try (Compute cpu = Compute.threads(threads)) {
            ModelLoader.load(
                    Loading.of(cpu),
                    () -> {
                        assertSame(caller, Thread.currentThread());
                        return model();
                    },
                    () -> Tokenizers.loadEncoder(folder));
        }
    }

    @Test
    void smallBatchesAreComputedUntilItIsEnough() {
        assertEquals(SmallModel.MOST_BATCHES, SmallModel.compute(() -> false));
        assertEquals(0, SmallModel.compute(() -> true));
        AtomicInteger asked = new AtomicInteger();
        assertEquals(2, SmallModel.compute(() -> asked.incrementAndGet() > 3));
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void aTokenizerOfAnotherModelIsRejected(int threads) throws IOException {
        TinyModel.write(folder);
        BertConfig smaller = new BertConfig(6, 1, 2, 5, 58, 4, 1, 0);
        try (Compute cpu = Compute.threads(threads)) {
            assertThrows(
                    IllegalArgumentException.class,
                    () -> ModelLoader.load(
                            Loading.of(cpu),
                            () -> SmallModel.of(smaller, Loading.of(Compute.serial())),
                            () -> Tokenizers.loadEncoder(folder)));
        }
    }

    @Test
    void aClosedComputeIsRejected() throws IOException {
        TinyModel.write(folder);
        Compute cpu = Compute.threads(2);
        cpu.close();
        assertThrows(IllegalStateException.class, () -> SentenceEncoder.load(cpu, folder));
    }
}
