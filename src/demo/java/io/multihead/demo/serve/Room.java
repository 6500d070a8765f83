package io.multihead.demo.serve;

import java.time.Duration;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/** The number of requests that generate at the same time, and of requests that wait for them, first come, first served. Thread-safe. */
final class Room {
    private final int running;
    private final Semaphore all;
    private final Semaphore turns;
    private final Duration patience;

    /**
     * Makes room.
     *
     * @param running most requests that generate
     * @param waiting most that wait
     * @param patience most time that one waits
     */
    Room(int running, int waiting, Duration patience) {
        this.running = running;
        this.patience = patience;
        all = new Semaphore(running + waiting);
        turns = new Semaphore(running, true);
    }

    /**
     * Waits for a turn, which {@link #leave} ends.
     *
     * @throws ApiException if as many wait as may, or it takes too long
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
