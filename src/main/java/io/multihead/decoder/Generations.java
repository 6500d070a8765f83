package io.multihead.decoder;

import io.multihead.cache.CacheFullException;
import io.multihead.internal.base.Checks;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CancellationException;
import org.jspecify.annotations.Nullable;

/** Runs the tasks of one caller. The next steps of all tasks are one batch. */
final class Generations {
    /** The largest number of tokens of one session in a batch, so that a long prompt leaves room for other sessions. */
    static final int CHUNK_TOKENS = GenerationOptions.MAX_DRAFT_TOKENS + 1;

    private final SessionCache cache;
    private final int chunkTokens;
    private final List<SessionTask> running = new ArrayList<>();
    /** The tasks whose sequences this call must end, because this call began them. */
    private final List<SessionTask> begun = new ArrayList<>();

    private final List<Step> steps = new ArrayList<>();
    private @Nullable Throwable failure;

    private Generations(SessionCache cache, int chunkTokens) {
        this.cache = cache;
        this.chunkTokens = chunkTokens;
    }

    /**
     * Runs tasks until all of them are finished.
     *
     * @param chunkTokens the largest number of tokens of one step
     * @throws CacheFullException if there was no room for a session; thrown after the other sessions have finished
     * @throws CancellationException if this thread is interrupted
     */
    static void run(SessionCache cache, List<? extends SessionTask> all, int chunkTokens) {
        new Generations(cache, chunkTokens).run(all);
    }

    private void run(List<? extends SessionTask> all) {
        Sampler sampler = cache.samplers.take();
        try {
            for (SessionTask task : all) {
                running.add(task);
                if (cache.begin(task.session.sequence)) {
                    begun.add(task);
                }
            }
            while (!running.isEmpty()) {
                runSteps(sampler);
            }
        } finally {
            List.copyOf(begun).forEach(this::end);
            cache.samplers.giveBack(sampler);
        }
        if (failure != null) {
            throw failed(failure);
        }
    }

    private void runSteps(Sampler sampler) {
        int seen = cache.changes.count();
        steps.clear();
        for (int i = running.size() - 1; i >= 0; i--) { // backwards, because finished tasks are removed
            takeStep(running.get(i));
        }
        if (!steps.isEmpty()) {
            cache.run(steps);
            ParallelChoice.run(cache.cpu, cache.samplers, running);
            boolean hasMoved = false;
            for (int i = running.size() - 1; i >= 0; i--) {
                hasMoved |= settle(running.get(i), sampler);
            }
            if (!hasMoved) {
                cache.changes.await(seen, cache.maxWait);
            }
        }
    }

    /** Adds the next step of a task, or ends the task if it has no next step. */
    private void takeStep(SessionTask task) {
        try {
            task.session.requireOpen();
            Checks.notInterrupted("session");
            Step step = task.next(chunkTokens);
            if (step == null) {
                end(task);
            } else {
                steps.add(step);
            }
        } catch (Throwable thrown) {
            fail(task, new Thrown(thrown));
        }
    }

    /** Takes the outcome of a step; returns whether the caller may continue immediately. */
    private boolean settle(SessionTask task, Sampler sampler) {
        Throwable failed = task.session.step.failure;
        if (failed != null) {
            fail(task, failed);
            return true;
        }
        try {
            return task.settle(sampler);
        } catch (Throwable thrown) {
            fail(task, new Thrown(thrown));
            return true;
        }
    }

    private void fail(SessionTask task, Throwable failed) {
        failure = failure == null ? failed : failure;
        end(task);
    }

    private void end(SessionTask task) {
        running.remove(task);
        if (begun.remove(task)) {
            cache.end(task.session.step);
        }
    }

    /**
     * An error that the caller's own code, data or thread caused. It reaches the caller unchanged, unlike a failure that several callers
     * share.
     */
    private static final class Thrown extends Exception {
        private static final long serialVersionUID = 1L;

        Thrown(Throwable cause) {
            super(cause);
        }
    }

    /** Returns the exception for this caller. A failure of a batch concerns several callers, and each of them gets a separate exception. */
    private static RuntimeException failed(Throwable failure) {
        return switch (failure) {
            case Thrown own when own.getCause() instanceof RuntimeException runtime -> runtime;
            case Thrown own when own.getCause() instanceof Error error -> throw error;
            case CacheFullException full -> new CacheFullException(String.valueOf(full.getMessage()));
            case IllegalStateException closed -> new IllegalStateException(closed.getMessage(), closed);
            case Error error -> throw error;
            default -> new IllegalStateException("model: " + failure.getMessage(), failure);
        };
    }
}
