package io.multihead.decoder;

import io.multihead.internal.base.Checks;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** The tokens of one session, and the number of computed tokens. Only the thread that has entered may use this object. */
final class SessionState {
    final SessionCache cache;
    final TokenList tokens = new TokenList();
    /** The tokens as penalties count them. */
    final SeenTokens seen = new SeenTokens(tokens);

    final Step step;
    final CachedSequence sequence;
    /** The number of tokens whose keys and values are in the cache, unless they were evicted. */
    int computed;
    /** The first token that was not dropped to slide. */
    int first;
    /** The end of the last text that ended with an end token. Later tokens belong to another text. */
    int textStart;
    /** The end of the last text that ended at a stop sequence; no other stop sequence begins within it. */
    int stopEnd;

    private static final int[] NO_TOKENS = {};

    private final AtomicReference<@Nullable Thread> user = new AtomicReference<>();

    SessionState(SessionCache cache, CachedSequence sequence) {
        this.cache = cache;
        this.sequence = sequence;
        step = new Step(sequence);
    }

    /**
     * Begins a call of this thread; the caller must call {@link #leave} with the result.
     *
     * @return whether no call was running; false within a listener of this thread's own call
     * @throws IllegalStateException if another thread uses the session, or it is closed
     */
    boolean enter() {
        boolean entered = enterOpenOrClosed();
        try {
            requireOpen();
        } catch (IllegalStateException closed) {
            leave(entered);
            throw closed;
        }
        return entered;
    }

    /** Begins a call as {@link #enter} does, even if the session is closed. */
    boolean enterOpenOrClosed() {
        Thread current = Thread.currentThread();
        boolean entered = user.compareAndSet(null, current);
        if (!entered && user.get() != current) {
            throw new IllegalStateException("session: in use by another thread; expected one thread at a time");
        }
        return entered;
    }

    /**
     * Begins a call that changes the session; the caller must call {@link #leave}.
     *
     * @throws IllegalStateException as for {@link #enter}, or if this thread is within a listener of the session
     */
    boolean enterAlone(String call) {
        if (!enter()) {
            throw new IllegalStateException("session: " + call
                    + " while it generates; expected nextLogits, save, fork or close from its listener");
        }
        return true;
    }

    void leave(boolean entered) {
        if (entered) {
            user.set(null);
        }
    }

    /** Returns another session with the same tokens. */
    SessionState fork() {
        CachedSequence other = cache.fork(sequence, computed);
        try {
            SessionState fork = new SessionState(cache, other);
            for (int i = 0; i < tokens.size(); i++) {
                fork.add(tokens.get(i));
            }
            fork.computed = computed;
            fork.first = first;
            fork.textStart = textStart;
            fork.stopEnd = stopEnd;
            fork.seen.promptEnd = seen.promptEnd;
            return fork;
        } catch (Throwable failed) {
            cache.close(other);
            throw failed;
        }
    }

    /** Returns the number of further tokens that fit into the context; negative if the context must slide. */
    int freeTokens() {
        return cache.contextTokens - (tokens.size() - first);
    }

    void add(int id) {
        seen.add(id);
    }

    /** Takes the tokens of a loaded sequence. */
    void restore(TokenList loaded) {
        for (int i = 0; i < loaded.size(); i++) {
            add(loaded.get(i));
        }
        seen.endPrompt();
        computed = loaded.size();
    }

    /** Drops the newest tokens. */
    void truncate(int length) {
        Checks.index(length, tokens.size() + 1L, "length");
        if (length < first) {
            throw Checks.fail("length", String.valueOf(length), "expected at least " + first + ", which slid away");
        }
        if (length < computed) {
            if (first > 0 && cache.restorable(sequence, length) < length) {
                throw Checks.fail(
                        "length",
                        length + " of " + computed,
                        "expected more, since layers with a window have dropped the tokens before, and a text that slid "
                                + "is not computed again");
            }
            forget(length);
        }
        seen.truncate(length);
        textStart = length < textStart ? 0 : textStart;
        stopEnd = Math.min(stopEnd, length);
    }

    /** Drops the newest keys and values from the cache. The session keeps the tokens. */
    void forget(int length) {
        computed = cache.truncate(sequence, length);
    }

    /**
     * Returns the next step of waiting tokens, without logits. Returns null if the waiting tokens fit in one step, which will compute the
     * logits of the last token. If there are no waiting tokens, the last token is computed again.
     *
     * @param mostTokens the largest number of tokens of a step
     * @param isFirst whether no step of the call has computed logits; the recurrent state before the last token is then kept
     */
    @Nullable
    Step prefill(int mostTokens, boolean isFirst) {
        int end = tokens.size();
        // evicted tokens are computed again before the oldest tokens are dropped, because evicted tokens depend on the
        // oldest ones
        if (freeTokens() < 0 && !slide()) {
            end--;
        }
        if (computed == tokens.size()) {
            forget(computed - 1);
        }
        int waiting = end - computed;
        int count = Math.min(waiting, mostTokens);
        boolean isLast = count == waiting && end == tokens.size();
        if (isLast && isFirst && cache.isRecurrent && waiting > 1) {
            return step.set(tokens.array(), computed, count - 1, 0, 1);
        }
        return isLast ? null : step.set(tokens.array(), computed, count, 0, waiting - count);
    }

    /** Drops the oldest tokens, so that the context has room for the waiting tokens; returns false if not all tokens are computed. */
    private boolean slide() {
        int newFirst = tokens.size() - cache.contextTokens;
        boolean slid = cache.slide(sequence, Math.min(newFirst, computed));
        if (slid) {
            first = newFirst;
        } else {
            computed = cache.length(sequence);
        }
        return slid;
    }

    /** Closes the session, and leaves its tokens for other prompts unless another thread may change them. */
    void close() {
        sequence.isClosed = true; // first: a call that begins from now on changes no tokens
        Thread caller = user.get();
        boolean mayKeep = cache.keepsPrefixes && first == 0 && (caller == null || caller == Thread.currentThread());
        cache.close(sequence, mayKeep ? Arrays.copyOf(tokens.array(), computed) : NO_TOKENS);
    }

    /** Closes the session without leaving its tokens for other prompts. */
    void discard() {
        cache.close(sequence, NO_TOKENS);
    }

    void requireOpen() {
        cache.requireOpen(sequence);
    }
}
