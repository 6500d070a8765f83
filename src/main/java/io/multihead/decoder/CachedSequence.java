package io.multihead.decoder;

/**
 * A sequence of the cache and its claim to memory. Among the sequences in use, the sequence whose call began first has the strongest claim.
 * A sequence that is not in use has no claim. The number of a sequence is used only under the lock of the {@link StepQueue}, and only until
 * the sequence is closed.
 */
final class CachedSequence {
    /** Under the lock. */
    int number;

    /** Set by the thread that closes its session, before its number is free. */
    volatile boolean isClosed;

    /** The number of the last call that used it, counted over all calls of the same cache. */
    volatile long turn;

    /** Whether a call uses it. */
    volatile boolean isUsed;

    /** Whether its session has released it, and it is kept for other sessions. Under the lock. */
    boolean isGivenUp;

    /** Whether its oldest tokens were dropped, so that the remaining ones cannot be computed again. Under the lock. */
    boolean hasSlid;

    CachedSequence(int number) {
        this.number = number;
    }

    void requireOpen() {
        if (isClosed) {
            throw closedError();
        }
    }

    /** Returns the exception for calls of a closed session. */
    static IllegalStateException closedError() {
        return new IllegalStateException("session: closed; expected an open session");
    }
}
