package io.multihead.decoder;

import io.multihead.internal.base.Checks;
import java.util.BitSet;

/** The tokens of one session, and how far they are computed. For one thread at a time. */
final class SessionState {
    final SessionCache cache;
    final TokenList tokens = new TokenList();
    /** The tokens of the text so far, for penalties. */
    final BitSet seen = new BitSet();

    final Step step;
    final Sampler sampler;
    /** Tokens whose keys and values are in the cache. */
    int computed;
    /** The first token that was not dropped to slide. */
    int first;

    private boolean closed;

    SessionState(SessionCache cache, int sequence, int vocabulary) {
        this.cache = cache;
        step = new Step(sequence);
        sampler = new Sampler(vocabulary);
    }

    /** Returns another session with the same tokens. */
    SessionState fork(int vocabulary) {
        requireOpen();
        SessionState fork = new SessionState(cache, cache.fork(step.sequence, computed), vocabulary);
        for (int i = 0; i < tokens.size(); i++) {
            fork.add(tokens.get(i));
        }
        fork.computed = computed;
        fork.first = first;
        return fork;
    }

    /** Returns how many more tokens the context holds; below 0 if it has to slide. */
    int room() {
        return cache.contextTokens - (tokens.size() - first);
    }

    void add(int id) {
        tokens.add(id);
        seen.set(id);
    }

    /** Takes the tokens of a sequence that was loaded. */
    void restore(TokenList loaded) {
        for (int i = 0; i < loaded.size(); i++) {
            add(loaded.get(i));
        }
        computed = loaded.size();
    }

    /** Drops the newest tokens. */
    void truncate(int length) {
        requireOpen();
        Checks.index(length, tokens.size() + 1L, "length");
        if (length < first) {
            throw Checks.fail("length", String.valueOf(length), "expected at least " + first + ", which slid away");
        }
        if (length < computed) {
            forget(length);
        }
        tokens.truncate(length);
        seen.clear();
        for (int i = 0; i < length; i++) {
            seen.set(tokens.get(i));
        }
    }

    /** Drops the newest keys and values from the cache; tokens stay. */
    void forget(int length) {
        cache.truncate(step.sequence, length);
        computed = length;
    }

    /** Drops the oldest tokens, so that the context has room for those that are waiting. */
    void slide() {
        first = tokens.size() - cache.contextTokens;
        cache.slide(step.sequence, Math.min(first, computed));
    }

    void close() {
        if (!closed) {
            closed = true;
            cache.close(step.sequence);
        }
    }

    void requireOpen() {
        if (closed) {
            throw new IllegalStateException("session: closed; expected an open one");
        }
        cache.requireOpen();
    }
}
