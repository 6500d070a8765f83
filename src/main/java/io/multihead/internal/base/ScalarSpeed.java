package io.multihead.internal.base;

/** The time of a scalar operation on this machine, measured with a loop that the JVM has compiled. */
final class ScalarSpeed {
    /** The number of operations that are timed together: a few microseconds, so that the thread is seldom interrupted. */
    private static final int OPERATIONS = 2000;

    /**
     * The number of loops before the first timed one: enough for the JVM to begin to compile the loop. An interpreted loop takes ten times
     * as long.
     */
    private static final int UNTIMED_LOOPS = 50;

    private static final int TIMED_LOOPS = 20;

    private static volatile boolean isWarm;
    private static volatile double best = Double.POSITIVE_INFINITY;
    private static volatile float sink;

    private ScalarSpeed() {}

    /**
     * Returns the smallest time of a multiplication and an addition that depend on the previous ones, of all measurements so far; 0 for the
     * first call, when the loop may not be compiled yet.
     */
    static double nanos() {
        if (!isWarm) {
            for (int loop = 0; loop < UNTIMED_LOOPS; loop++) {
                sink = multiplyAndAdd(sink);
            }
            isWarm = true;
            return 0;
        }
        double least = best;
        for (int loop = 0; loop < TIMED_LOOPS; loop++) {
            long start = System.nanoTime();
            sink = multiplyAndAdd(sink);
            least = Math.min(least, (System.nanoTime() - start) / (double) OPERATIONS);
        }
        best = least;
        return least;
    }

    private static float multiplyAndAdd(float from) {
        float x = from;
        for (int i = 0; i < OPERATIONS; i++) {
            x = x * 0.9f + 0.1f;
        }
        return x;
    }
}
