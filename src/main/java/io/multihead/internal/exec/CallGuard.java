package io.multihead.internal.exec;

import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Guards an object that serves one caller at a time. It refuses a call while another call runs, and refuses access to the results of
 * another thread's call. The cost is one compare-and-set per call.
 */
public final class CallGuard {
    private final String object;
    private final AtomicBoolean running = new AtomicBoolean();
    /** The id of the thread to which the results in the object belong, which no later thread of the JVM has; 0 before the first call. */
    private volatile long owner;

    /**
     * Creates the guard of an object.
     *
     * @param object its name in errors
     */
    public CallGuard(String object) {
        this.object = object;
    }

    /** Begins a call, or fails if one runs. */
    public void enter() {
        if (!running.compareAndSet(false, true)) {
            throw inUse();
        }
    }

    /** Ends the call that {@link #enter} began. */
    public void leave() {
        running.set(false);
    }

    /** Records that the running call overwrites the results of the previous call. */
    public void own() {
        owner = Thread.currentThread().threadId();
    }

    /** Refuses changes of the object while a call reads it. */
    public void requireIdle() {
        if (running.get()) {
            throw inUse();
        }
    }

    /** Refuses an operation that is only allowed within a call, if no call runs. */
    public void requireCall() {
        if (!running.get()) {
            throw new IllegalStateException(object + ": in no call; expected a running call");
        }
    }

    /** Refuses results of another thread's call; before the first call, there are no results. */
    public void requireOwn() {
        long of = owner;
        if (of != 0 && of != Thread.currentThread().threadId()) {
            throw new IllegalStateException(
                    object + ": results of a call of thread " + of + "; expected " + object + " of each thread's own");
        }
    }

    private IllegalStateException inUse() {
        return new IllegalStateException(object + ": in use by a call; expected " + object + " of each thread's own");
    }
}
