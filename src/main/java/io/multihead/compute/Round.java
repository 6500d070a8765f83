package io.multihead.compute;

import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * One call's units, handed out in order to whoever asks. The calling thread helps until no unit is left and then waits for
 * the units that others took.
 *
 * <p>A Round can be used again and again, and a helper may arrive late: whoever holds a unit of a round keeps that round
 * from finishing, so job and number of units, read after the unit was taken, are those of its round.
 */
final class Round {
    private static final int SPINS = 10_000;
    /** So far beyond every number of units that increments by late helpers change nothing. */
    private static final long NO_UNIT = Long.MAX_VALUE / 2;

    private final AtomicLong next = new AtomicLong(NO_UNIT);
    private final AtomicLong done = new AtomicLong();
    private volatile Compute.@Nullable Job job;
    private volatile @Nullable Throwable failure;
    private volatile @Nullable Thread caller;
    private volatile long units;

    /** Starts a round; helpers may join at once. */
    void open(Compute.Job newJob, long newUnits) {
        job = newJob;
        units = newUnits;
        failure = null;
        caller = Thread.currentThread();
        done.set(0);
        next.set(0);
    }

    /** Takes units until none is left. */
    void work(Workspace scratch) {
        for (long unit = next.getAndIncrement(); unit < units; unit = next.getAndIncrement()) {
            try {
                Compute.Job current = job;
                if (failure == null && current != null) {
                    current.run(unit, scratch);
                }
            } catch (Throwable thrown) {
                failure = thrown;
            } finally {
                if (done.incrementAndGet() == units) {
                    LockSupport.unpark(caller);
                }
            }
        }
    }

    /** Works and waits on the calling thread, then throws what a unit threw. */
    void finish(Workspace scratch) {
        work(scratch);
        for (int spins = 0; done.get() < units; spins++) {
            if (spins < SPINS) {
                Thread.onSpinWait();
            } else {
                LockSupport.park(this);
            }
        }
        next.set(NO_UNIT);
        job = null;
        caller = null;
        Throwable thrown = failure;
        if (thrown instanceof RuntimeException unchecked) {
            throw unchecked;
        }
        if (thrown instanceof Error error) {
            throw error;
        }
    }

    /** Whether a helper that arrives now would find work. */
    boolean hasUnits() {
        return next.get() < units;
    }
}
