package io.multihead.internal.base;

import java.util.function.DoubleSupplier;
import java.util.function.LongSupplier;

/**
 * Determines whether C2 has compiled some kernels, from the time of a trial that runs them. Before they are compiled, each operation on a vector
 * is a call that allocates, and calls use an equivalent without vectors. Both give the same bits, so no result depends on the time. The limit is
 * a time per operation; on a slow or emulated machine it is a multiple of the time of a scalar operation there. In a JVM without C2 the warm-up
 * never ends; after {@link #MOST_TRIALS} trials it is reported ({@link PerformanceWarnings#SLOW_VECTORS}).
 *
 * <p>Any thread may use an instance. Fields are intentionally plain: a thread that reads an old value only uses the slower kernel once more, or
 * makes one more trial.
 */
public final class WarmUp {
    /** Calls the kernels with its own test values, which threads may share, since the results are not read. */
    public interface Trial {
        /** Returns the number of vector operations of a trial, about 200 or more. */
        int operations();

        /**
         * Runs each kernel {@code calls} times, in its own loop. If this method were called {@code calls} times instead, C2 would compile
         * it with the kernels in it, and a trial would be fast before the kernels are compiled for other callers.
         *
         * @param lengthFactor the factor of a loop's length. 1 is a trial, in which every loop runs several times, since C2 omits code that
         *     it never saw run. Less than 0 makes empty calls, which the JVM counts towards compilation. A kernel then returns before its
         *     loops, after an empty loop of as many iterations, which the JVM counts and C2 removes. The kernel casts its segments
         *     ({@link NativeMemory#known}) before it returns, because C2 inlines no call that is rarer than one in 117 calls of its caller
         */
        void run(int lengthFactor, int calls);
    }

    /** The growth of the wait after each trial. A trial allocates 20 to 60 KB. */
    private static final long STEP_NANOS = 250_000;

    /** The longest wait, in steps: the JVM removes a method that waits for C2 from its queue if it was not called for 50 ms. */
    private static final int MOST_STEPS = 20;

    /**
     * Empty calls after each trial. C2 compiles a method that was called 5000 times, or 600 times with 15,000 iterations of its loops. Both
     * limits grow with the length of C2's queue, and trials of kernels that are not compiled fill this queue with the JDK's code for vectors.
     * Therefore fewer trials mean an earlier compilation. With more empty calls for each trial, C2 assumes that the loops of a kernel rarely run:
     * with 512, one row by bf16 takes 5 % longer permanently.
     */
    private static final int EMPTY_CALLS = 64;

    /** The factor of the empty calls after a trial: enough iterations for the limit of 600 calls, and for the head of C2's queue. */
    private static final int EMPTY_LENGTH = -4;

    /**
     * Empty calls before the first trial. After 2000 calls the JVM profiles a method, without which C2 does not compile it, even while C2's queue
     * is long.
     */
    private static final int FIRST_CALLS = 2048;

    /** The time of a trial without its operations: the time to read the clock, and to load code and values that have left L1. */
    private static final long TRIAL_NANOS = 500;

    /**
     * A trial that takes less than this number of limits is repeated immediately. Calls that read weights from memory evict the values of a
     * trial from the near caches: with one row times 4096 x 4096 on a busy Zen 4, compiled trials took 1.5 to 2.1 us with a limit of 1.27,
     * and in one JVM of six the warm-up did not end within six seconds. A repetition has its values in L1.
     */
    private static final int LIMITS_WITH_MISSES = 8;

    /**
     * The largest time of a compiled operation on a vector. Compiled, an operation takes 0.2 to 1 ns, and with an object for its result 15 ns or
     * more.
     */
    private static final long OPERATION_NANOS = 4;

    /**
     * The largest time of an operation on a vector, in scalar operations ({@link ScalarSpeed}, 1.9 ns on Zen 4, so that the limit above is larger
     * there): with an object for its result, an operation takes eight or more.
     */
    private static final double SCALAR_OPERATIONS = 2;

    /** The number of trials between measurements of scalars: most warm-ups that end after some hundred trials make no measurement. */
    private static final int MEASURED_TRIALS = 250;

    /**
     * The number of trials after which a warm-up that has not ended is reported: 20 seconds or more of calls, ten times as many as usual.
     */
    static final int MOST_TRIALS = 4000;

    private final Trial trial;
    private final LongSupplier clock;
    private final DoubleSupplier scalarNanos;
    private final Runnable warning;
    private double operationNanos = OPERATION_NANOS;
    private int trials;
    private boolean isOver;
    /** The wait after the last trial, in steps. */
    private int steps;

    private long next;

    public WarmUp(Trial trial) {
        this(trial, System::nanoTime, ScalarSpeed::nanos, PerformanceWarnings.SLOW_VECTORS::warnOnce);
    }

    WarmUp(Trial trial, LongSupplier clock, DoubleSupplier scalarNanos, Runnable warning) {
        this.trial = trial;
        this.clock = clock;
        this.scalarNanos = scalarNanos;
        this.warning = warning;
        next = clock.getAsLong();
    }

    /** Returns whether the kernels are compiled; makes trials at intervals until they are. */
    public boolean isOver() {
        return isOver || isOverAt(clock.getAsLong());
    }

    private boolean isOverAt(long now) {
        if (now - next < 0) {
            return false;
        }
        steps = Math.min(steps + 1, MOST_STEPS);
        next = now + steps * STEP_NANOS;
        if (trials == 0) {
            trial.run(-1, FIRST_CALLS);
        } else if (isFast()) {
            isOver = true;
            return true;
        } else {
            trial.run(EMPTY_LENGTH, EMPTY_CALLS);
        }
        trials++;
        if (trials % MEASURED_TRIALS == 0) {
            operationNanos = Math.max(OPERATION_NANOS, SCALAR_OPERATIONS * scalarNanos.getAsDouble());
        }
        if (trials == MOST_TRIALS) {
            warning.run();
        }
        return false;
    }

    private boolean isFast() {
        // on a slow machine, the time without operations, for which the limit allows 500 ns, is longer, too
        double limit = (TRIAL_NANOS / (double) OPERATION_NANOS + trial.operations()) * operationNanos;
        long nanos = timeTrial();
        return nanos < limit || nanos < LIMITS_WITH_MISSES * limit && timeTrial() < limit;
    }

    private long timeTrial() {
        long start = clock.getAsLong();
        trial.run(1, 1);
        return clock.getAsLong() - start;
    }
}
