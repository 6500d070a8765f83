package io.multihead.decoder;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.cache.CacheFormat;
import io.multihead.compute.Compute;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * A prompt that begins with the tokens of a closed session reuses their keys and values. The results have the same bits, and no memory is
 * taken from other sessions.
 */
class PrefixReuseTest {
    private static final GenerationOptions OPTIONS =
            GenerationOptions.DEFAULT.withSampling(Sampling.of(1.2, 5)).withMaxTokens(20);

    private final Compute cpu = Compute.threads(2);
    private final LanguageModel model = TinyDecoder.endless(cpu, 1);

    @AfterEach
    void close() {
        model.close();
        cpu.close();
    }

    private static int[] prompt(int length, int seed) {
        return new SplittableRandom(seed).ints(length, 'a', 'z').toArray();
    }

    private static int[] join(int[] begin, int[] end) {
        return IntStream.concat(Arrays.stream(begin), Arrays.stream(end)).toArray();
    }

    private static int[] generate(Sessions sessions, int[] prompt) {
        try (Session session = sessions.open().append(prompt)) {
            session.generate(OPTIONS);
            return session.tokens();
        }
    }

    private int[] anew(SessionOptions options, int[] prompt) {
        try (Sessions own = model.sessions(options.withKeptPrefixes(false))) {
            int[] tokens = generate(own, prompt);
            assertEquals(new PrefixReuse(0, 0, 0), own.prefixReuse());
            return tokens;
        }
    }

    @Test
    void aPromptStartsFromTheLongestPrefixThatIsThere() {
        SessionOptions options = SessionOptions.DEFAULT.withSessions(3);
        try (Sessions sessions = model.sessions(options)) {
            int[] begin = prompt(100, 1);
            int[] first = generate(sessions, begin);
            assertEquals(0, sessions.usedBytes());
            long page = 64 * sessions.bytesPerToken();
            // the last token was chosen but not computed
            assertEquals(new PrefixReuse(0, 0, 2 * page), sessions.prefixReuse());

            int[] turn = join(first, prompt(30, 2));
            assertArrayEquals(anew(options, turn), generate(sessions, turn));
            assertEquals(new PrefixReuse(1, 119, 3 * page), sessions.prefixReuse());

            // another text shares the first page
            int[] other = join(Arrays.copyOf(begin, 64), join(new int[] {'A'}, prompt(79, 3)));
            assertArrayEquals(anew(options, other), generate(sessions, other));
            assertEquals(new PrefixReuse(2, 119 + 64, 5 * page), sessions.prefixReuse());

            int[] next = join(turn, prompt(5, 4));
            try (Session session = sessions.open().append(next)) {
                session.nextLogits();
                assertEquals(new PrefixReuse(3, 119 + 64 + 150, 3 * page), sessions.prefixReuse());
                assertEquals(3 * page, sessions.usedBytes());
            }
            assertArrayEquals(anew(options, next), generate(sessions, next));
            assertEquals(0, sessions.usedBytes());
        }
    }

    /** The logits of the last token are not kept, so that it is computed once more. */
    @Test
    void theLastTokenIsComputedOnceMore() {
        try (Sessions sessions = model.sessions(SessionOptions.DEFAULT)) {
            float[] logits;
            try (Session session = sessions.open().append(prompt(128, 1))) {
                logits = session.nextLogits();
            }
            try (Session session = sessions.open().append(prompt(128, 1))) {
                assertArrayEquals(logits, session.nextLogits());
            }
            assertEquals(127, sessions.prefixReuse().savedTokens());
            assertEquals(
                    2 * 64 * sessions.bytesPerToken(), sessions.prefixReuse().keptBytes());
        }
    }

    /**
     * A prompt continues within the last page of a kept prefix. It gets a copy of the page, even if there is only memory for the prompt.
     */
    @Test
    void aPageThatIsNotFullIsCopiedOrTaken() {
        SessionOptions options = SessionOptions.DEFAULT.withContextTokens(192);
        int[] begin = prompt(100, 1);
        int[] turn = join(begin, prompt(72, 2));
        try (Sessions sessions = model.sessions(options)) {
            try (Session session = sessions.open().append(begin)) {
                session.nextLogits();
            }
            assertArrayEquals(anew(options, turn), generate(sessions, turn));
            assertEquals(100, sessions.prefixReuse().savedTokens());
            assertArrayEquals(anew(options, begin), generate(sessions, begin));
            assertEquals(100 + 99, sessions.prefixReuse().savedTokens());
        }
    }

    /** Prompts of one template have some common tokens, which does not mean that a chat continues. */
    @Test
    void aFewTokensInCommonAreNoPrefix() {
        try (Sessions sessions = model.sessions(SessionOptions.DEFAULT)) {
            for (int common = KeptPrefixes.LEAST_TOKENS - 1; common <= KeptPrefixes.LEAST_TOKENS; common++) {
                generate(sessions, join(Arrays.copyOf(prompt(100, 1), common), prompt(30, common)));
            }
            assertEquals(0, sessions.prefixReuse().hits());
            generate(sessions, join(Arrays.copyOf(prompt(100, 1), KeptPrefixes.LEAST_TOKENS), prompt(30, 9)));
            assertEquals(KeptPrefixes.LEAST_TOKENS, sessions.prefixReuse().savedTokens());
        }
    }

    @Test
    void whatIsKeptGivesWayToSessions() {
        try (Sessions sessions = model.sessions(SessionOptions.DEFAULT)) {
            // there are nine pages
            for (int i = 0; i < 10; i++) {
                generate(sessions, prompt(140, i));
            }
            long all = 9 * 64 * sessions.bytesPerToken();
            assertTrue(sessions.prefixReuse().keptBytes() <= all);
            List<Session> open = new ArrayList<>();
            for (int i = 20; i < 23; i++) {
                open.add(sessions.open().append(prompt(150, i)));
                open.getLast().nextLogits();
            }
            assertEquals(all, sessions.usedBytes());
            assertEquals(0, sessions.prefixReuse().keptBytes());
            generate(sessions, prompt(100, 30));
            open.forEach(Session::close);
            assertEquals(0, sessions.usedBytes());
        }
    }

    @Test
    void whatSlidIsNotKept() {
        try (Sessions sessions = model.sessions(SessionOptions.DEFAULT.withContextTokens(100))) {
            try (Session session = sessions.open().append(prompt(90, 1))) {
                session.generate(OPTIONS.withWhenFull(WhenFull.SLIDE).withMaxTokens(30));
            }
            assertEquals(0, sessions.prefixReuse().keptBytes());
        }
    }

    /**
     * Several threads have chats whose turns share their beginning. Memory is too small for all, and some sessions are closed during a
     * text.
     */
    @Test
    void everyScheduleHasTheTextsThatAreComputedAnew() throws Exception {
        for (int schedule = 0; schedule < 12; schedule++) {
            SessionOptions options = SessionOptions.DEFAULT
                    .withSessions(1 + schedule % 3)
                    .withCacheFormat(CacheFormat.values()[schedule % CacheFormat.values().length]);
            try (Sessions sessions = model.sessions(options, 20);
                    Sessions anew = model.sessions(options.withKeptPrefixes(false));
                    ExecutorService threads = Executors.newFixedThreadPool(4)) {
                List<Future<?>> chats = new ArrayList<>();
                for (int chat = 0; chat < 4; chat++) {
                    SplittableRandom random = new SplittableRandom(10L * schedule + chat);
                    chats.add(threads.submit(() -> {
                        int[] history = prompt(70, 1);
                        for (int turn = 0; turn < 4; turn++) {
                            history = join(history, prompt(1 + random.nextInt(12), random.nextInt(3)));
                            int cut = random.nextInt(30);
                            try (Session session = sessions.open().append(history)) {
                                session.generate(OPTIONS.withDraftTokens(3), token -> random.nextInt(30) != cut);
                                int[] tokens = session.tokens();
                                assertArrayEquals(Arrays.copyOf(generate(anew, history), tokens.length), tokens);
                                history = tokens;
                            }
                        }
                    }));
                }
                for (Future<?> chat : chats) {
                    chat.get();
                }
                assertTrue(
                        sessions.prefixReuse().hits() >= 6,
                        sessions.prefixReuse().toString());
                assertEquals(0, sessions.usedBytes());
            }
        }
    }
}
