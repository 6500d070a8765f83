package io.multihead.encoder;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import io.multihead.compute.Compute;
import io.multihead.model.Pooling;
import io.multihead.text.GoldenTexts;
import io.multihead.text.Models;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Platform and virtual threads simultaneously call one encoder that has two threads, through views with different options and in every form
 * of the call. They get the same bits as serial calls.
 */
class SimultaneousCallersTest {
    /** The number of callers of each kind of thread. */
    private static final int CALLERS = 16;

    @TempDir
    Path folder;

    /** Many calls have three short batches of the tiny model. Between batches, state could leak into another call. */
    @Test
    void manyCallsOfATinyModel() throws Exception {
        TinyModel.write(folder);
        List<String> texts = IntStream.range(0, 120)
                .mapToObj(i -> "ab c defg hijklm nopq rst ".repeat(4).substring(i % 25, i % 25 + 1 + i % 60))
                .toList();
        try (SentenceEncoder serial = SentenceEncoder.load(Compute.serial(), folder);
                Compute two = Compute.threads(2);
                SentenceEncoder shared = SentenceEncoder.load(two, folder)) {
            checkCallers(serial, shared, texts, 20);
        }
    }

    /** The sizes are so large that products and attention are divided between the two threads. */
    @Test
    void aFewCallsOfMiniLm() throws Exception {
        List<String> texts =
                GoldenTexts.sentences(Models.paragraph()).stream().limit(10).toList();
        try (SentenceEncoder serial = MiniLm.load(Compute.serial());
                Compute two = Compute.threads(2);
                SentenceEncoder shared = MiniLm.load(two)) {
            checkCallers(serial, shared, texts, 4);
        }
    }

    private static void checkCallers(SentenceEncoder serial, SentenceEncoder shared, List<String> texts, int rounds)
            throws Exception {
        List<float[][]> expected = new ArrayList<>();
        for (int kind = 0; kind < 6; kind++) {
            expected.add(view(serial, kind).embed(texts));
        }
        CountDownLatch start = new CountDownLatch(1);
        try (ExecutorService platform = Executors.newFixedThreadPool(CALLERS);
                ExecutorService virtual = Executors.newVirtualThreadPerTaskExecutor()) {
            List<Future<Void>> calls = new ArrayList<>();
            for (int caller = 0; caller < CALLERS; caller++) {
                calls.add(platform.submit(caller(start, shared, texts, expected, caller, rounds)));
                calls.add(virtual.submit(caller(start, shared, texts, expected, caller + 1, rounds)));
            }
            start.countDown();
            for (Future<Void> call : calls) {
                call.get();
            }
        }
    }

    private static Callable<Void> caller(
            CountDownLatch start,
            SentenceEncoder shared,
            List<String> texts,
            List<float[][]> expected,
            int caller,
            int rounds) {
        return () -> {
            start.await();
            for (int round = 0; round < rounds; round++) {
                int kind = (caller + round) % expected.size();
                // callers begin with different texts, so that no two simultaneous batches are equal
                int from = (7 * caller + round) % texts.size();
                float[][] actual =
                        call(view(shared, kind), texts.subList(from, texts.size()), (caller + round) / 2 % 3);
                for (int i = 0; i < actual.length; i++) {
                    assertArrayEquals(expected.get(kind)[from + i], actual[i], "caller " + caller + ", text " + i);
                }
            }
            return null;
        };
    }

    /** Returns a view with one of three pooling modes, for whole texts or parts of 12 tokens. */
    private static SentenceEncoder view(SentenceEncoder encoder, int kind) {
        SentenceEncoder pooled = encoder.withPooling(Pooling.values()[kind % 3]);
        return kind < 3 ? pooled : pooled.withMaxTokens(12).withLongTexts(LongTexts.SPLIT_AND_AVERAGE);
    }

    private static float[][] call(SentenceEncoder encoder, List<String> texts, int form) {
        return switch (form) {
            case 0 -> encoder.embed(texts);
            case 1 ->
                encoder.embedTokens(texts.stream()
                        .map(encoder.tokenizer()::encodeWithSpecialTokens)
                        .toList());
            default -> {
                List<float[]> vectors = new ArrayList<>();
                encoder.embed(texts.iterator()).forEachRemaining(embedding -> vectors.add(embedding.vector()));
                yield vectors.toArray(float[][]::new);
            }
        };
    }
}
