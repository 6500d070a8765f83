package io.multihead.internal.exec;

import io.multihead.internal.base.Checks;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * A parallel loop over the tasks {@code 0 .. tasks - 1} of a job: the caller runs tasks until none is left, and helpers join and leave
 * during that time. It can be reused by one caller at a time, and allocates nothing.
 *
 * <p>{@code state} is the number of helpers inside, plus {@link #CLOSED} while no helper may join:
 *
 * <pre>
 *   CLOSED          no helper inside; only the caller touches the other fields
 *   n               open, n helpers inside            caller: CLOSED -> 0       helper joins: n -> n + 1 by compare-and-set
 *   CLOSED + n      closing, n helpers inside         caller: n -> CLOSED + n   helper leaves: one less
 * </pre>
 *
 * <p>A helper reads the job and takes task numbers only between joining and leaving, and the caller returns only in state CLOSED.
 * Therefore a task belongs to the loop in which it was taken, runs once, and has run when the caller returns
 * (docs/architecture/threads.md).
 */
final class ParallelFor {
    private static final long CLOSED = Long.MIN_VALUE;
    private static final int SPINS = 10_000;

    private final int parallelism;
    private final AtomicLong state = new AtomicLong(CLOSED);
    private final AtomicLong entrances = new AtomicLong();
    private final AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
    private @Nullable LoopBody job;
    private long tasks;
    private int strips;
    private long tasksOfStrip;
    /** For each strip, at least the number of its tasks that have been taken. */
    private AtomicLongArray taken = new AtomicLongArray(1);

    private @Nullable Thread caller;

    /** Creates a closed loop; the first strips of {@code parallelism} threads are evenly spread. */
    ParallelFor(int parallelism) {
        this.parallelism = parallelism;
    }

    /**
     * Runs all tasks on the calling thread and on threads that call {@link #help} during the loop, then throws the first failure.
     *
     * @param invite requests help from other threads; called when the loop is open
     */
    void run(LoopBody newJob, long newTasks, Workspace scratch, Invitation invite) {
        open(newJob, newTasks);
        try {
            invite.send(this, newTasks);
            runTasks(scratch);
        } catch (Throwable thrown) {
            fail(thrown);
        } finally {
            close();
        }
        Throwable thrown = failure.getAndSet(null);
        if (thrown != null) {
            ParallelFor.<RuntimeException>rethrow(thrown);
        }
    }

    /** Informs helpers of an open loop. */
    interface Invitation {
        /** Asks up to {@code tasks - 1} threads to call {@link ParallelFor#help}, now or later. */
        void send(ParallelFor loop, long tasks);
    }

    /** Runs tasks until none is left; returns immediately if the loop is closed. Exceptions of tasks go to the caller. */
    void help(Workspace scratch) {
        if (join()) {
            try {
                runTasks(scratch);
            } finally {
                leave();
            }
        }
    }

    /** Whether a helper could join now. */
    boolean isOpen() {
        return state.get() >= 0;
    }

    private void open(LoopBody newJob, long newTasks) {
        job = newJob;
        tasks = newTasks;
        caller = Thread.currentThread();
        strips = newJob.strips();
        tasksOfStrip = Math.ceilDiv(newTasks, (long) strips);
        if (taken.length() < strips) {
            taken = new AtomicLongArray(strips);
        }
        for (int strip = 0; strip < strips; strip++) {
            taken.set(strip, 0);
        }
        entrances.set(0);
        failure.set(null);
        state.set(0);
    }

    private boolean join() {
        for (long seen = state.get(); seen >= 0; seen = state.get()) {
            if (state.compareAndSet(seen, seen + 1)) {
                return true;
            }
        }
        return false;
    }

    private void leave() {
        Thread waiting = caller; // read before leaving: afterwards, the field may belong to another loop
        if (state.decrementAndGet() == CLOSED) {
            LockSupport.unpark(waiting);
        }
    }

    /** Runs tasks until none is left or one has failed. */
    private void runTasks(Workspace scratch) {
        try {
            LoopBody current = Checks.notNull(job, "job");
            long threads = Math.min(parallelism, tasks);
            long first = entrances.getAndIncrement() % threads * strips / threads;
            for (int turn = 0; turn < strips; turn++) {
                runStrip(current, (int) ((first + turn) % strips), scratch);
            }
        } catch (Throwable thrown) {
            fail(thrown);
        }
    }

    private void runStrip(LoopBody current, int strip, Workspace scratch) {
        long start = strip * tasksOfStrip;
        long end = Math.min(tasks, start + tasksOfStrip);
        for (long task = start + taken.getAndIncrement(strip);
                task < end && failure.get() == null;
                task = start + taken.getAndIncrement(strip)) {
            current.run(task, scratch);
        }
    }

    /** Keeps the first failure, which ends the loop early, and adds later failures to it. */
    private void fail(Throwable thrown) {
        Throwable first = failure.compareAndExchange(null, thrown);
        if (first != null && first != thrown) {
            try {
                first.addSuppressed(thrown);
            } catch (OutOfMemoryError error) {
                // the first failure still reaches the caller
            }
        }
    }

    /** Prevents further threads from joining and waits until all helpers have left. */
    private void close() {
        boolean closing = false;
        boolean interrupted = false;
        for (int spins = 0; !closing || state.get() != CLOSED; spins++) {
            try {
                if (!closing) {
                    state.getAndAdd(CLOSED);
                    closing = true;
                } else if (spins < SPINS) {
                    Thread.onSpinWait();
                } else {
                    LockSupport.park(this);
                    interrupted |= Thread.interrupted(); // while the flag is set, park returns immediately
                }
            } catch (StackOverflowError error) {
                spins = 0; // even at the end of its stack, a caller must not return before its helpers have left
            }
        }
        job = null;
        caller = null;
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /** Throws a task's exception, which may be a checked one: not every JVM language requires a modifier to declare it. */
    @SuppressWarnings("unchecked") // nothing is cast at run time
    private static <E extends Throwable> void rethrow(Throwable thrown) throws E {
        throw (E) thrown;
    }
}
