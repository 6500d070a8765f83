package io.multihead.internal.exec;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.support.Patience;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;
import java.util.function.LongConsumer;
import org.junit.jupiter.api.Test;

/** Every task runs once before the call returns, for all behaviors of threads and executors. */
class ExecutionTest {
    private static final FloatsKey FLOATS = new FloatsKey();

    @Test
    void everyTaskRunsOnce() {
        List<Runnable> late = new ArrayList<>();
        try (Execution serial = Execution.threads(1);
                Execution threads = Execution.threads(4);
                Execution never = Execution.on(task -> {}, 3);
                Execution direct = Execution.on(Runnable::run, 3);
                Execution afterwards = Execution.on(late::add, 3);
                Execution twice = Execution.on(
                        task -> {
                            task.run();
                            task.run();
                        },
                        3)) {
            for (Execution cpu : List.of(serial, threads, never, direct, afterwards, twice)) {
                for (int tasks : new int[] {0, 1, 2, 7, 1000}) {
                    for (int round = 0; round < 50; round++) {
                        assertEveryTaskRunsOnce(cpu, tasks);
                    }
                }
            }
            late.forEach(Runnable::run);
        }
        assertDoesNotThrow(() -> late.forEach(Runnable::run), "a helper may come after the end");
    }

    /** The barrier prevents that a thread takes a second task before every thread has its first task. */
    @Test
    void eachThreadBeginsWithAStripOfItsOwn() {
        CyclicBarrier everybody = new CyclicBarrier(3);
        Set<Long> first = ConcurrentHashMap.newKeySet();
        AtomicInteger count = new AtomicInteger();
        try (Execution cpu = Execution.threads(3)) {
            LoopBody body = inStrips(3, task -> {
                if (count.incrementAndGet() <= 3) {
                    first.add(task / 4);
                    meet(everybody);
                }
            });
            run(cpu, body, 12);
        }
        assertEquals(Set.of(0L, 1L, 2L), first);
        assertEquals(12, count.get());
    }

    @Test
    void aTaskMayCallAKernelItself() {
        try (Execution cpu = Execution.threads(3)) {
            AtomicIntegerArray runs = new AtomicIntegerArray(1);
            run(cpu, (task, scratch) -> run(cpu, (inner, s) -> runs.incrementAndGet(0), 5), 8);
            assertEquals(40, runs.get(0));
        }
    }

    @Test
    void anExecutorThatRejectsWhileHelpersRunChangesNothing() {
        try (ExecutorService pool = Executors.newCachedThreadPool()) {
            AtomicInteger asked = new AtomicInteger();
            Execution cpu = Execution.on(
                    helper -> {
                        if (asked.incrementAndGet() % 3 == 0) {
                            throw new RejectedExecutionException("full");
                        }
                        pool.execute(helper);
                    },
                    4);
            for (int round = 0; round < 500; round++) {
                assertEveryTaskRunsOnce(cpu, 40);
            }
        }
    }

    @Test
    void anExecutorThatIsShutDownLeavesTheCallerAlone() {
        ExecutorService pool = Executors.newFixedThreadPool(2);
        pool.shutdown();
        assertEveryTaskRunsOnce(Execution.on(pool, 4), 40);
    }

    /** The call must not throw the exception while a helper may still write. */
    @Test
    void whatExecuteThrowsArrivesWhenNoHelperRuns() throws Exception {
        try (ExecutorService pool = Executors.newCachedThreadPool()) {
            for (int round = 0; round < 50; round++) {
                CountDownLatch inside = new CountDownLatch(1);
                AtomicInteger asked = new AtomicInteger();
                AtomicInteger running = new AtomicInteger();
                Execution cpu = Execution.on(
                        helper -> {
                            if (asked.incrementAndGet() == 2) {
                                await(inside);
                                throw new IllegalCallerException("no more");
                            }
                            pool.execute(helper);
                        },
                        3);
                assertEquals(
                        "no more",
                        assertThrows(
                                        IllegalCallerException.class,
                                        () -> run(
                                                cpu,
                                                (task, scratch) -> {
                                                    running.incrementAndGet();
                                                    inside.countDown();
                                                    Thread.yield();
                                                    running.decrementAndGet();
                                                },
                                                1000))
                                .getMessage());
                assertEquals(0, running.get());
            }
        }
    }

    @Test
    void whatATaskThrowsReachesTheCaller() {
        try (Execution cpu = Execution.threads(3)) {
            for (int round = 0; round < 100; round++) {
                var error = assertThrows(
                        IllegalCallerException.class,
                        () -> run(
                                cpu,
                                (task, scratch) -> {
                                    if (task == 5) {
                                        throw new IllegalCallerException("task 5");
                                    }
                                },
                                20));
                assertEquals("task 5", error.getMessage());
            }
        }
    }

    /** Kotlin, Scala and Lombok let code throw undeclared checked exceptions. */
    @Test
    void aCheckedExceptionReachesTheCallerWithAnyNumberOfThreads() {
        IOException checked = new IOException("undeclared");
        try (Execution serial = Execution.threads(1);
                Execution threads = Execution.threads(3);
                Execution direct = Execution.on(Runnable::run, 3)) {
            for (Execution cpu : List.of(serial, threads, direct)) {
                assertSame(
                        checked,
                        assertThrows(
                                IOException.class,
                                () -> run(cpu, (task, scratch) -> ExecutionTest.<Error>sneak(checked), 20)));
                assertEveryTaskRunsOnce(cpu, 20);
            }
        }
    }

    @Test
    void failuresOfOtherThreadsAreSuppressedInTheFirst() {
        try (Execution cpu = Execution.threads(3)) {
            CyclicBarrier all = new CyclicBarrier(3);
            var error = assertThrows(
                    IllegalCallerException.class,
                    () -> run(
                            cpu,
                            (task, scratch) -> {
                                meet(all);
                                throw new IllegalCallerException("task " + task);
                            },
                            3));
            assertEquals(2, error.getSuppressed().length);
        }
    }

    @Test
    void anInterruptedCallerParksAndStaysInterrupted() throws Exception {
        try (Execution cpu = Execution.threads(2)) {
            AtomicReference<Thread> caller = new AtomicReference<>();
            AtomicBoolean interrupted = new AtomicBoolean();
            AtomicIntegerArray runs = new AtomicIntegerArray(2);
            CountDownLatch inside = new CountDownLatch(2);
            CountDownLatch parked = new CountDownLatch(1);
            Thread thread = Thread.ofPlatform().start(() -> {
                caller.set(Thread.currentThread());
                Thread.currentThread().interrupt();
                run(
                        cpu,
                        (task, scratch) -> {
                            inside.countDown();
                            spinUntil(() -> inside.getCount() == 0);
                            if (Thread.currentThread() != caller.get()) {
                                await(parked);
                            }
                            runs.incrementAndGet((int) task);
                        },
                        2);
                interrupted.set(Thread.interrupted());
            });
            // a caller that spins forever never reaches this state
            spinUntil(() -> thread.getState() == Thread.State.WAITING);
            parked.countDown();
            thread.join();
            assertTrue(interrupted.get());
            assertEquals(1, runs.get(0));
            assertEquals(1, runs.get(1));
        }
    }

    @Test
    void anInterruptedWorkerParksAgain() {
        try (Execution cpu = Execution.threads(2)) {
            AtomicReference<Thread> worker = new AtomicReference<>();
            Thread caller = Thread.currentThread();
            CyclicBarrier both = new CyclicBarrier(2);
            run(
                    cpu,
                    (task, scratch) -> {
                        if (Thread.currentThread() != caller) {
                            worker.set(Thread.currentThread());
                        }
                        meet(both);
                    },
                    2);
            for (int round = 0; round < 3; round++) {
                worker.get().interrupt();
                // a worker that spins forever never reaches this state
                spinUntil(() -> !worker.get().isInterrupted() && worker.get().getState() == Thread.State.TIMED_WAITING);
            }
        }
    }

    @Test
    void closedMeansClosed() {
        Execution cpu = Execution.threads(2);
        cpu.close();
        cpu.close();
        assertEquals(
                "compute: closed; expected an open one",
                assertThrows(IllegalStateException.class, cpu::take).getMessage());
        assertEquals(
                "compute: closed; expected an open one",
                assertThrows(IllegalStateException.class, cpu::begin).getMessage());
    }

    @Test
    @SuppressWarnings("try") // the call ends with the block
    void aCallThatBeganBeforeCloseFinishes() throws Exception {
        Execution cpu = Execution.threads(3);
        try (Execution.Running call = cpu.begin()) {
            assertEveryTaskRunsOnce(cpu, 10);
            cpu.close();
            assertEveryTaskRunsOnce(cpu, 10);
            AtomicReference<Throwable> other = new AtomicReference<>();
            Thread thread = Thread.ofPlatform().start(() -> other.set(assertThrows(Throwable.class, cpu::take)));
            thread.join();
            assertEquals(IllegalStateException.class, other.get().getClass(), "another thread's call is a new one");
        }
        assertThrows(IllegalStateException.class, cpu::take);
        assertEquals(0, cpu.heldBytes(), "nothing is kept for calls that cannot come");
    }

    /** A score modifier that multiplies matrices makes such nested calls. */
    @Test
    void nestedCallsOnHelpersFinishAfterClose() {
        try (ExecutorService helpers = Executors.newFixedThreadPool(2)) {
            for (Execution cpu : List.of(Execution.threads(3), Execution.on(helpers, 3))) {
                CyclicBarrier all = new CyclicBarrier(3);
                run(
                        cpu,
                        (task, scratch) -> {
                            meet(all);
                            cpu.close();
                            meet(all);
                            assertEveryTaskRunsOnce(cpu, 10);
                        },
                        3);
                assertThrows(IllegalStateException.class, cpu::take);
            }
        }
    }

    @Test
    void scratchIsCountedTrimmedAndReleased() {
        for (Execution cpu : List.of(Execution.threads(1), Execution.threads(3), Execution.on(Runnable::run, 3))) {
            assertEquals(0, cpu.heldBytes());
            run(cpu, (task, scratch) -> scratch.floats(FLOATS, 1 << 20), 30);
            cpu.giveBack(cpu.takeFloats(1 << 20));
            assertTrue(cpu.heldBytes() >= 2L << 22, "an array of a workspace, and one for intermediate results");
            cpu.trim();
            assertEquals(0, cpu.heldBytes());
            run(cpu, (task, scratch) -> scratch.floats(FLOATS, 1 << 20), 30);
            cpu.giveBack(cpu.takeFloats(1 << 20));
            cpu.close();
            assertEquals(0, cpu.heldBytes());
        }
    }

    @Test
    void whenAThreadCannotStartThoseBeforeItEnd() throws Exception {
        List<Thread> started = new ArrayList<>();
        assertThrows(
                OutOfMemoryError.class,
                () -> new WorkerPool(4, task -> {
                    if (started.size() == 2) {
                        throw new OutOfMemoryError("unable to create native thread");
                    }
                    Thread thread = new Thread(task);
                    started.add(thread);
                    return thread;
                }));
        for (Thread thread : started) {
            thread.join();
        }
        assertEquals(2, started.size());
    }

    /** A thread without memory for scratch runs no task, and is not counted as a thread of the call. */
    @Test
    void aHelperWithoutMemoryIsNotCounted() {
        AtomicInteger made = new AtomicInteger();
        Execution cpu = Execution.on(Runnable::run, 2, () -> {
            if (made.incrementAndGet() > 1) {
                throw new OutOfMemoryError("no room for scratch");
            }
            return new Workspace();
        });
        assertEquals(
                "no room for scratch",
                assertThrows(OutOfMemoryError.class, () -> run(cpu, (task, scratch) -> {}, 2))
                        .getMessage());
        cpu.close();
        assertThrows(IllegalStateException.class, cpu::take, "this thread is within no call that began before");
    }

    private static void assertEveryTaskRunsOnce(Execution cpu, int tasks) {
        for (int strips : new int[] {1, 3}) {
            AtomicIntegerArray runs = new AtomicIntegerArray(tasks + 1);
            run(cpu, inStrips(strips, task -> runs.incrementAndGet((int) task)), tasks);
            for (int i = 0; i < tasks; i++) {
                assertEquals(1, runs.get(i));
            }
        }
    }

    private static LoopBody inStrips(int strips, LongConsumer task) {
        return new LoopBody() {
            @Override
            public void run(long number, Workspace scratch) {
                task.accept(number);
            }

            @Override
            public int strips() {
                return strips;
            }
        };
    }

    private static void run(Execution cpu, LoopBody job, long tasks) {
        Workspace scratch = cpu.take();
        try {
            cpu.run(job, tasks, scratch);
        } finally {
            cpu.giveBack(scratch);
        }
    }

    private static void await(CountDownLatch latch) {
        try {
            assertTrue(latch.await(Patience.HANG_SECONDS, TimeUnit.SECONDS), "others do not arrive");
        } catch (InterruptedException exception) {
            throw new AssertionError(exception);
        }
    }

    private static void meet(CyclicBarrier barrier) {
        try {
            barrier.await(Patience.HANG_SECONDS, TimeUnit.SECONDS);
        } catch (InterruptedException | BrokenBarrierException | TimeoutException exception) {
            throw new AssertionError("others do not arrive", exception);
        }
    }

    /** Waits whether or not the thread is interrupted. */
    private static void spinUntil(BooleanSupplier condition) {
        long start = System.nanoTime();
        while (!condition.getAsBoolean()) {
            assertTrue(
                    System.nanoTime() - start < TimeUnit.SECONDS.toNanos(Patience.HANG_SECONDS), "does not come about");
            Thread.onSpinWait();
        }
    }

    @SuppressWarnings("unchecked") // the cast has no effect at run time
    private static <E extends Throwable> void sneak(Throwable thrown) throws E {
        throw (E) thrown;
    }
}
