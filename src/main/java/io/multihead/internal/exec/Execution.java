package io.multihead.internal.exec;

import io.multihead.internal.base.Checks;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The implementation of a Compute: its threads or executor, its workspaces, and the arrays that it keeps for later calls. Thread-safe. */
public final class Execution implements AutoCloseable {
    private final int parallelism;
    private final @Nullable WorkerPool pool;
    private final @Nullable Executor executor;
    /** A thread that is never started. It represents "some other thread" when a segment is queried for accessibility. */
    private final Thread probe = new Thread(() -> {}, "multihead-access-probe");

    private final FloatArrayPool arrays = new FloatArrayPool();
    private final Workspaces workspaces;
    private final Running running;

    private Execution(
            int parallelism,
            @Nullable WorkerPool pool,
            @Nullable Executor executor,
            Supplier<Workspace> workspaceMaker) {
        workspaces = new Workspaces(this::isWorker, workspaceMaker);
        running = workspaces::leave;
        this.parallelism = parallelism;
        this.pool = pool;
        this.executor = executor;
        if (pool != null) {
            pool.serve(this);
        }
    }

    private boolean isWorker() {
        return pool != null && pool.isWorker(Thread.currentThread());
    }

    /** Returns an execution on the calling thread and on {@code threads - 1} separate daemon threads, which end after it is closed. */
    public static Execution threads(int threads) {
        return new Execution(threads, threads == 1 ? null : new WorkerPool(threads - 1), null, Workspace::new);
    }

    /** Returns an execution on the calling thread and on up to {@code parallelism - 1} helpers, if the executor runs them. */
    public static Execution on(Executor executor, int parallelism) {
        return on(executor, parallelism, Workspace::new);
    }

    /** Returns an execution on an executor, with a given factory of workspaces. */
    static Execution on(Executor executor, int parallelism, Supplier<Workspace> workspaceMaker) {
        return new Execution(parallelism, null, parallelism == 1 ? null : executor, workspaceMaker);
    }

    /** Returns the number of threads that work on one call, including the caller. */
    public int parallelism() {
        return parallelism;
    }

    /** A call of several kernels that is running on the thread that began it. */
    public interface Running extends AutoCloseable {
        /** Ends the call, on the thread that began it. */
        @Override
        void close();
    }

    /**
     * Begins a call of several kernels: until the returned object is closed, this thread's calls succeed even if {@link #close} is called
     * during that time. Calls nest.
     *
     * @throws IllegalStateException if this is closed and the thread is not within a call that began before the close
     */
    public Running begin() {
        workspaces.enter();
        return running;
    }

    /**
     * Begins a call and takes a workspace for the calling thread.
     *
     * @throws IllegalStateException if this is closed and the thread is not within a call that began before the close
     */
    public Workspace take() {
        workspaces.enter();
        return takeOrLeave();
    }

    private Workspace takeOrLeave() {
        try {
            return workspaces.take();
        } catch (Throwable failed) {
            // there is no memory for a new workspace: the call does not begin, and close must not wait for its thread
            workspaces.leave();
            throw failed;
        }
    }

    /** Ends the call and keeps its workspace for the next one; to be called on the thread that took it. */
    public void giveBack(Workspace workspace) {
        workspaces.giveBack(workspace);
        workspaces.leave();
    }

    /**
     * Returns an array for intermediate results, at least as long as requested and with arbitrary contents. The caller returns it with
     * {@link #giveBack(float[])}, or leaves it to the garbage collector.
     */
    public float[] takeFloats(int length) {
        return arrays.take(length);
    }

    /** Keeps an array for later calls; above 64 MiB in total, arrays that have not been used for long are dropped. */
    public void giveBack(float[] floats) {
        arrays.giveBack(floats);
    }

    /**
     * Runs all tasks and returns when they are done.
     *
     * @param scratch the calling thread's workspace
     * @throws RuntimeException the first exception that a task threw, of any type, with exceptions of other threads suppressed in it;
     *     remaining tasks have not run
     */
    public void run(LoopBody body, long tasks, Workspace scratch) {
        if (pool != null && tasks > 1 && pool.tryRun(body, tasks, scratch)) {
            return;
        }
        if (executor != null && tasks > 1) {
            // a separate loop: helpers may arrive after the call has returned
            new ParallelFor(parallelism).run(body, tasks, scratch, this::submit);
            return;
        }
        for (long task = 0; task < tasks; task++) {
            body.run(task, scratch);
        }
    }

    /** Submits helpers until there are enough or the executor rejects a helper. */
    private void submit(ParallelFor loop, long tasks) {
        Executor to = Checks.notNull(executor, "executor");
        try {
            for (long helper = 1; helper < Math.min(parallelism, tasks); helper++) {
                to.execute(() -> help(loop));
            }
        } catch (RejectedExecutionException rejection) {
            // the calling thread, and helpers that already run, do the work
        }
    }

    /** Runs on a thread of the caller's executor, possibly long after the loop has ended. */
    private void help(ParallelFor loop) {
        if (loop.isOpen()) {
            workspaces.join();
            Workspace scratch = takeOrLeave();
            try {
                loop.help(scratch);
            } finally {
                giveBack(scratch);
            }
        }
    }

    /**
     * Fails if this execution's threads could not use the tensor's memory, before anything is written.
     *
     * @throws IllegalStateException if the memory's arena is closed
     * @throws WrongThreadException if its arena is confined to another thread
     * @throws IllegalArgumentException if its arena is confined to this thread and there are several threads
     */
    public void requireAccess(Tensor tensor, String argument) {
        requireAccess(tensor.memory(), argument);
    }

    private static WrongThreadException confinedToAnother(String argument) {
        return new WrongThreadException(argument
                + ": memory of an arena confined to another thread; expected an arena that this thread may use");
    }

    /** Fails if this execution's threads could not use memory, even of 0 bytes, as {@link #requireAccess(Tensor, String)} does. */
    public void requireAccess(MemorySegment memory, String argument) {
        requireOpen(memory, argument);
        if (parallelism > 1 && !memory.isAccessibleBy(probe)) {
            throw Checks.fail(
                    argument,
                    "memory of an arena confined to this thread",
                    "expected a shared, automatic or global arena, as this Compute has " + parallelism + " threads");
        }
    }

    /** Fails if the calling thread could not use memory. */
    public static void requireOpen(MemorySegment memory, String argument) {
        if (!memory.scope().isAlive()) {
            throw new IllegalStateException(argument + ": memory of a closed arena; expected an open arena");
        }
        if (!memory.isAccessibleBy(Thread.currentThread())) {
            throw confinedToAnother(argument);
        }
    }

    /** Fails if this execution's threads could not use memory that an arena allocates, as the other methods do. */
    public void requireAccess(Arena arena, String argument) {
        MemorySegment.Scope scope = arena.scope();
        // an arena that is closed or confined to another thread allocates no memory; the scope distinguishes these
        // cases
        if (!scope.isAlive()) {
            throw new IllegalStateException(argument + ": closed; expected an open arena");
        }
        MemorySegment none;
        try {
            none = arena.allocate(0);
        } catch (WrongThreadException confined) {
            throw confinedToAnother(argument);
        }
        requireAccess(none, argument);
    }

    /** Returns the bytes of scratch memory held for later calls. */
    public long heldBytes() {
        return workspaces.heldBytes() + arrays.heldBytes() + (pool == null ? 0 : pool.heldBytes());
    }

    /** Releases the scratch memory that is held for later calls. */
    public void trim() {
        workspaces.trim();
        arrays.trim();
        if (pool != null) {
            pool.trim();
        }
    }

    /** Ends the threads and releases scratch memory; calls that began earlier complete. A second call has no effect. */
    @Override
    public void close() {
        workspaces.close();
        arrays.close();
        if (pool != null) {
            pool.close();
        }
    }
}
