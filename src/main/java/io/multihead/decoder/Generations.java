package io.multihead.decoder;

import io.multihead.cache.CacheFullException;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Runs the generations of one caller, all steps together. */
final class Generations {
    /** Tokens of one session in a batch, so that a long prompt leaves room for others. */
    static final int CHUNK_TOKENS = 256;

    private Generations() {}

    /**
     * Runs until all are finished.
     *
     * @param chunkTokens most tokens of one step
     * @throws CacheFullException if there was no room for one, after the others have finished
     */
    static void run(SessionCache cache, List<Generation> all, int chunkTokens) {
        List<Generation> running = new ArrayList<>(all);
        List<Step> steps = new ArrayList<>();
        Throwable failure = null;
        while (!running.isEmpty()) {
            steps.clear();
            running.removeIf(generation -> !takeStep(generation, chunkTokens, steps));
            cache.run(steps);
            failure = accept(cache, running, failure);
        }
        if (failure != null) {
            throw failed(failure);
        }
    }

    /** Computes all tokens of a session; its step has the logits of the last one then. */
    static void compute(SessionState session, int chunkTokens) {
        int last = session.tokens.size();
        if (session.computed == last) {
            session.forget(last - 1);
        }
        while (session.computed < last) {
            int count = Math.min(chunkTokens, last - session.computed);
            int rows = session.computed + count == last ? 1 : 0;
            Step step = session.step.set(session.tokens.array(), session.computed, count, rows);
            session.cache.run(List.of(step));
            if (step.failure != null) {
                throw failed(step.failure);
            }
            session.computed += count;
        }
    }

    /** Adds the next step of a generation; returns false if it has ended. */
    private static boolean takeStep(Generation generation, int chunkTokens, List<Step> steps) {
        Step step = generation.isFinished() ? null : generation.next(chunkTokens);
        if (step != null) {
            steps.add(step);
        }
        return step != null;
    }

    /** Takes the logits of all steps, and ends those that failed; returns the first failure. */
    private static @Nullable Throwable accept(SessionCache cache, List<Generation> running, @Nullable Throwable first) {
        Throwable failure = first;
        for (int i = running.size() - 1; i >= 0; i--) {
            Throwable failed = running.get(i).step().failure;
            failed = failed == null ? accept(cache, running.get(i)) : failed;
            if (failed != null) {
                failure = failure == null ? failed : failure;
                running.remove(i);
            }
        }
        return failure;
    }

    /** Takes the logits of one step, and returns what its listener or the logits themselves threw. */
    private static @Nullable Throwable accept(SessionCache cache, Generation generation) {
        try {
            generation.accept(cache.cpu);
            return null;
        } catch (Throwable thrown) {
            return new Thrown(thrown);
        }
    }

    /** What the caller's own code or data caused, as opposed to a failure that several callers share: it reaches the caller as it is. */
    private static final class Thrown extends Exception {
        private static final long serialVersionUID = 1L;

        Thrown(Throwable cause) {
            super(cause);
        }
    }

    /** A failure may be that of a batch, which several callers share: each has an exception of its own. */
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
