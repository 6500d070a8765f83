package io.multihead.compute;

import io.multihead.internal.Checks;
import io.multihead.internal.Gate;
import io.multihead.internal.SlowConditions;
import io.multihead.internal.kernel.Lanes;
import io.multihead.tensor.Tensor;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import org.jspecify.annotations.Nullable;

/**
 * Threads and scratch memory for kernels. No other class of the library starts a thread.
 *
 * <p>Results never depend on the number of threads. A Compute may be shared by any number of callers: one that finds its
 * threads busy with another call computes on its own thread. Scratch memory grows to what the largest call needs and is reused;
 * {@link #heldBytes} says how much there is, {@link #trim} and {@link #close} release it.
 *
 * <p>Interrupts neither end a call nor change its result; the caller's interrupt status stays set. {@link #close} ends the threads.
 * Further calls fail with {@link IllegalStateException}.
 */
public final class Compute implements AutoCloseable {
    /** The body of a parallel loop. */
    public interface Job {
        /**
         * Runs one task. Tasks run in any order and on any thread.
         *
         * @param task from 0
         * @param scratch the memory of the thread that runs it
         */
        void run(long task, Workspace scratch);
    }

    private static final int MAX_PARALLELISM = 1024;

    private final int parallelism;
    private final @Nullable WorkerPool pool;
    private final @Nullable Executor executor;
    /** Never started: stands for "some other thread" when a segment is asked who may use it. */
    private final Thread probe = new Thread(() -> {}, "multihead-access-probe");

    private final FloatArrayPool arrays = new FloatArrayPool();
    private final Workspaces workspaces = new Workspaces();
    private final Running running = workspaces::leave;

    private Compute(int parallelism, @Nullable WorkerPool pool, @Nullable Executor executor) {
        Gate.requireVectorModule();
        SlowConditions.report(Lanes.COUNT);
        this.parallelism = parallelism;
        this.pool = pool;
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
     * @param threads how many threads work on one call, the caller included; 1 to 1024
     * @return a Compute with threads
     * @throws OutOfMemoryError if the system refuses a thread; those already started are ended
     */
    public static Compute threads(int threads) {
        requireParallelism(threads, "threads");
        Gate.requireVectorModule();
        return new Compute(threads, threads == 1 ? null : new WorkerPool(threads - 1), null);
    }

    /**
     * Computes on the calling thread and on the caller's own executor. A call is complete when it returns, whatever the executor
     * does: the calling thread runs every task that nobody else has taken, so an executor may reject tasks, drop them, or run
     * them late, twice or in the caller. What {@code execute} throws, other than {@link RejectedExecutionException}, reaches the
     * caller once no helper runs any more.
     *
     * @param executor runs up to {@code parallelism - 1} tasks per call; stays the caller's to shut down
     * @param parallelism how many threads work on one call, the caller included; 1 to 1024
     * @return a Compute on that executor
     */
    public static Compute on(Executor executor, int parallelism) {
        Checks.notNull(executor, "executor");
        requireParallelism(parallelism, "parallelism");
        return new Compute(parallelism, null, parallelism == 1 ? null : executor);
    }

    private static void requireParallelism(int threads, String argument) {
        if (threads < 1 || threads > MAX_PARALLELISM) {
            throw Checks.fail(argument, String.valueOf(threads), "expected 1 to " + MAX_PARALLELISM);
        }
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
        if (parallelism > 1 && !memory.isAccessibleBy(probe)) {
            throw Checks.fail(
                    argument,
                    "memory of an arena confined to this thread",
                    "expected a shared, automatic or global arena, as this Compute has " + parallelism + " threads");
        }
    }

    /** A call of several kernels that is running on the thread that began it. */
    public interface Running extends AutoCloseable {
        /** Ends the call, on the thread that began it. */
        @Override
        void close();
    }

    /**
     * Begins a call of several kernels: until the returned object is closed, this thread's calls succeed even if {@link #close} is
     * called meanwhile. Calls nest.
     *
     * @return to be closed by the same thread
     * @throws IllegalStateException if this Compute is closed
     */
    public Running begin() {
        workspaces.enter();
        return running;
    }

    /**
     * Takes a workspace for the calling thread.
     *
     * @return a workspace to be given back with {@link #giveBack}
     * @throws IllegalStateException if this Compute is closed and the thread is not within a call that began before
     */
    public Workspace take() {
        workspaces.enter();
        return workspaces.take();
    }

    /**
     * Gives a workspace back for the next call.
     *
     * @param workspace from {@link #take}, on the same thread
     */
    public void giveBack(Workspace workspace) {
        workspaces.giveBack(workspace);
        workspaces.leave();
    }

    /**
     * Takes an array for intermediate results.
     *
     * @param length how many floats are needed
     * @return at least so many, with arbitrary contents; to be given back with {@link #giveBack(float[])}, or left to the garbage
     *     collector
     */
    public float[] takeFloats(int length) {
        return arrays.take(length);
    }

    /**
     * Keeps an array for later calls: at most 64 MiB of them.
     *
     * @param floats from {@link #takeFloats}, no longer used
     */
    public void giveBack(float[] floats) {
        arrays.giveBack(floats);
    }

    /**
     * Runs all tasks of a job and returns when they are done.
     *
     * @param job what to do
     * @param tasks how many tasks there are
     * @param scratch the calling thread's workspace
     * @throws RuntimeException the first exception that a task threw, of whatever type, with those of other threads suppressed in
     *     it; remaining tasks have not run
     */
    public void run(Job job, long tasks, Workspace scratch) {
        if (pool != null && tasks > 1 && pool.tryRun(job, tasks, scratch)) {
            return;
        }
        if (executor != null && tasks > 1) {
            new ParallelFor()
                    .run(job, tasks, scratch, this::submit); // of its own: helpers may come after the call has returned
            return;
        }
        for (long task = 0; task < tasks; task++) {
            job.run(task, scratch);
        }
    }

    /** Submits helpers until there are enough, the executor rejects one, or the loop has ended (helpers may run in execute). */
    private void submit(ParallelFor loop, long tasks) {
        Executor to = Checks.notNull(executor, "executor");
        try {
            for (long helper = 1; helper < Math.min(parallelism, tasks); helper++) {
                to.execute(() -> help(loop));
            }
        } catch (RejectedExecutionException rejection) {
            // the calling thread, and helpers that run already, do the work
        }
    }

    /** Runs on a thread of the caller's executor, perhaps long after the loop has ended. */
    private void help(ParallelFor loop) {
        if (loop.isOpen()) {
            Workspace scratch = workspaces.take();
            try {
                loop.help(scratch);
            } finally {
                workspaces.giveBack(scratch);
            }
        }
    }

    /**
     * Returns how much scratch memory this Compute holds for later calls. Calls that are running may hold more.
     *
     * @return bytes on the Java heap
     */
    public long heldBytes() {
        return workspaces.heldBytes() + arrays.heldBytes() + (pool == null ? 0 : pool.heldBytes());
    }

    /** Releases the scratch memory that is held for later calls, for example after an unusually large one. */
    public void trim() {
        workspaces.trim();
        arrays.trim();
        if (pool != null) {
            pool.trim();
        }
    }

    /**
     * Ends this Compute's threads and releases its scratch memory. Calls that are running, those of layers and blocks included,
     * finish first, without waiting for them here. Does nothing the second time.
     */
    @Override
    public void close() {
        workspaces.close();
        arrays.close();
        if (pool != null) {
            pool.close();
        }
    }
}
