package io.multihead.decoder;

import io.multihead.cache.CacheFullException;
import io.multihead.cache.KeyValueCache;
import io.multihead.compute.Compute;
import io.multihead.model.Transformer;
import java.util.ArrayList;
import java.util.List;

/** The cache that sessions share, and the queue of their steps: what changes the cache waits until no step is computed. Thread-safe. */
final class SessionCache {
    /** Tokens of one batch: enough for the products to be bound by multiplications. */
    private static final int BATCH_TOKENS = 512;

    final Compute cpu;
    final int contextTokens;
    private final KeyValueCache cache;
    private final StepQueue queue = new StepQueue(BATCH_TOKENS, this::compute);
    private final StepRunner runner;
    private final Runnable free;
    private volatile boolean closed;

    /**
     * Creates the queue of a cache.
     *
     * @param contextTokens most tokens of a session
     * @param free frees the cache's memory
     */
    SessionCache(Compute cpu, Transformer model, KeyValueCache cache, int contextTokens, Runnable free) {
        this.cpu = cpu;
        this.cache = cache;
        this.contextTokens = contextTokens;
        this.free = free;
        runner = new StepRunner(cpu, model, cache, BATCH_TOKENS);
    }

    /** Computes steps of one caller, together with those of others that wait. */
    void run(List<Step> steps) {
        requireOpen();
        queue.run(steps);
    }

    /** Computes a batch; a step for which the cache has no room fails alone. Runs while no other does. */
    private void compute(List<Step> batch) {
        requireOpen();
        List<Step> fitting = new ArrayList<>(batch.size());
        List<Step> alone = new ArrayList<>();
        long available = cache.availableTokens();
        for (Step step : batch) {
            forgetBeyond(step);
            long needed = cache.neededTokens(step.sequence, step.count);
            if (needed > available) {
                alone.add(step);
            } else {
                available -= needed;
                fitting.add(step);
            }
        }
        runner.run(fitting);
        // a page that two of them share is copied for the first one alone, so that there may be room now
        alone.forEach(this::computeAlone);
    }

    private void computeAlone(Step step) {
        long available = cache.availableTokens();
        long needed = cache.neededTokens(step.sequence, step.count);
        if (needed > available) {
            step.failure = new CacheFullException("cache: room for " + available + " more tokens; expected " + needed);
            return;
        }
        try {
            runner.run(List.of(step));
        } catch (Throwable failed) {
            step.failure = failed;
        }
    }

    /** Drops what a step that failed, or whose logits were not taken, has left in some layers. */
    private void forgetBeyond(Step step) {
        for (int layer = 0; layer < cache.config().layers(); layer++) {
            if (cache.length(layer, step.sequence) > step.from) {
                cache.truncate(step.sequence, step.from);
                return;
            }
        }
    }

    int open() {
        requireOpen();
        int[] sequence = new int[1];
        queue.exclusively(() -> sequence[0] = cache.open());
        return sequence[0];
    }

    /** Returns a sequence with the first tokens of another one. */
    int fork(int other, int length) {
        requireOpen();
        int[] sequence = new int[1];
        queue.exclusively(() -> {
            sequence[0] = cache.fork(other);
            cache.truncate(sequence[0], length);
        });
        return sequence[0];
    }

    void truncate(int sequence, int length) {
        queue.exclusively(() -> cache.truncate(sequence, length));
    }

    void slide(int sequence, int firstToken) {
        queue.exclusively(() -> cache.slide(sequence, firstToken));
    }

    void close(int sequence) {
        queue.exclusively(() -> {
            if (!closed) {
                cache.close(sequence);
            }
        });
    }

    long bytesPerToken() {
        return cache.bytesPerToken();
    }

    long usedBytes() {
        return cache.usedBytes();
    }

    void requireOpen() {
        if (closed) {
            throw new IllegalStateException("sessions: closed; expected open ones");
        }
    }

    /** Frees the cache after the batch that is computed. */
    void close() {
        queue.exclusively(() -> {
            if (!closed) {
                closed = true;
                free.run();
            }
        });
    }
}
