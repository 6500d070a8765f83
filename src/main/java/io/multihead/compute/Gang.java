package io.multihead.compute;

import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Daemon threads that wait for rounds of work. One round at a time; a second caller is turned away and computes alone.
 *
 * <p>Waiting threads spin briefly, since a layer calls kernel after kernel, and then park.
 */
final class Gang {
    private static final int SPINS = 20_000;

    private final ReentrantLock turn = new ReentrantLock();
    private final Thread[] threads;
    private final Round round = new Round();
    /** Counts rounds; a thread that sees a new number joins the round. */
    private volatile long number;

    private volatile boolean closed;

    Gang(int size) {
        threads = new Thread[size];
        for (int i = 0; i < size; i++) {
            threads[i] = Thread.ofPlatform()
                    .daemon()
                    .name("multihead-worker-" + (i + 1))
                    .start(() -> loop(new Workspace()));
        }
    }

    /** Runs the job on all threads, or returns false at once when a call is being served already. */
    boolean tryRun(Compute.Job job, long units, Workspace scratch) {
        if (closed || turn.isHeldByCurrentThread() || !turn.tryLock()) {
            return false;
        }
        try {
            round.open(job, units);
            number++;
            for (Thread thread : threads) {
                LockSupport.unpark(thread);
            }
            round.finish(scratch);
            return true;
        } finally {
            turn.unlock();
        }
    }

    void close() {
        closed = true;
        for (Thread thread : threads) {
            LockSupport.unpark(thread);
        }
    }

    private void loop(Workspace scratch) {
        long seen = 0;
        for (int spins = 0; !closed; spins++) {
            long current = number;
            if (current != seen) {
                seen = current;
                round.work(scratch);
                spins = 0;
            } else if (spins < SPINS) {
                Thread.onSpinWait();
            } else {
                LockSupport.park(this);
            }
        }
    }
}
