package io.multihead.decoder;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A session that is closed while it generates ends with an error that names the session, and the bits of other sessions do not change. */
class SessionClosingTest {
    private static final int SCHEDULES = 200;
    private static final int TOKENS = 12;
    private static final String CLOSED = "session: closed; expected an open session";

    private final Compute cpu = Compute.threads(2);
    private final LanguageModel model = TinyDecoder.endless(cpu, 1);

    @AfterEach
    void close() {
        model.close();
        cpu.close();
    }

    /** The prompt and options of a session, and the token at which its listener closes it. */
    private record Job(int[] prompt, GenerationOptions options, int closedByListenerAt) {
        static Job of(SplittableRandom random) {
            int[] prompt = random.ints(1 + random.nextInt(80), 'a', 'g').toArray();
            Sampling sampling = Sampling.of(0.5 * random.nextInt(4), random.nextLong());
            GenerationOptions options = GenerationOptions.DEFAULT
                    .withSampling(sampling)
                    .withMaxTokens(TOKENS)
                    .withDraftTokens(random.nextInt(4));
            return new Job(prompt, options, random.nextInt(4) > 0 ? -1 : random.nextInt(TOKENS));
        }
    }

    private static int[] alone(Sessions sessions, Job job) {
        try (Session session = sessions.open().append(job.prompt)) {
            session.generate(job.options);
            return session.tokens();
        }
    }

    /** Returns the tokens, or null if generation ended with the error of a closed session. */
    private static int[] run(Session session, Job job, AtomicInteger clock) {
        int[] count = new int[1];
        try {
            session.generate(job.options, token -> {
                clock.incrementAndGet();
                if (count[0]++ == job.closedByListenerAt) {
                    session.close();
                }
                return true;
            });
            return session.tokens();
        } catch (IllegalStateException closed) {
            assertEquals(CLOSED, closed.getMessage());
            return null;
        } finally {
            session.close();
        }
    }

    @Test
    void othersHaveTheTokensThatTheyHaveAlone() throws Exception {
        int ended = 0;
        int whole = 0;
        try (ExecutorService threads = Executors.newCachedThreadPool();
                Sessions own = model.sessions(SessionOptions.DEFAULT)) {
            for (int schedule = 0; schedule < SCHEDULES; schedule++) {
                SplittableRandom random = new SplittableRandom(schedule);
                // some schedules have less memory than all sessions need
                SessionOptions options = SessionOptions.DEFAULT.withSessions(1 + schedule % 3);
                try (Sessions sessions = model.sessions(options, 1 + random.nextInt(40))) {
                    AtomicInteger clock = new AtomicInteger();
                    List<Job> jobs = new ArrayList<>();
                    List<Session> open = new ArrayList<>();
                    List<Integer> closedAt = new ArrayList<>();
                    List<Future<int[]>> texts = new ArrayList<>();
                    for (int i = 2 + random.nextInt(4); i > 0; i--) {
                        Job job = Job.of(random);
                        Session session = sessions.open().append(job.prompt);
                        jobs.add(job);
                        open.add(session);
                        closedAt.add(random.nextInt(3) > 0 ? -1 : random.nextInt(4 * TOKENS));
                    }
                    for (int i = 0; i < jobs.size(); i++) {
                        Session session = open.get(i);
                        Job job = jobs.get(i);
                        texts.add(threads.submit(() -> run(session, job, clock)));
                    }
                    closeAt(threads, clock, open, closedAt, texts);
                    // new sessions reuse the numbers of closed sessions
                    for (int i = 0; i < 2; i++) {
                        Job job = Job.of(random);
                        Session session = sessions.open().append(job.prompt);
                        jobs.add(job);
                        closedAt.add(-1);
                        texts.add(threads.submit(() -> run(session, job, clock)));
                    }
                    for (int i = 0; i < jobs.size(); i++) {
                        int[] tokens = texts.get(i).get();
                        if (tokens == null) {
                            boolean mayEnd = closedAt.get(i) >= 0 || jobs.get(i).closedByListenerAt >= 0;
                            assertTrue(mayEnd, "schedule " + schedule + ", session " + i + " was not closed");
                            ended++;
                        } else {
                            assertArrayEquals(
                                    alone(own, jobs.get(i)), tokens, "schedule " + schedule + ", session " + i);
                            whole++;
                        }
                    }
                    assertEquals(0, sessions.usedBytes());
                }
            }
        }
        assertTrue(ended > 100 && whole > 100, ended + " closed, " + whole + " whole");
    }

    /** Closes each session when all sessions together have a given number of tokens, or have ended. */
    private static void closeAt(
            ExecutorService threads,
            AtomicInteger clock,
            List<Session> open,
            List<Integer> closedAt,
            List<Future<int[]>> texts) {
        List<Future<int[]>> running = List.copyOf(texts);
        for (int i = 0; i < open.size(); i++) {
            Session session = open.get(i);
            int at = closedAt.get(i);
            if (at >= 0) {
                threads.submit(() -> {
                    while (clock.get() < at && running.stream().anyMatch(text -> !text.isDone())) {
                        Thread.onSpinWait();
                    }
                    session.close();
                });
            }
        }
    }

    @Test
    void aListenerThatClosesItsSessionEndsIt() {
        try (Sessions sessions = model.sessions(SessionOptions.DEFAULT)) {
            for (int at = 1; at <= TOKENS; at++) {
                int last = at;
                List<Integer> heard = new ArrayList<>();
                Session session = sessions.open().append("abcabcabc");
                IllegalStateException closed = assertThrows(
                        IllegalStateException.class,
                        () -> session.generate(
                                GenerationOptions.DEFAULT.withMaxTokens(TOKENS).withDraftTokens(3), token -> {
                                    heard.add(token.id());
                                    if (heard.size() == last) {
                                        session.close();
                                        assertEquals(0, sessions.usedBytes());
                                    }
                                    return heard.size() < TOKENS;
                                }));
                assertEquals(CLOSED, closed.getMessage());
                assertEquals(at, heard.size());
                for (Runnable call : List.<Runnable>of(
                        () -> session.append("a"),
                        () -> session.append(1),
                        session::nextLogits,
                        session::fork,
                        () -> session.truncate(1),
                        () -> session.generate(GenerationOptions.DEFAULT))) {
                    assertEquals(
                            CLOSED,
                            assertThrows(IllegalStateException.class, call::run).getMessage());
                }
            }
        }
    }

    @Test
    void aListenerMayAskButNotChange() {
        GenerationOptions options = GenerationOptions.DEFAULT.withMaxTokens(30).withDraftTokens(5);
        try (Sessions sessions = model.sessions(SessionOptions.DEFAULT.withSessions(40))) {
            int[] whole = tokensOf(sessions, options, TokenListener.NONE);
            Session session = sessions.open().append("abcdabcdabc");
            List<Session> forks = new ArrayList<>();
            session.generate(options, token -> {
                String[] calls = {"append", "truncate", "generate"};
                Runnable[] changes = {
                    () -> session.append("a"),
                    () -> session.truncate(2),
                    () -> session.generate(GenerationOptions.DEFAULT)
                };
                for (int i = 0; i < calls.length; i++) {
                    assertEquals(
                            "session: " + calls[i]
                                    + " while it generates; expected nextLogits, save, fork or close from its listener",
                            assertThrows(IllegalStateException.class, changes[i]::run)
                                    .getMessage());
                }
                assertThrows(
                        IllegalStateException.class,
                        () -> sessions.generate(List.of(session), List.of(GenerationOptions.DEFAULT)));
                if (session.length() % 3 == 0) {
                    session.nextLogits();
                }
                if (session.length() % 4 == 0) {
                    forks.add(session.fork());
                }
                return true;
            });
            assertArrayEquals(whole, session.tokens());
            for (Session fork : forks) {
                fork.generate(options.withMaxTokens(whole.length - fork.length()));
                assertArrayEquals(whole, fork.tokens());
            }
        }
    }

    private static int[] tokensOf(Sessions sessions, GenerationOptions options, TokenListener listener) {
        try (Session session = sessions.open().append("abcdabcdabc")) {
            session.generate(options, listener);
            return session.tokens();
        }
    }

    @Test
    void aSecondThreadIsRefusedAndTheFirstUndisturbed() throws Exception {
        GenerationOptions options = GenerationOptions.DEFAULT.withMaxTokens(40).withDraftTokens(2);
        try (Sessions sessions = model.sessions(SessionOptions.DEFAULT);
                ExecutorService thread = Executors.newSingleThreadExecutor()) {
            int[] whole = tokensOf(sessions, options, TokenListener.NONE);
            Session session = sessions.open().append("abcdabcdabc");
            AtomicInteger refused = new AtomicInteger();
            session.generate(options, token -> {
                for (Runnable call : List.<Runnable>of(
                        () -> session.append("a"),
                        session::nextLogits,
                        session::fork,
                        session::tokens,
                        () -> session.truncate(1),
                        () -> sessions.generate(List.of(session), List.of(GenerationOptions.DEFAULT)),
                        () -> session.generate(GenerationOptions.DEFAULT))) {
                    Throwable failure = assertThrows(ExecutionException.class, () -> thread.submit(call)
                                    .get())
                            .getCause();
                    assertEquals(
                            "session: in use by another thread; expected one thread at a time", failure.getMessage());
                    refused.incrementAndGet();
                }
                return true;
            });
            assertEquals(7 * 40, refused.get());
            assertArrayEquals(whole, session.tokens());
            thread.submit(() -> session.append("a")).get();
            assertEquals(whole.length + 1, session.length());
        }
    }

    /** One call generates for several sessions, and one session is closed while another one is computed. */
    @Test
    void othersOfTheSameCallGoOn() {
        GenerationOptions options = GenerationOptions.DEFAULT.withMaxTokens(40).withDraftTokens(2);
        try (Sessions sessions = model.sessions(SessionOptions.DEFAULT.withSessions(2))) {
            int[] whole = tokensOf(sessions, options, TokenListener.NONE);
            for (int at = 1; at < 40; at += 3) {
                int last = 12 + at;
                Session other = sessions.open().append("abc");
                try (Session good = sessions.open().append("abcdabcdabc")) {
                    Generation closing = good.begin(options, token -> {
                        if (good.length() == last) {
                            other.close();
                        }
                        return true;
                    });
                    Generation closed = other.begin(options, TokenListener.NONE);
                    String message = assertThrows(
                                    IllegalStateException.class,
                                    () -> Generations.run(
                                            good.state.cache, List.of(closing, closed), Generations.CHUNK_TOKENS))
                            .getMessage();
                    assertEquals(CLOSED, message);
                    assertArrayEquals(whole, good.tokens());
                }
            }
            assertEquals(0, sessions.usedBytes());
        }
    }

    @Test
    void forksOfATextThatSlidesLeaveNothing() {
        GenerationOptions options = GenerationOptions.DEFAULT.withMaxTokens(60).withWhenFull(WhenFull.SLIDE);
        try (Sessions sessions = model.sessions(SessionOptions.DEFAULT.withContextTokens(40))) {
            int[] whole;
            try (Session session = sessions.open().append("abcdabcdabc")) {
                session.generate(options);
                whole = session.tokens();
            }
            try (Session session = sessions.open().append("abcdabcdabc")) {
                session.generate(options, token -> {
                    try (Session fork = session.fork()) {
                        fork.generate(options.withMaxTokens(2));
                        int length = Math.min(whole.length, fork.length());
                        assertArrayEquals(Arrays.copyOf(whole, length), Arrays.copyOf(fork.tokens(), length));
                    }
                    return true;
                });
                assertArrayEquals(whole, session.tokens());
            }
            assertEquals(0, sessions.usedBytes());
        }
    }

    @Test
    void aModelThatIsClosedIsNamed() throws Exception {
        LanguageModel other = TinyDecoder.endless(cpu, 2);
        try (Sessions sessions = other.sessions(SessionOptions.DEFAULT);
                Session session = sessions.open().append("abc")) {
            session.nextLogits();
            other.close();
            other.withChatTemplate(ChatTemplate.GEMMA).close();
            for (Runnable call : List.<Runnable>of(
                    session::nextLogits,
                    sessions::open,
                    () -> session.generate(GenerationOptions.DEFAULT),
                    () -> other.sessions(SessionOptions.DEFAULT))) {
                assertEquals(
                        "model: closed; expected an open one",
                        assertThrows(IllegalStateException.class, call::run).getMessage());
            }
        }
    }

    @Test
    void callsThatRaceWithACloseSayThatSessionsAreClosed() throws Exception {
        try (ExecutorService threads = Executors.newFixedThreadPool(2)) {
            for (int round = 0; round < 300; round++) {
                Sessions sessions = model.sessions(SessionOptions.DEFAULT);
                Session session = sessions.open().append("abc");
                session.nextLogits();
                CountDownLatch start = new CountDownLatch(1);
                int call = round % 4;
                Future<?> racing = threads.submit(() -> {
                    start.await();
                    while (true) {
                        switch (call) {
                            case 0 -> sessions.open().close();
                            case 1 -> session.fork().close();
                            case 2 -> session.truncate(3).append("d").nextLogits();
                            default -> session.generate(GenerationOptions.DEFAULT.withMaxTokens(1));
                        }
                    }
                });
                start.countDown();
                for (int i = round; i > 0; i--) {
                    Thread.onSpinWait();
                }
                sessions.close();
                assertEquals(
                        "sessions: closed; expected open sessions",
                        assertThrows(ExecutionException.class, racing::get)
                                .getCause()
                                .getMessage());
            }
        }
    }
}
