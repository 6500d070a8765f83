package io.multihead.encoder;

import java.util.ArrayDeque;
import java.util.Deque;

/** Runs that are reused from call to call, by all views of one encoder. Thread-safe. */
final class EmbeddingRuns {
    private static final int MOST_IDLE = 16;

    private final EncoderCore core;
    private final Deque<EmbeddingRun> idle = new ArrayDeque<>();

    EmbeddingRuns(EncoderCore core) {
        this.core = core;
    }

    /** Takes a run over texts, to be given back at its end. */
    EmbeddingRun take() {
        synchronized (idle) {
            EmbeddingRun run = idle.pollLast();
            return run == null ? new EmbeddingRun(core) : run;
        }
    }

    /** Takes a run back, whose texts it forgets. */
    void giveBack(EmbeddingRun run) {
        run.finish();
        synchronized (idle) {
            if (idle.size() < MOST_IDLE) {
                idle.addLast(run);
            }
        }
    }
}
