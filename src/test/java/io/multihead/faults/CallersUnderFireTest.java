package io.multihead.faults;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.attention.Attention;
import io.multihead.attention.AttentionOptions;
import io.multihead.attention.ScoreModifier;
import io.multihead.attention.ScoreOptions;
import io.multihead.compute.Compute;
import io.multihead.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Many platform and virtual threads call attention on one Compute. Some are interrupted, and some have modifiers that throw, call attention
 * again or are slow. Results have the same bits as with a single caller, the first failure reaches its caller, and later calls are not
 * affected.
 *
 * <p>A build runs a few rounds. {@code -Dmultihead.faults.seconds=N} runs rounds for N seconds.
 */
@Timeout(value = 30, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class CallersUnderFireTest {
    private static final int CALLERS = 64;
    private static final int ROUNDS = 6;
    private static final int SECONDS = Integer.getInteger("multihead.faults.seconds", 0);
    private static final int HEADS = 4;
    private static final int DIM = 8;

    private static final ScoreModifier SAME = (batch, head, query, key, score) -> score;

    private final Compute cpu = Compute.threads(4);

    @AfterEach
    void close() {
        cpu.close();
    }

    @Test
    void interruptedCallersHaveTheirResultsAndStayInterrupted() throws InterruptedException {
        ConcurrentLinkedQueue<String> faults = new ConcurrentLinkedQueue<>();
        CountDownLatch done = new CountDownLatch(CALLERS);
        List<Thread> callers = new ArrayList<>();
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(SECONDS);
        for (int caller = 0; caller < CALLERS; caller++) {
            int seed = caller;
            Runnable calls = () -> {
                try {
                    Case own = new Case(seed, 1 + seed % 40);
                    for (int round = 0; round < ROUNDS || System.nanoTime() < end; round++) {
                        own.check(cpu, round % 2 == seed % 2, faults);
                    }
                } catch (Throwable thrown) {
                    faults.add("caller " + seed + ": " + thrown);
                } finally {
                    done.countDown();
                }
            };
            callers.add(
                    caller % 2 == 0
                            ? Thread.ofPlatform().start(calls)
                            : Thread.ofVirtual().start(calls));
        }
        SplittableRandom random = new SplittableRandom(1);
        while (!done.await(1, TimeUnit.MILLISECONDS)) {
            callers.get(random.nextInt(CALLERS)).interrupt();
        }
        assertEquals(List.of(), List.copyOf(faults));
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 4})
    void theFailureOfAModifierReachesTheCaller(int threads) {
        failuresReachTheCaller(threads, new IllegalArgumentException("test"));
        failuresReachTheCaller(threads, new StackOverflowError("test"));
    }

    /** Modifiers written in Kotlin or Scala may throw checked exceptions that they do not declare. */
    @ParameterizedTest
    @ValueSource(ints = {1, 4})
    void aCheckedExceptionReachesTheCaller(int threads) {
        failuresReachTheCaller(threads, new Exception("test"));
    }

    private static void failuresReachTheCaller(int threads, Throwable failure) {
        try (Compute own = Compute.threads(threads)) {
            Case calls = new Case(7, 30);
            for (int round = 0; round < 20; round++) {
                int failing = round;
                Throwable thrown = assertThrows(
                        Throwable.class,
                        () -> calls.forward(own, (batch, head, query, key, score) -> {
                            if (key == failing) {
                                CallersUnderFireTest.<RuntimeException>sneak(failure);
                            }
                            return score;
                        }));
                assertSame(failure, thrown);
                assertArrayEquals(calls.modified, calls.forward(own, SAME));
            }
        }
    }

    /** Throws a checked exception that is not declared, as other languages on the JVM may do. */
    @SuppressWarnings("unchecked")
    private static <T extends Throwable> void sneak(Throwable thrown) throws T {
        throw (T) thrown;
    }

    @Test
    void modifiersMayCallAttentionThemselves() {
        Case outer = new Case(3, 20);
        Case inner = new Case(4, 30);
        AtomicInteger wrong = new AtomicInteger();
        for (int round = 0; round < ROUNDS; round++) {
            double[] actual = outer.forward(cpu, (batch, head, query, key, score) -> {
                if (key % 5 == 0) {
                    Case own = new Case(4, 30);
                    wrong.addAndGet(java.util.Arrays.equals(inner.expected, own.forward(cpu, null)) ? 0 : 1);
                }
                return score;
            });
            assertArrayEquals(outer.modified, actual);
        }
        assertEquals(0, wrong.get());
    }

    @Test
    void modifiersMayBeSlowAndInterruptTheirThread() {
        Case calls = new Case(5, 30);
        for (int round = 0; round < ROUNDS; round++) {
            SplittableRandom random = new SplittableRandom(round);
            long slow = random.nextInt(30);
            double[] actual = calls.forward(cpu, (batch, head, query, key, score) -> {
                if (key == slow && query == 0) {
                    Thread.currentThread().interrupt();
                    long until = System.nanoTime() + 2_000_000;
                    while (System.nanoTime() < until) {
                        Thread.onSpinWait();
                    }
                }
                return score;
            });
            Thread.interrupted();
            assertArrayEquals(calls.modified, actual);
        }
        assertTrue(cpu.parallelism() > 1);
    }

    /** A call of attention with the result that one thread computes. */
    private static final class Case {
        private final Tensor query;
        private final Tensor keys;
        private final int length;
        private final double[] expected;
        /**
         * The result with a modifier that returns the score unchanged. Scores are scaled before the modifier sees them, which adds a
         * rounding.
         */
        private final double[] modified;

        Case(int seed, int length) {
            this.length = length;
            SplittableRandom random = new SplittableRandom(seed);
            query = tensor(random, length);
            keys = tensor(random, length);
            expected = forward(Compute.serial(), null);
            modified = forward(Compute.serial(), SAME);
        }

        private static Tensor tensor(SplittableRandom random, int length) {
            float[] values = new float[2 * HEADS * length * DIM];
            for (int i = 0; i < values.length; i++) {
                values[i] = (float) random.nextGaussian();
            }
            return Tensor.of(values, 2, HEADS, length, DIM);
        }

        double[] forward(Compute cpu, @org.jspecify.annotations.Nullable ScoreModifier modifier) {
            Tensor output = Tensor.of(new float[2 * HEADS * length * DIM], 2, HEADS, length, DIM);
            AttentionOptions options = AttentionOptions.DEFAULT.withScores(ScoreOptions.NONE.withModifier(modifier));
            Attention.forward(cpu, query, keys, keys, output, options);
            float[] values = output.toArray();
            double[] result = new double[values.length];
            for (int i = 0; i < values.length; i++) {
                result[i] = values[i];
            }
            return result;
        }

        void check(Compute cpu, boolean interrupted, ConcurrentLinkedQueue<String> faults) {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
            double[] actual = forward(cpu, null);
            if (interrupted && !Thread.interrupted()) {
                faults.add("length " + length + ": the interrupt flag was cleared");
            }
            if (!java.util.Arrays.equals(expected, actual)) {
                faults.add("length " + length + ": another result");
            }
        }
    }
}
