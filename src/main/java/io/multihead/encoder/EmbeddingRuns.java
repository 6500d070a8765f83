package io.multihead.encoder;

import java.util.ArrayDeque;
import java.util.Deque;

/** Runs that are reused from call to call, by all views of one encoder. Thread-safe. */
final class EmbeddingRuns {
    private static final int MOST_IDLE = 16;

    private final EncoderCore core;
    private final DenseLayers dense;
    private final Deque<EmbeddingRun> idle = new ArrayDeque<>();

    EmbeddingRuns(EncoderCore core, DenseLayers dense) {
        this.core = core;
        this.dense = dense;
    }

    /** Takes a run over texts, to be given back at its end. */
    EmbeddingRun take() {
        synchronized (idle) {
            EmbeddingRun run = idle.pollLast();
            return run == null ? newRun() : run;
        }
    }

    /** Returns a run that is not to be given back. */
    EmbeddingRun newRun() {
        return new EmbeddingRun(core, dense);
    }

    /** Returns what all runs share. */
    EncoderCore core() {
        return core;
    }

    /** Returns what comes after pooling. */
    DenseLayers dense() {
        return dense;
    }

    /** Takes a run back, whose texts it forgets. */
    void giveBack(EmbeddingRun run) {
        run.forget();
        synchronized (idle) {
            if (idle.size() < MOST_IDLE) {
                idle.addLast(run);
            }
        }
    }
}
