package io.multihead.decoder;

import io.multihead.cache.CacheFullException;
import io.multihead.cache.CacheSession;
import io.multihead.cache.KeyValueCache;
import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.model.Transformer;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.IntSupplier;

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
            forgetBeyond(step.sequence, step.from);
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
    private void forgetBeyond(int sequence, int length) {
        for (int layer = 0; layer < cache.config().layers(); layer++) {
            if (cache.length(layer, sequence) > length) {
                cache.truncate(sequence, length);
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

    /** Saves the first tokens of a sequence, with notes. */
    void save(int sequence, int length, Path file, Map<String, String> notes) throws IOException {
        queue.exclusively(() -> {
            requireOpen();
            forgetBeyond(sequence, length);
            CacheSession.save(cpu, cache, file, notes, sequence);
        });
    }

    /** Opens the only sequence of a file whose notes are accepted; it must have so many tokens as {@code length} says afterwards. */
    int load(Path file, Consumer<Map<String, String>> accept, IntSupplier length) throws IOException {
        int[] sequence = new int[1];
        queue.exclusively(() -> {
            requireOpen();
            int[] loaded = CacheSession.load(cpu, cache, file, accept);
            if (loaded.length != 1 || !isWhole(loaded[0], length.getAsInt())) {
                for (int other : loaded) {
                    cache.close(other);
                }
                throw Checks.fail(
                        file + ": sequences",
                        loaded.length + " of other lengths",
                        "expected one, of the " + length.getAsInt() + " tokens that are noted");
            }
            sequence[0] = loaded[0];
        });
        return sequence[0];
    }

    private boolean isWhole(int sequence, int length) {
        for (int layer = 0; layer < cache.config().layers(); layer++) {
            if (cache.length(layer, sequence) != length) {
                return false;
            }
        }
        return cache.firstKey(sequence) == 0;
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
