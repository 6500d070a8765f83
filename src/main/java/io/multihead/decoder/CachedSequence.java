package io.multihead.decoder;

/**
 * A sequence of the cache and its claim to memory. Among the sequences in use, the sequence whose call began first has the strongest claim.
 * A sequence that is not in use has no claim. The number of a sequence is used only under the lock of the {@link StepQueue}, and only until
 * the sequence is closed.
 */
final class CachedSequence {
    /** The number of this sequence in the cache. Guarded by the lock. */
    int number;

    /** Whether the session is closed. The thread that closes the session sets this flag before the number of the sequence is free. */
    volatile boolean isClosed;

    /** The number of the last call that used this sequence, counted over all calls of the same cache. */
    volatile long turn;

    /** Whether a call uses this sequence. */
    volatile boolean isUsed;

    /** Whether the session has released this sequence, which is kept for other sessions. Guarded by the lock. */
    boolean isGivenUp;

    /**
     * Whether the oldest tokens of this sequence were dropped. The remaining tokens can then not be computed again. Guarded by the lock.
     */
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
