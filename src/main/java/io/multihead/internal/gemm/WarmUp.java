package io.multihead.internal.gemm;

/**
 * Whether C2 has compiled a kernel, by the time that it takes: until then few calls use it, so that the JVM counts calls and compiles
 * it, and all others an equivalent without vectors. Both have the same bits, so no result depends on the time.
 *
 * <p>Any thread may use it. Fields are plain on purpose: a thread that reads an old value only uses the slower kernel once more.
 */
final class WarmUp {
    /** One call in this many is a trial, which takes about as long as the scalar tile. */
    private static final int INTERVAL = 4;

    /**
     * Rows of B in a trial. With more, a trial allocates more; with fewer, C2 compiles later, as it waits for 600 calls with 15,000
     * iterations. A first batch of 32 texts takes 1.5 s with these, and 2.1 s when one call in 32 tries a whole tile.
     */
    static final int TRIAL_DEPTH = 32;

    /** Rows in a chain of a trial, which has two: C2 leaves out the code for a second chain if it never saw one. */
    static final int TRIAL_CHAIN = 16;

    /** Calls after which vectors are used in any case: small tiles need many trials before the JVM compiles them. */
    private static final int MOST_CALLS = 1 << 15;

    /** Fixed cost of a trial in nanoseconds, with reading the clock. */
    private static final long CALL_NANOS = 300;

    private boolean isOver;
    private int calls;

    /** Begins a warm-up. */
    WarmUp() {}

    /** Returns whether the kernel is compiled. */
    boolean isOver() {
        return isOver;
    }

    /** Returns whether this call is a trial, to be timed and recorded. */
    boolean isTrial() {
        int call = calls++;
        if (call >= MOST_CALLS) {
            isOver = true;
        }
        return call % INTERVAL == 0;
    }

    /**
     * Ends the warm-up if a trial took less than 1 ns for each operation on an element, such as a multiply-add: compiled, it takes 0.02 to
     * 0.2, and with an object for each vector 5 or more.
     */
    void record(long nanos, int operations) {
        if (nanos < CALL_NANOS + operations) {
            isOver = true;
        }
    }
}
