package io.multihead.compute;

import io.multihead.internal.base.Checks;
import io.multihead.internal.base.PerformanceWarnings;
import io.multihead.internal.base.VectorApiCheck;
import io.multihead.internal.exec.ComputeAccess;
import io.multihead.internal.exec.Execution;
import io.multihead.internal.kernel.Lanes;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;

/**
 * Threads and scratch memory for kernels. No other class of the library starts a thread.
 *
 * <p>Results never depend on the number of threads. A Compute may be shared by any number of callers. A caller that finds its threads busy with
 * another call computes on its own thread. Scratch memory grows to the size of the largest call, for each concurrent caller, and is reused.
 * {@link #heldBytes} returns its size; {@link #trim} and {@link #close} release it. Packed panels are native memory. The threads of a
 * Compute that is not closed end a few seconds after it becomes unreachable, and its native memory is freed some time later.
 *
 * <p>Interrupts neither end a call nor change its result; the caller's interrupt status stays set. {@link #close} ends the threads.
 * Further calls fail with {@link IllegalStateException}.
 */
public final class Compute implements AutoCloseable {
    private static final int MAX_PARALLELISM = 1024;

    static {
        ComputeAccess.open(compute -> ((Compute) compute).execution);
    }

    private final Execution execution;

    private Compute(Execution execution) {
        PerformanceWarnings.report(Lanes.COUNT);
        this.execution = execution;
    }

    /**
     * Creates a Compute that runs calls only on the calling thread.
     *
     * @return a Compute without threads
     */
    public static Compute serial() {
        VectorApiCheck.requireVectorModule();
        return new Compute(Execution.threads(1));
    }

    /**
     * Creates a Compute that runs calls on the calling thread and on {@code threads - 1} daemon threads, until it is closed.
     *
     * @param threads the number of threads that work on one call, including the caller; 1 to 1024
     * @return a Compute with threads
     * @throws OutOfMemoryError if the system refuses a thread; the threads that were already started are ended
     */
    public static Compute threads(int threads) {
        requireParallelism(threads, "threads");
        VectorApiCheck.requireVectorModule();
        return new Compute(Execution.threads(threads));
    }

    /**
     * Creates a Compute that runs calls on the calling thread and on the caller's executor. A call is complete when it returns, for any
     * behavior of the executor: the calling thread runs every task that no other thread has taken. Therefore an executor may reject tasks,
     * drop them, or run them late, twice or in the caller. Exceptions of {@code execute}, other than {@link RejectedExecutionException},
     * reach the caller when all helpers have ended.
     *
     * @param executor runs up to {@code parallelism - 1} tasks per call; the caller shuts it down
     * @param parallelism number of threads that work on one call, including the caller; 1 to 1024
     * @return a Compute on that executor
     */
    public static Compute on(Executor executor, int parallelism) {
        Checks.notNull(executor, "executor");
        requireParallelism(parallelism, "parallelism");
        VectorApiCheck.requireVectorModule();
        return new Compute(Execution.on(executor, parallelism));
    }

    private static void requireParallelism(int threads, String argument) {
        if (threads < 1 || threads > MAX_PARALLELISM) {
            throw Checks.fail(argument, String.valueOf(threads), "expected 1 to " + MAX_PARALLELISM);
        }
    }

    /** {@return the number of threads that work on one call, including the caller} */
    public int parallelism() {
        return execution.parallelism();
    }

    /**
     * {@return the bytes of scratch memory that this Compute holds for later calls, in arrays on the Java heap and in native memory}. Calls
     * that are running may hold more. The small tables of a call's tasks and of a task's rows are not counted.
     */
    public long heldBytes() {
        return execution.heldBytes();
    }

    /**
     * Releases the scratch memory that is held for later calls, for example after an unusually large call. Native memory is released at
     * once, and the memory of threads as soon as they are idle.
     */
    public void trim() {
        execution.trim();
    }

    /**
     * Ends this Compute's threads and releases its scratch memory. Running calls complete, including calls of layers and blocks. This
     * method does not wait for them. A second call has no effect.
     */
    @Override
    public void close() {
        execution.close();
    }
}
