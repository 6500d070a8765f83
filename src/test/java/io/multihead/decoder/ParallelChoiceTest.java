package io.multihead.decoder;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.multihead.compute.Compute;
import io.multihead.support.Patience;
import io.multihead.support.WarmCalls;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Tokens of several texts that are chosen in parallel equal the tokens that are chosen one text after the other. */
class ParallelChoiceTest {
    private final Compute cpu = Compute.threads(2);
    private final LanguageModel model = TinyDecoder.endless(cpu, 1);

    @AfterEach
    void close() {
        model.close();
        cpu.close();
    }

    private static GenerationOptions options(int seed) {
        Sampling sampling = Sampling.of(1.1, seed).withTopP(0.9).withPenalties(new Penalties(1.2, 0.1, 0.1, 0.1));
        return GenerationOptions.DEFAULT
                .withSampling(sampling)
                .withMaxTokens(30)
                .withDraftTokens(2)
                .withLogProbabilities(true);
    }

    @Test
    void textsAndLogProbabilitiesAreThoseOfEachAlone() {
        SessionOptions room = SessionOptions.DEFAULT.withSessions(6).withKeptPrefixes(false);
        try (Sessions sessions = model.sessions(room)) {
            List<Session> together = new ArrayList<>();
            for (int i = 0; i < 6; i++) {
                together.add(sessions.open().append("text " + i));
            }
            List<GeneratedText> texts = sessions.generate(together, Collections.nCopies(6, options(7)));
            together.forEach(Session::close);
            for (int i = 0; i < 6; i++) {
                try (Session alone = sessions.open().append("text " + i)) {
                    assertEquals(alone.generate(options(7)), texts.get(i), "text " + i);
                }
            }
        }
    }

    /** A task that does not compute. Subclasses implement the choice of a token. */
    private abstract static class Choosing extends SessionTask {
        Choosing(SessionState session) {
            super(session);
        }

        @Override
        Step next(int mostTokens) {
            throw new AssertionError("not asked for");
        }

        @Override
        void accept(Sampler sampler) {
            throw new AssertionError("not asked for");
        }

        @Override
        boolean choosesAhead() {
            return true;
        }
    }

    /** A task ends only after another task has begun on another thread. */
    @Test
    void severalThreadsChooseEachWithItsOwnSampler() {
        CyclicBarrier pair = new CyclicBarrier(2);
        Set<Thread> threads = ConcurrentHashMap.newKeySet();
        Set<Sampler> samplers = ConcurrentHashMap.newKeySet();
        try (Sessions sessions = model.sessions(SessionOptions.DEFAULT)) {
            SessionState state = sessions.openState();
            List<SessionTask> tasks = new ArrayList<>();
            for (int i = 0; i < ParallelChoice.LEAST_TEXTS; i++) {
                tasks.add(new Choosing(state) {
                    @Override
                    void chooseAhead(Sampler sampler) {
                        threads.add(Thread.currentThread());
                        samplers.add(sampler);
                        try {
                            pair.await(Patience.HANG_SECONDS, TimeUnit.SECONDS);
                        } catch (Exception late) {
                            throw new AssertionError(late);
                        }
                    }
                });
            }
            ParallelChoice.run(cpu, state.cache.samplers, tasks);
            assertEquals(2, threads.size());
            assertEquals(2, samplers.size());
            ParallelChoice.run(cpu, state.cache.samplers, tasks.subList(1, tasks.size())); // too few texts
        }
    }

    @Test
    void aWarmCallAllocatesNothing() {
        try (Sessions sessions = model.sessions(SessionOptions.DEFAULT)) {
            SessionState state = sessions.openState();
            int[] calls = new int[6];
            List<SessionTask> tasks = new ArrayList<>();
            for (int i = 0; i < calls.length; i++) {
                int task = i;
                tasks.add(new Choosing(state) {
                    @Override
                    void chooseAhead(Sampler sampler) {
                        calls[task]++;
                    }
                });
            }
            int[] rounds = new int[1];
            assertEquals(0, WarmCalls.allocatedBytes(0, () -> {
                ParallelChoice.run(cpu, state.cache.samplers, tasks);
                rounds[0]++;
            }));
            int[] all = new int[calls.length];
            Arrays.fill(all, rounds[0]);
            assertArrayEquals(all, calls);
        }
    }
}
