package io.multihead.demo.serve;

import java.time.Duration;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/**
 * Limits the number of requests that generate at the same time, and of waiting requests, in the order of arrival.
 * Thread-safe.
 */
final class Room {
    private final int running;
    private final Semaphore all;
    private final Semaphore turns;
    private final Duration patience;

    /**
     * Creates the limits.
     *
     * @param running the maximum number of requests that generate
     * @param waiting the maximum number of requests that wait
     * @param patience the maximum waiting time of a request
     */
    Room(int running, int waiting, Duration patience) {
        this.running = running;
        this.patience = patience;
        all = new Semaphore(running + waiting);
        turns = new Semaphore(running, true);
    }

    /**
     * Waits for permission to generate, which {@link #leave} returns.
     *
     * @throws ApiException if too many requests wait, or the waiting time is over
     */
    void enter() throws InterruptedException {
        if (!all.tryAcquire()) {
            throw ApiException.failed(429, "too many requests wait; try again later");
        }
        boolean entered = false;
        try {
            entered = turns.tryAcquire(patience.toMillis(), TimeUnit.MILLISECONDS);
        } finally {
            if (!entered) {
                all.release();
            }
        }
        if (!entered) {
            throw ApiException.failed(429, "no turn within " + patience.toSeconds() + " s; try again later");
        }
    }

    void leave() {
        turns.release();
        all.release();
    }

    int running() {
        return running - turns.availablePermits();
    }

    int waiting() {
        return turns.getQueueLength();
    }
}
