package io.multihead.internal.encoder.run;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.function.Supplier;

/** Runs that are reused from call to call, by all views of one encoder. Thread-safe. */
public final class IdleRuns<R extends BatchRun> {
    private static final int MOST_IDLE = 16;

    private final Supplier<R> maker;
    private final Deque<R> idle = new ArrayDeque<>();

    public IdleRuns(Supplier<R> maker) {
        this.maker = maker;
    }

    /** Takes a run over texts, which must be given back at its end. */
    public R take() {
        R run;
        synchronized (idle) {
            run = idle.pollLast();
        }
        return run == null ? newRun() : run; // a new run has megabytes: other threads do not wait for it
    }

    /** Returns a run that is not given back. */
    public R newRun() {
        return maker.get();
    }

    /** Takes a run back, and drops its references to texts. */
    public void giveBack(R run) {
        run.clear();
        synchronized (idle) {
            if (idle.size() < MOST_IDLE) {
                idle.addLast(run);
            }
        }
    }
}
