package io.multihead.compute;

import io.multihead.internal.Checks;
import io.multihead.internal.Gate;
import io.multihead.internal.SlowConditions;
import io.multihead.internal.kernel.Lanes;
import io.multihead.tensor.Tensor;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

/**
 * Threads and scratch memory for kernels. No other class of the library starts a thread.
 *
 * <p>Results never depend on the number of threads. A Compute may be shared by any number of callers: whoever finds its
 * threads busy with another call computes on its own thread. Scratch grows to what the largest call needs and is reused; it
 * belongs to the Compute and becomes garbage with it.
 *
 * <p>{@link #close} ends the threads. Further calls fail with {@link IllegalStateException}.
 */
public final class Compute implements AutoCloseable {
    /** One thread's share of a call. */
    public interface Job {
        /**
         * Does one unit of the work. Units run in any order and on any thread.
         *
         * @param unit from 0
         * @param scratch the memory of the thread that runs it
         */
        void run(long unit, Workspace scratch);
    }

    private final int parallelism;
    private final @Nullable Gang gang;
    private final @Nullable Executor executor;
    /** Never started: stands for "some other thread" when a segment is asked who may use it. */
    private final Thread stranger = new Thread(() -> {}, "multihead-access-probe");

    private final Buffers buffers = new Buffers();
    private Workspace[] idle = new Workspace[4];
    private int idleCount;
    private volatile boolean closed;

    private Compute(int parallelism, @Nullable Gang gang, @Nullable Executor executor) {
        Gate.requireVectorModule();
        SlowConditions.report(Lanes.COUNT);
        this.parallelism = parallelism;
        this.gang = gang;
        this.executor = executor;
    }

    /**
     * Computes on the calling thread alone.
     *
     * @return a Compute without threads
     */
    public static Compute serial() {
        return new Compute(1, null, null);
    }

    /**
     * Computes on the calling thread and {@code threads - 1} daemon threads of its own, until closed.
     *
     * @param threads how many threads work on one call, the caller included; at least 1
     * @return a Compute with threads
     */
    public static Compute threads(int threads) {
        Checks.atLeast(threads, 1, "threads");
        Gate.requireVectorModule();
        return new Compute(threads, threads == 1 ? null : new Gang(threads - 1), null);
    }

    /**
     * Computes on the calling thread and on the caller's own pool. The call finishes even if the pool never runs anything,
     * since the calling thread takes every unit that nobody else has taken.
     *
     * @param executor runs up to {@code parallelism - 1} tasks per call; stays the caller's to shut down
     * @param parallelism how many threads work on one call, the caller included; at least 1
     * @return a Compute on that pool
     */
    public static Compute on(Executor executor, int parallelism) {
        Checks.notNull(executor, "executor");
        Checks.atLeast(parallelism, 1, "parallelism");
        return new Compute(parallelism, null, parallelism == 1 ? null : executor);
    }

    /**
     * How many threads work on one call.
     *
     * @return the number of threads, the caller included
     */
    public int parallelism() {
        return parallelism;
    }

    /**
     * Fails if this Compute's threads could not use the tensor's memory, before anything is written.
     *
     * @param tensor an argument of a call
     * @param argument its name
     * @throws IllegalStateException if the memory's arena is closed
     * @throws WrongThreadException if its arena is confined to another thread
     * @throws IllegalArgumentException if its arena is confined to this thread and this Compute has several
     */
    public void requireAccess(Tensor tensor, String argument) {
        MemorySegment memory = tensor.memory();
        if (memory.byteSize() > 0) {
            memory.get(ValueLayout.JAVA_BYTE, 0); // the JDK's own exception for a closed arena or a wrong thread
        }
        if (parallelism > 1 && !memory.isAccessibleBy(stranger)) {
            throw Checks.fail(
                    argument,
                    "memory of an arena confined to this thread",
                    "expected a shared, automatic or global arena, as this Compute has " + parallelism + " threads");
        }
    }

    /**
     * Takes a workspace for the calling thread.
     *
     * @return a workspace to be given back with {@link #giveBack}
     * @throws IllegalStateException if this Compute is closed
     */
    public synchronized Workspace take() {
        if (closed) {
            throw new IllegalStateException("compute: closed; expected an open one");
        }
        return idleCount == 0 ? new Workspace() : idle[--idleCount];
    }

    /**
     * Gives a workspace back for the next call.
     *
     * @param workspace from {@link #take}
     */
    public synchronized void giveBack(Workspace workspace) {
        if (idleCount == idle.length) {
            idle = Arrays.copyOf(idle, 2 * idleCount);
        }
        idle[idleCount++] = workspace;
    }

    /**
     * Takes an array for intermediate results.
     *
     * @param length how many floats are needed
     * @return at least so many, with arbitrary contents; to be given back with {@link #giveBack(float[])}, or left to the garbage
     *     collector
     */
    public float[] takeFloats(int length) {
        return buffers.take(length);
    }

    /**
     * Keeps an array for later calls: at most 64 MiB of them.
     *
     * @param floats from {@link #takeFloats}, no longer used
     */
    public void giveBack(float[] floats) {
        buffers.giveBack(floats);
    }

    /**
     * Runs all units of a job and returns when they are done.
     *
     * @param job what to do
     * @param units how many units there are
     * @param scratch the calling thread's workspace
     * @throws RuntimeException the first exception that a unit threw; remaining units may not have run
     */
    public void run(Job job, long units, Workspace scratch) {
        if (gang != null && units > 1 && gang.tryRun(job, units, scratch)) {
            return;
        }
        if (executor != null && units > 1) {
            Round round = new Round();
            round.open(job, units);
            for (long helper = 1; helper < Math.min(parallelism, units); helper++) {
                executor.execute(() -> help(round));
            }
            round.finish(scratch);
            return;
        }
        for (long unit = 0; unit < units; unit++) {
            job.run(unit, scratch);
        }
    }

    /** Runs on a thread of the caller's pool, perhaps long after the round has ended. */
    private void help(Round round) {
        if (!closed && round.hasUnits()) {
            Workspace scratch = take();
            try {
                round.work(scratch);
            } finally {
                giveBack(scratch);
            }
        }
    }

    /** Ends this Compute's threads; calls that are running finish first. Does nothing the second time. */
    @Override
    public void close() {
        closed = true;
        if (gang != null) {
            gang.close();
        }
    }
}
