package io.multihead.decoder;

import io.multihead.cache.CacheFullException;
import io.multihead.cache.CacheSession;
import io.multihead.cache.SequenceCache;
import io.multihead.compute.Compute;
import io.multihead.decoder.Step.Outcome;
import io.multihead.internal.base.Checks;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.IntSupplier;

/** The cache that sessions share, and the queue of their steps: changes of the cache wait until no step is computed. Thread-safe. */
final class SessionCache {
    /** The number of tokens of a page of a cache that grows. */
    static final int PAGE = 64;

    /** The number of tokens of one batch: enough to make products compute-bound. */
    static final int BATCH_TOKENS = 512;

    /** The number of recurrent states of a session: the current state and three snapshots. */
    private static final int STATES = 4;

    private static final Comparator<Step> OLDEST_FIRST = Comparator.comparingLong(step -> step.sequence.turn);

    final Compute cpu;
    final int contextTokens;
    final Duration maxWait;
    final boolean keepsPrefixes;
    /** Whether layers have states that cannot be truncated. */
    final boolean isRecurrent;
    /** Whether sequences can drop their first tokens. */
    final boolean slides;
    /** The count of calls that may have freed memory. */
    final Changes changes = new Changes();

    final SamplerPool samplers;

    private final SequenceCache cache;
    private final Eviction eviction;
    private final KeptPrefixes prefixes;
    private final BooleanSupplier modelIsOpen;
    private final Runnable free;
    private final StepQueue queue = new StepQueue(BATCH_TOKENS, this::compute);
    private final StepRunner runner;
    private final List<Step> fitting = new ArrayList<>();
    /** The number of tokens that the steps of a batch take of each part of the cache. */
    private final long[] taken;

    private final AtomicLong turns = new AtomicLong();
    private volatile boolean closed;

    /**
     * The limits of sessions and of their calls.
     *
     * @param sessions the number of sessions of {@code contextTokens} tokens for which there is memory
     * @param contextTokens the largest number of tokens of a session
     * @param maxWait the longest time that a call waits for room
     * @param keepsPrefixes whether prompts begin with prefixes that closed sessions have left
     */
    record Limits(int sessions, int contextTokens, Duration maxWait, boolean keepsPrefixes) {}

    /**
     * The lifetimes of the resources that sessions use.
     *
     * @param modelIsOpen whether the weights are available
     * @param freeCache frees the cache's memory
     */
    record Lives(BooleanSupplier modelIsOpen, Runnable freeCache) {}

    /**
     * Creates the queue of a cache.
     *
     * @param runner computes batches of at most {@link #BATCH_TOKENS} with the cache
     */
    SessionCache(
            Compute cpu, SequenceCache cache, StepRunner runner, SamplerPool samplers, Limits limits, Lives lives) {
        this.cpu = cpu;
        this.cache = cache;
        this.runner = runner;
        this.samplers = samplers;
        contextTokens = limits.contextTokens();
        maxWait = limits.maxWait();
        modelIsOpen = lives.modelIsOpen();
        free = lives.freeCache();
        eviction = new Eviction(cache, PAGE);
        slides = cache.slides();
        isRecurrent = cache.bytesPerSequence() > 0;
        prefixes = new KeptPrefixes(cache, eviction);
        taken = new long[eviction.parts.size()];
        cache.limitStates((long) STATES * limits.sessions());
        keepsPrefixes = limits.keepsPrefixes();
    }

    /** Begins a call that uses a sequence, unless a call already uses it; returns whether the caller must call {@link #end}. */
    boolean begin(CachedSequence sequence) {
        if (sequence.isUsed) {
            return false;
        }
        sequence.turn = turns.incrementAndGet();
        sequence.isUsed = true;
        return true;
    }

    /** Ends a call, and takes back the logits of its step. */
    void end(Step step) {
        runner.rowsOfLogits.giveBack(step.logits);
        step.sequence.isUsed = false;
        changes.add();
    }

    /** Runs steps of one caller, together with waiting steps of other callers; each step gets its outcome. */
    void run(List<Step> steps) {
        queue.run(steps);
    }

    /** Computes a batch, except the steps for which there is no room. Only one batch runs at a time. */
    private void compute(List<Step> batch) {
        requireOpen();
        fitting.clear();
        batch.sort(OLDEST_FIRST);
        Arrays.fill(taken, 0);
        for (int i = 0; i < batch.size(); i++) {
            Step step = batch.get(i);
            if (step.sequence.isClosed) {
                step.failure = CachedSequence.closedError();
            } else if (isReady(step)) {
                // a snapshot only saves time, so no running call loses room to it
                if (step.snapshots && eviction.makeRoom(Long.MAX_VALUE, taken, step.sequence, step.count, 1)) {
                    cache.snapshot(step.sequence.number);
                }
                for (int part = 0; part < taken.length; part++) {
                    taken[part] += eviction.parts.get(part).neededTokens(step.sequence.number, step.count);
                }
                fitting.add(step);
            }
        }
        try {
            runner.run(fitting);
        } catch (Throwable failed) {
            Throwable failure = modelIsOpen.getAsBoolean() ? failed : modelClosed();
            fitting.forEach(step -> step.failure = failure);
        }
        fitting.clear();
    }

    /** Returns whether a step can be computed. If it cannot, the step records the reason. */
    private boolean isReady(Step step) {
        step.cached = eviction.length(step.sequence);
        if (step.cached >= step.from) {
            forgetBeyond(step.sequence, step.from);
            step.cached = step.from > 0
                    ? eviction.length(step.sequence)
                    : prefixes.begin(step.sequence, step.tokens, step.count + step.behind - 1);
        }
        if (step.cached != step.from) {
            step.outcome = Outcome.MOVED;
            return false;
        }
        if (!eviction.makeRoom(step.sequence.turn, taken, step.sequence, (long) step.count + step.behind, 0)) {
            step.outcome = Outcome.NO_ROOM;
            return false;
        }
        return true;
    }

    /** Returns the exception for a call that has waited for room as long as it may. */
    CacheFullException full(CachedSequence sequence) {
        return new CacheFullException("sessions: no room for session " + sequence.number + " in " + maxWait
                + "; expected other sessions to end, or options with more sessions");
    }

    /** Drops the tokens that a failed step, or a step whose logits were not taken, has left in some layers. */
    private void forgetBeyond(CachedSequence sequence, int length) {
        for (int layer = 0; layer < cache.layers(); layer++) {
            if (cache.length(layer, sequence.number) > length) {
                eviction.truncate(sequence, length);
                return;
            }
        }
    }

    CachedSequence open() {
        CachedSequence[] sequence = new CachedSequence[1];
        queue.exclusively(() -> {
            requireOpen();
            sequence[0] = eviction.add(cache.open());
        });
        return sequence[0];
    }

    /** Returns a sequence with the first tokens of another sequence, as many of them as the cache has. */
    CachedSequence fork(CachedSequence other, int length) {
        CachedSequence[] sequence = new CachedSequence[1];
        queue.exclusively(() -> {
            requireOpen(other);
            CachedSequence fork = eviction.add(cache.fork(other.number));
            fork.turn = turns.incrementAndGet();
            fork.hasSlid = other.hasSlid;
            try {
                forgetBeyond(fork, length);
            } catch (Throwable failed) {
                eviction.remove(fork);
                cache.close(fork.number);
                throw failed;
            }
            sequence[0] = fork;
        });
        return sequence[0];
    }

    /** Saves the first tokens of a sequence, with notes. Returns false if some of these tokens are not in the cache. */
    boolean save(CachedSequence sequence, int length, Path file, Map<String, String> notes) throws IOException {
        boolean[] saved = new boolean[1];
        queue.exclusively(() -> {
            requireOpen(sequence);
            if (eviction.length(sequence) >= length) {
                forgetBeyond(sequence, length);
                CacheSession.save(cpu, cache, file, notes, sequence.number);
                saved[0] = true;
            }
        });
        return saved[0];
    }

    /**
     * Opens the only sequence of a file. {@code accept} checks the caller's metadata in the file; {@code length} then returns the number of
     * tokens that the sequence must have.
     */
    CachedSequence load(Path file, Consumer<Map<String, String>> accept, IntSupplier length) throws IOException {
        CachedSequence[] sequence = new CachedSequence[1];
        queue.exclusively(() -> {
            requireOpen();
            int[] loaded = CacheSession.load(cpu, cache, file, notes -> {
                accept.accept(notes);
                eviction.makeRoom(Long.MAX_VALUE, new long[taken.length], null, length.getAsInt(), STATES);
            });
            if (loaded.length != 1 || !isWhole(loaded[0], length.getAsInt())) {
                for (int other : loaded) {
                    cache.close(other);
                }
                throw Checks.fail(
                        file + ": sequences",
                        loaded.length + " of other lengths",
                        "expected one, of the " + length.getAsInt() + " tokens that are noted");
            }
            sequence[0] = eviction.add(loaded[0]);
            sequence[0].turn = turns.incrementAndGet();
        });
        return sequence[0];
    }

    private boolean isWhole(int sequence, int length) {
        for (int layer = 0; layer < cache.layers(); layer++) {
            if (cache.length(layer, sequence) != length) {
                return false;
            }
        }
        return cache.firstKey(sequence) == 0;
    }

    /** Returns the number of tokens in the cache. */
    int length(CachedSequence sequence) {
        int[] length = new int[1];
        queue.exclusively(() -> {
            requireOpen(sequence);
            length[0] = eviction.length(sequence);
        });
        return length[0];
    }

    /**
     * Drops the tokens after a length; returns the number of remaining tokens, which is lower if a recurrent state or a window cannot be
     * truncated there.
     */
    int truncate(CachedSequence sequence, int length) {
        int[] left = {length};
        queue.exclusively(() -> {
            requireOpen(sequence);
            forgetBeyond(sequence, length);
            left[0] = cache.truncatesAnywhere() ? length : Math.min(length, eviction.length(sequence));
        });
        changes.add();
        return left[0];
    }

    /** Returns the number of first tokens that remain when a sequence is truncated to a length. */
    int restorable(CachedSequence sequence, int length) {
        int[] left = new int[1];
        queue.exclusively(() -> {
            requireOpen(sequence);
            left[0] = (int) cache.restorable(sequence.number, length);
        });
        return left[0];
    }

    /** Drops the tokens before a position. Returns false if some of these tokens are not in the cache. */
    boolean slide(CachedSequence sequence, int firstToken) {
        boolean[] slid = new boolean[1];
        queue.exclusively(() -> {
            requireOpen(sequence);
            if (eviction.length(sequence) >= firstToken) {
                cache.slide(sequence.number, firstToken);
                sequence.hasSlid = true;
                slid[0] = true;
            }
        });
        return slid[0];
    }

    /**
     * Frees the sequence of a session that is closed, while no step is computed. If two callers close the session, the sequence is free
     * when either call returns.
     *
     * @param tokens the tokens in the cache that may be kept for other prompts
     */
    void close(CachedSequence sequence, int... tokens) {
        sequence.isClosed = true;
        queue.exclusively(() -> {
            if (!closed && !sequence.isGivenUp) {
                sequence.isGivenUp = true;
                sequence.isUsed = false;
                prefixes.keep(sequence, tokens);
            }
        });
        changes.add();
    }

    /** Returns the number of query heads of a layer's attention; 0 if the layer has none. */
    int heads(int layer) {
        return runner.heads(layer);
    }

    int layers() {
        return runner.layers();
    }

    long bytesPerToken() {
        return cache.bytesPerToken();
    }

    long bytesOfTokens(long tokens) {
        return cache.bytesOfTokens(tokens);
    }

    long bytesPerSequence() {
        return cache.bytesPerSequence();
    }

    long usedBytes() {
        if (prefixes.isEmpty()) {
            return cache.usedBytes();
        }
        long[] bytes = new long[1];
        queue.exclusively(() -> bytes[0] = cache.bytesOf(eviction.ownedNumbers()));
        return bytes[0];
    }

    PrefixReuse prefixReuse() {
        PrefixReuse[] statistics = new PrefixReuse[1];
        queue.exclusively(
                () -> statistics[0] = prefixes.statistics(cache.usedBytes() - cache.bytesOf(eviction.ownedNumbers())));
        return statistics[0];
    }

    void requireOpen(CachedSequence sequence) {
        sequence.requireOpen();
        requireOpen();
    }

    void requireOpen() {
        if (closed) {
            throw new IllegalStateException("sessions: closed; expected open sessions");
        }
        if (!modelIsOpen.getAsBoolean()) {
            throw modelClosed();
        }
    }

    private static IllegalStateException modelClosed() {
        return new IllegalStateException("model: closed; expected an open one");
    }

    /** Frees the cache after the running batch. */
    void close() {
        queue.exclusively(() -> {
            if (!closed) {
                closed = true;
                free.run();
            }
        });
        changes.add();
    }
}
