package io.multihead.decoder;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.cache.CacheFullException;
import io.multihead.compute.Compute;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * Sessions share less memory than all of them need. No session fails and no text changes, except that a session that can never run fails
 * immediately.
 */
class SessionRoomTest {
    private static final GenerationOptions LONG =
            GenerationOptions.DEFAULT.withSampling(Sampling.of(1.5, 3)).withMaxTokens(1000);

    private final Compute cpu = Compute.serial();
    private final LanguageModel model = TinyDecoder.endless(cpu, 1);

    @AfterEach
    void close() {
        model.close();
        cpu.close();
    }

    private static int[] prompt(int length, int seed) {
        return new SplittableRandom(seed).ints(length, 'a', 'g').toArray();
    }

    private int[] alone(int[] prompt, GenerationOptions options) {
        try (Sessions own = model.sessions(SessionOptions.DEFAULT);
                Session session = own.open().append(prompt)) {
            session.generate(options);
            return session.tokens();
        }
    }

    /** There are nine pages. Four texts of 200 tokens, which need four pages each, wait for each other on separate threads. */
    @Test
    void textsThatDoNotFitTogetherWaitForEachOther() throws Exception {
        for (int round = 0; round < 10; round++) {
            try (Sessions sessions = model.sessions(SessionOptions.DEFAULT);
                    ExecutorService threads = Executors.newFixedThreadPool(4)) {
                List<Future<int[]>> texts = new ArrayList<>();
                for (int i = 0; i < 4; i++) {
                    int[] prompt = prompt(90, i);
                    texts.add(threads.submit(() -> {
                        try (Session session = sessions.open().append(prompt)) {
                            assertEquals(
                                    FinishReason.CONTEXT_FULL,
                                    session.generate(LONG).finish());
                            return session.tokens();
                        }
                    }));
                }
                for (int i = 0; i < 4; i++) {
                    assertArrayEquals(alone(prompt(90, i), LONG), texts.get(i).get(), "text " + i);
                }
                assertEquals(0, sessions.usedBytes());
            }
        }
    }

    @Test
    void textsOfOneCallThatDoNotFitTogetherAreAllGenerated() {
        try (Sessions sessions = model.sessions(SessionOptions.DEFAULT)) {
            List<Session> all = new ArrayList<>();
            for (int i = 0; i < 7; i++) {
                all.add(sessions.open().append(prompt(60 + 17 * i, i)));
            }
            GenerationOptions drafts = LONG.withDraftTokens(5);
            sessions.generate(all, Collections.nCopies(7, drafts));
            for (int i = 0; i < 7; i++) {
                assertArrayEquals(
                        alone(prompt(60 + 17 * i, i), LONG), all.get(i).tokens(), "text " + i);
            }
        }
    }

    /** Sessions continue in random order after other sessions have taken their memory. */
    @Test
    void aSessionWhoseRoomWasTakenGoesOnWithTheSameText() {
        try (Sessions sessions = model.sessions(SessionOptions.DEFAULT)) {
            List<Session> all = new ArrayList<>();
            for (int i = 0; i < 5; i++) {
                all.add(sessions.open().append(prompt(120, i)));
            }
            SplittableRandom random = new SplittableRandom(5);
            for (int call = 0; call < 60; call++) {
                Session session = all.get(random.nextInt(5));
                switch (random.nextInt(4)) {
                    case 0 -> session.nextLogits();
                    case 1 -> session.fork().nextLogits();
                    default -> session.generate(LONG.withMaxTokens(1 + random.nextInt(9)));
                }
            }
            for (int i = 0; i < 5; i++) {
                all.get(i).generate(LONG);
                assertArrayEquals(alone(prompt(120, i), LONG), all.get(i).tokens(), "text " + i);
            }
        }
    }

    /** The memory of a text is taken before the text slides. All evicted tokens are first computed again. */
    @Test
    void aTextThatIsToSlideIsComputedAgainFirst() {
        GenerationOptions sliding = LONG.withWhenFull(WhenFull.SLIDE);
        try (Sessions sessions = model.sessions(SessionOptions.DEFAULT.withContextTokens(130))) {
            int[] whole;
            try (Session session = sessions.open().append(prompt(120, 1))) {
                session.generate(sliding.withMaxTokens(60));
                whole = session.tokens();
            }
            for (int tokens = 5; tokens < 14; tokens++) {
                try (Session session = sessions.open().append(prompt(120, 1));
                        Session first = sessions.open().append(prompt(130, 2));
                        Session second = sessions.open().append(prompt(130, 3));
                        Session third = sessions.open().append(prompt(130, 4))) {
                    session.generate(sliding.withMaxTokens(tokens));
                    boolean slid = session.length() > 131;
                    first.nextLogits();
                    second.nextLogits();
                    third.nextLogits();
                    assertEquals(slid, session.state.cache.length(session.state.sequence) > 0);
                    session.nextLogits();
                    session.generate(sliding.withMaxTokens(60 - tokens));
                    assertArrayEquals(whole, session.tokens(), tokens + " tokens");
                }
            }
        }
    }

    /** Opens sessions that use all memory. Evicted tokens cannot be computed again, so a session keeps its memory until it is closed. */
    private static Session holdAll(Sessions sessions) {
        Session slid = sessions.open().append(prompt(100, 1));
        slid.generate(LONG.withWhenFull(WhenFull.SLIDE).withMaxTokens(110));
        Session other = sessions.open().append(prompt(100, 1));
        other.generate(LONG.withWhenFull(WhenFull.SLIDE).withMaxTokens(110));
        return slid;
    }

    @Test
    void aCallWaitsNoLongerThanItMay() {
        for (Duration wait : List.of(Duration.ZERO, Duration.ofMillis(120))) {
            try (Sessions sessions = model.sessions(SessionOptions.DEFAULT.withMaxWait(wait))) {
                Session slid = holdAll(sessions);
                Session waiting = sessions.open().append(prompt(150, 2));
                long start = System.nanoTime();
                String message = assertThrows(CacheFullException.class, () -> waiting.generate(LONG))
                        .getMessage();
                assertTrue(System.nanoTime() - start >= wait.toNanos());
                assertTrue(message.startsWith("sessions: no room"), message);
                assertThrows(CacheFullException.class, waiting::nextLogits);
                slid.close();
                waiting.generate(LONG);
                assertArrayEquals(alone(prompt(150, 2), LONG), waiting.tokens());
            }
        }
    }

    @Test
    void aCallThatWaitsEndsByItsTimeoutAnInterruptAndAClose() throws Exception {
        try (Sessions sessions = model.sessions(SessionOptions.DEFAULT);
                ExecutorService thread = Executors.newSingleThreadExecutor()) {
            Session slid = holdAll(sessions);
            Session waiting = sessions.open().append(prompt(150, 2));
            GeneratedText late = waiting.generate(LONG.withTimeout(Duration.ofMillis(70)));
            assertEquals(FinishReason.TIMEOUT, late.finish());
            assertEquals(0, late.tokens().size());

            Thread[] worker = new Thread[1];
            CountDownLatch begun = new CountDownLatch(1);
            Future<?> interrupted = thread.submit(() -> {
                worker[0] = Thread.currentThread();
                begun.countDown();
                try {
                    waiting.generate(LONG);
                } finally {
                    assertTrue(Thread.interrupted());
                }
            });
            begun.await();
            Thread.sleep(30);
            assertFalse(interrupted.isDone());
            worker[0].interrupt();
            assertEquals(
                    CancellationException.class,
                    assertThrows(ExecutionException.class, interrupted::get)
                            .getCause()
                            .getClass());

            Future<?> closed = thread.submit(() -> waiting.generate(LONG));
            Thread.sleep(30);
            waiting.close();
            assertEquals(
                    "session: closed; expected an open session",
                    assertThrows(ExecutionException.class, closed::get)
                            .getCause()
                            .getMessage());

            Session next = sessions.open().append(prompt(150, 2));
            Future<int[]> text = thread.submit(() -> {
                next.generate(LONG);
                return next.tokens();
            });
            Thread.sleep(30);
            assertFalse(text.isDone());
            slid.close();
            assertArrayEquals(alone(prompt(150, 2), LONG), text.get());
        }
    }

    /** The memory of a prefix that forks share is taken last, because it cannot be freed while forks use it. */
    @Test
    void whatForksShareIsTakenLast() {
        try (Sessions sessions = model.sessions(SessionOptions.DEFAULT)) {
            Session prefix = sessions.open().append(prompt(128, 1));
            prefix.nextLogits();
            Session fork = prefix.fork().append(prompt(70, 2));
            fork.nextLogits();
            Session other = sessions.open().append(prompt(190, 3));
            other.nextLogits();
            assertEquals(7 * 64 * sessions.bytesPerToken(), sessions.usedBytes());
            Session more = sessions.open().append(prompt(190, 4));
            more.nextLogits();
            assertEquals(128, prefix.state.cache.length(prefix.state.sequence));
            int[] expected = alone(prompt(128, 1), LONG);
            prefix.generate(LONG);
            assertArrayEquals(expected, prefix.tokens());
        }
    }

    @Test
    void whatNoCacheHoldsIsNamed() {
        for (int sessions : new int[] {1 << 28, Integer.MAX_VALUE}) {
            String message = assertThrows(
                            IllegalArgumentException.class,
                            () -> model.sessions(SessionOptions.DEFAULT.withSessions(sessions)))
                    .getMessage();
            assertTrue(message.startsWith("sessions: " + sessions + " of 200 tokens; expected fewer"), message);
        }
        String message = assertThrows(
                        IllegalArgumentException.class, () -> SessionOptions.DEFAULT.withMaxWait(Duration.ofMillis(-1)))
                .getMessage();
        assertEquals("maxWait: PT-0.001S; expected at least zero", message);
    }
}
