package io.multihead.decoder;

import java.time.Duration;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

/** Notifies callers that wait for room when room may be available. Thread-safe. */
final class Changes {
    /**
     * The longest wait. A page that sessions shared may become exclusive without a notification, so waiting callers check again after this
     * time.
     */
    private static final long LONGEST_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

    private final AtomicInteger count = new AtomicInteger();
    private final Queue<Thread> waiting = new ConcurrentLinkedQueue<>();

    /** Returns the number of changes. */
    int count() {
        return count.get();
    }

    void add() {
        count.incrementAndGet();
        waiting.forEach(LockSupport::unpark);
    }

    /**
     * Waits until the number of changes differs from the given number, for at most the given time and at most {@link #LONGEST_NANOS}. An
     * interrupt ends the wait, and the interrupt status stays set.
     */
    void await(int seen, Duration most) {
        Thread current = Thread.currentThread();
        waiting.add(current);
        try {
            if (count.get() == seen) {
                LockSupport.parkNanos(this, Math.min(TextLimits.nanos(most), LONGEST_NANOS));
            }
        } finally {
            waiting.remove(current);
        }
    }
}
