package io.multihead.decoder;

import java.time.Duration;

/** Measures how long a call has waited for room without a step. Not thread-safe. */
final class Patience {
    private final long mostNanos;
    private long since;
    private boolean isWaiting;

    Patience(Duration most) {
        mostNanos = TextLimits.nanos(most);
    }

    /** Ends the wait. */
    void renew() {
        isWaiting = false;
    }

    /** Begins the wait unless it has begun, and returns whether it has reached its limit. */
    boolean isOver() {
        long now = System.nanoTime();
        since = isWaiting ? since : now;
        isWaiting = true;
        return now - since >= mostNanos;
    }
}
