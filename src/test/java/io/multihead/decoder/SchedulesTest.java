package io.multihead.decoder;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.cache.CacheFormat;
import io.multihead.compute.Compute;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * The tokens of a session are the same alone and in any batch, on any number of threads, with a prompt computed at once or in chunks of any
 * size, and with and without draft tokens.
 */
@Tag("lanes")
@Tag("bits")
class SchedulesTest {
    /** At given lane widths there are fewer schedules, because the rows of a step do not depend on the width. */
    private static final int SCHEDULES = System.getProperty("io.multihead.lanes") == null ? 200 : 50;

    private static final int TOKENS = 24;

    /** The prompt and the sampling of one session. */
    private record Job(int[] prompt, Sampling sampling) {}

    @Test
    void everyScheduleHasTheSameTokens() {
        CacheFormat[] formats = CacheFormat.values();
        for (int schedule = 0; schedule < SCHEDULES; schedule++) {
            SplittableRandom random = new SplittableRandom(schedule);
            SessionOptions options =
                    SessionOptions.DEFAULT.withSessions(8).withCacheFormat(formats[schedule % formats.length]);
            try (Compute cpu = Compute.threads(1 + random.nextInt(3));
                    Compute serial = Compute.serial();
                    LanguageModel model = TinyDecoder.model(cpu, schedule % 10);
                    LanguageModel alone = TinyDecoder.model(serial, schedule % 10);
                    Sessions sessions = model.sessions(options, 1 + random.nextInt(40));
                    Sessions own = alone.sessions(options)) {
                List<Job> jobs = jobs(random);
                int[][] expected =
                        jobs.stream().map(job -> generateAlone(own, job)).toArray(int[][]::new);
                int[][] actual = schedule(random, sessions, jobs);
                for (int i = 0; i < jobs.size(); i++) {
                    assertArrayEquals(expected[i], actual[i], "schedule " + schedule + ", session " + i);
                }
            }
        }
    }

    private static List<Job> jobs(SplittableRandom random) {
        List<Job> jobs = new ArrayList<>();
        for (int i = 1 + random.nextInt(6); i > 0; i--) {
            int[] prompt = random.ints(1 + random.nextInt(80), 0, 6)
                    .map(letter -> 'a' + letter)
                    .toArray();
            Sampling sampling = random.nextBoolean()
                    ? Sampling.GREEDY
                    : Sampling.of(0.7, random.nextLong())
                            .withTopK(random.nextInt(20))
                            .withTopP(0.95);
            jobs.add(new Job(
                    prompt,
                    random.nextInt(3) == 0 ? sampling.withPenalties(new Penalties(1.3, 0.1, 0.2, 0.1)) : sampling));
        }
        return jobs;
    }

    private static int[] generateAlone(Sessions sessions, Job job) {
        try (Session session = sessions.open().append(job.prompt)) {
            session.generate(options(job, TOKENS));
            return session.tokens();
        }
    }

    private static GenerationOptions options(Job job, int tokens) {
        return GenerationOptions.DEFAULT.withSampling(job.sampling).withMaxTokens(tokens);
    }

    /** Makes random groups of sessions generate random numbers of tokens until each session has all its tokens. */
    private static int[][] schedule(SplittableRandom random, Sessions sessions, List<Job> jobs) {
        List<Session> open = new ArrayList<>();
        for (Job job : jobs) {
            open.add(open(random, sessions, job.prompt));
        }
        boolean[] ended = new boolean[jobs.size()];
        while (true) {
            List<Integer> group = new ArrayList<>();
            for (int i = 0; i < ended.length; i++) {
                if (!ended[i] && random.nextInt(3) > 0) {
                    group.add(i);
                }
            }
            List<GenerationOptions> options = group.stream()
                    .map(i -> options(jobs.get(i), 1 + random.nextInt(left(open, jobs, i)))
                            .withDraftTokens(random.nextInt(5)))
                    .toList();
            List<GeneratedText> texts =
                    sessions.generate(group.stream().map(open::get).toList(), options);
            for (int i = 0; i < group.size(); i++) {
                int job = group.get(i);
                ended[job] = texts.get(i).finish() == FinishReason.END_TOKEN || left(open, jobs, job) == 0;
            }
            boolean all = true;
            for (boolean each : ended) {
                all &= each;
            }
            if (all) {
                return open.stream().map(Session::tokens).toArray(int[][]::new);
            }
        }
    }

    private static int left(List<Session> open, List<Job> jobs, int job) {
        return jobs.get(job).prompt.length + TOKENS - open.get(job).length();
    }

    /** Opens a session with a prompt, either at once, or as a fork of a session that has computed the first half of the prompt. */
    private static Session open(SplittableRandom random, Sessions sessions, int[] prompt) {
        if (random.nextBoolean() || prompt.length < 2) {
            return sessions.open().append(prompt);
        }
        int half = prompt.length / 2;
        Session begin = sessions.open().append(Arrays.copyOf(prompt, half));
        begin.generate(GenerationOptions.DEFAULT.withMaxTokens(1 + random.nextInt(3)));
        begin.truncate(half);
        Session fork = begin.fork().append(Arrays.copyOfRange(prompt, half, prompt.length));
        if (random.nextBoolean()) {
            begin.close();
        }
        return fork;
    }

    @Test
    void sessionsOfVirtualThreadsHaveTheTokensThatTheyHaveAlone() throws Exception {
        int callers = 64;
        SplittableRandom random = new SplittableRandom(1);
        List<Job> jobs = new ArrayList<>();
        while (jobs.size() < callers) {
            jobs.addAll(jobs(random));
        }
        try (Compute cpu = Compute.threads(2);
                LanguageModel model = TinyDecoder.model(cpu, 3);
                Sessions sessions = model.sessions(SessionOptions.DEFAULT.withSessions(callers));
                ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            List<Job> all = jobs.subList(0, callers);
            int[][] expected =
                    all.stream().map(job -> generateAlone(sessions, job)).toArray(int[][]::new);
            CountDownLatch start = new CountDownLatch(1);
            List<Future<int[]>> results = all.stream()
                    .map(job -> threads.submit(() -> {
                        start.await();
                        return generateAlone(sessions, job);
                    }))
                    .toList();
            start.countDown();
            for (int i = 0; i < callers; i++) {
                assertArrayEquals(expected[i], results.get(i).get(), "session " + i);
            }
            assertTrue(sessions.usedBytes() == 0, "sessions hold " + sessions.usedBytes() + " bytes");
        }
    }
}
