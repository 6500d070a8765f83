package io.multihead.internal.gemm;

/**
 * Whether C2 has compiled a kernel, by the time that it takes: until then few calls use it, so that the JVM counts calls and compiles
 * it, and all others an equivalent without vectors. Both have the same bits, so no result depends on the time.
 *
 * <p>Any thread may use it. Fields are plain on purpose: a thread that reads an old value only uses the slower kernel once more.
 */
final class WarmUp {
    /**
     * Calls to one trial. A trial of a tile takes ten times as long as the scalar tile and allocates half a megabyte. One of 8 took longer
     * for a first batch of 32 texts; vectors from the end of the first calls on took less, but held up to 1 GB.
     */
    private static final int INTERVAL = 32;

    /** The first calls, of which fewer are trials: about as many as a first short text makes. */
    private static final int FIRST_CALLS = 2048;

    private static final int FIRST_INTERVAL = 128;

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
        return call % (call < FIRST_CALLS ? FIRST_INTERVAL : INTERVAL) == 0;
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
