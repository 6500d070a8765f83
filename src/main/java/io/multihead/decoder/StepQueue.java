package io.multihead.decoder;

import io.multihead.internal.base.Checks;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;

/**
 * Joins the steps of callers on several threads to batches. The thread that finds the model idle computes the steps of all waiting callers,
 * including its own. The timing of threads determines which steps share a batch, but no result depends on it.
 */
final class StepQueue {
    private final int mostTokens;
    private final Consumer<List<Step>> compute;
    private final ReentrantLock model = new ReentrantLock(true);
    /** Guarded by its own monitor. */
    private final Deque<Step> waiting = new ArrayDeque<>();
    /** Guarded by {@link #model}. */
    private final List<Step> batch = new ArrayList<>();

    /**
     * Creates a queue.
     *
     * @param mostTokens the largest number of tokens of one batch; a step never has more
     * @param compute computes a batch, and stores exceptions in the steps that they concern
     */
    StepQueue(int mostTokens, Consumer<List<Step>> compute) {
        this.mostTokens = mostTokens;
        this.compute = compute;
    }

    /** Runs the steps of one caller, together with waiting steps of other callers. Returns when all steps of the caller are done. */
    void run(List<Step> steps) {
        for (int i = 0; i < steps.size(); i++) {
            Checks.index(steps.get(i).count, mostTokens + 1L, "tokens of a step"); // a longer step would wait forever
        }
        synchronized (waiting) {
            waiting.addAll(steps);
        }
        model.lock();
        try {
            for (int i = 0; i < steps.size(); i++) { // an iterator would allocate an object
                while (!steps.get(i).isDone) {
                    runBatch();
                }
            }
        } finally {
            model.unlock();
        }
    }

    private void runBatch() {
        synchronized (waiting) {
            int tokens = 0;
            while (!waiting.isEmpty() && tokens + waiting.getFirst().count <= mostTokens) {
                Step step = waiting.removeFirst();
                tokens += step.count;
                batch.add(step);
            }
        }
        try {
            compute.accept(batch);
        } catch (Throwable failed) {
            batch.forEach(step -> step.failure = step.failure == null ? failed : step.failure);
        } finally {
            batch.forEach(step -> step.isDone = true);
            batch.clear();
        }
    }

    /** A change that waits until no step is computed. */
    @FunctionalInterface
    interface Change<E extends Exception> {
        /** Makes the change. */
        void run() throws E;
    }

    /** Runs a change while no step is computed. */
    <E extends Exception> void exclusively(Change<E> change) throws E {
        model.lock();
        try {
            change.run();
        } finally {
            model.unlock();
        }
    }
}
