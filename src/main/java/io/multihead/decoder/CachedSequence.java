package io.multihead.decoder;

/**
 * A sequence of the cache and its claim to memory. Of two that are in use, the one whose call began first has the claim; one that is not
 * in use has none. Its number is used under the lock of the {@link StepQueue} alone, and until it is closed.
 */
final class CachedSequence {
    /** Under the lock. */
    int number;

    /** Set by whoever closes its session, before its number is free. */
    volatile boolean isClosed;

    /** The number of the last call that used it, of all calls of the same cache. */
    volatile long turn;

    /** Whether a call uses it. */
    volatile boolean isUsed;

    /** Whether its session has given it up, and it is kept for others. Under the lock. */
    boolean isGivenUp;

    /** Whether its oldest tokens were dropped, so that those that are left cannot be computed again. Under the lock. */
    boolean hasSlid;

    CachedSequence(int number) {
        this.number = number;
    }

    void requireOpen() {
        if (isClosed) {
            throw closedError();
        }
    }

    /** Returns the exception of calls of a closed session. */
    static IllegalStateException closedError() {
        return new IllegalStateException("session: closed; expected an open session");
    }
}
