package io.multihead.decoder;

import java.time.Duration;
import java.util.concurrent.TimeUnit;

/** Tells those that wait for room when there may be some. Thread-safe. */
final class Changes {
    /** A page that sessions shared may become one's own without a word, so that whoever waits looks again now and then. */
    private static final long LONGEST_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

    private int count;

    /** Returns how many there were. */
    synchronized int count() {
        return count;
    }

    synchronized void add() {
        count++;
        notifyAll();
    }

    /** Waits a while for another one than there were. An interrupt ends it, and is still there afterwards. */
    synchronized void await(int seen, Duration most) {
        long nanos = Math.min(TextLimits.nanos(most), LONGEST_NANOS);
        try {
            if (count == seen && nanos > 0) {
                TimeUnit.NANOSECONDS.timedWait(this, nanos);
            }
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
