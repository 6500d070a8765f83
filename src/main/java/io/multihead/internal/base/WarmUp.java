package io.multihead.internal.base;

import java.util.function.DoubleSupplier;
import java.util.function.LongSupplier;

/**
 * Whether C2 has compiled some kernels, by the time that a trial of them takes. Until then each operation on a vector is a call that
 * allocates, and calls use an equivalent without vectors. Both have the same bits, so no result depends on the time. The limit is a time per
 * operation, or on a slow or emulated machine a multiple of an operation's time on scalars there. In a JVM without C2 the warm-up never
 * ends; after {@link #MOST_TRIALS} trials it is reported ({@link PerformanceWarnings#SLOW_VECTORS}).
 *
 * <p>Any thread may use it. Fields are plain on purpose: a thread that reads an old value only uses the slower kernel once more, or
 * makes one more trial.
 */
public final class WarmUp {
    /** Calls the kernels with numbers of its own, which threads may share, since nobody reads the results. */
    public interface Trial {
        /** Returns how many operations on vectors a trial has, about 200 or more. */
        int operations();

        /**
         * Runs each kernel {@code calls} times, in a loop of its own: were this method called as often, C2 would compile it, with the kernels in
         * it, and a trial would be fast before the kernels are compiled for others.
         *
         * @param lengthFactor the factor of a loop's length. 1: a trial, in which every loop runs several times, since C2
         *     leaves out code that it never saw run. 0: empty calls, which the JVM counts towards compilation; kernels on rows then return
         *     before their loops, else C2 learns that a loop mostly ends at once and does not unroll it
         */
        void run(int lengthFactor, int calls);
    }

    /** The wait after a trial is this much longer each time, since a trial allocates 20 to 60 KB. */
    private static final long STEP_NANOS = 250_000;

    /** The longest wait, in steps: the JVM takes a method that waits for C2 off its queue when it was not called for 50 ms. */
    private static final int MOST_STEPS = 20;

    /**
     * Empty calls after each trial. C2 compiles a method that was called 5000 times, or 600 times with 15,000 iterations of its loops. Both
     * limits grow with the length of C2's queue, and trials of kernels that are not compiled fill this queue with the JDK's code for vectors. So
     * fewer trials mean an earlier compilation: attention reaches nine tenths of its speed after 0.93 s with 256 and after 1.26 s with 64
     * (Zen 5). With 512 it is earlier still, but one row by bf16 takes 5 % longer for good.
     */
    private static final int EMPTY_CALLS = 256;

    /** Time of a trial without its operations: reading the clock, and code and numbers that are not in L1 any more. */
    private static final long TRIAL_NANOS = 500;

    /**
     * A trial that takes less than this many limits is repeated at once. Calls that read weights from memory leave the numbers of a trial in no
     * cache near by: one row by 4096 x 4096 on a busy Zen 4 had compiled trials of 1.5 to 2.1 us against a limit of 1.27, and in one JVM of six
     * the warm-up did not end within six seconds. A repetition has its numbers in L1.
     */
    private static final int LIMITS_WITH_MISSES = 8;

    /** An operation on a vector takes 0.2 to 1 ns when it is compiled, and 15 or more with an object for its result. */
    private static final long OPERATION_NANOS = 4;

    /**
     * The most time of an operation on a vector, in operations on scalars ({@link ScalarSpeed}, 1.9 ns on Zen 4, so that the limit above is the
     * larger one): with an object for its result it takes eight or more.
     */
    private static final double SCALAR_OPERATIONS = 2;

    /** Trials between measurements of scalars: where warm-ups end after some hundred, few measure at all. */
    private static final int MEASURED_TRIALS = 250;

    /** Trials after which a warm-up that has not ended is reported: 20 seconds and more of calls, ten times as many as usual. */
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

    /** Returns whether the kernels are compiled; makes a trial now and then until they are. */
    public boolean isOver() {
        return isOver || isOverAt(clock.getAsLong());
    }

    private boolean isOverAt(long now) {
        if (now - next < 0) {
            return false;
        }
        steps = Math.min(steps + 1, MOST_STEPS);
        next = now + steps * STEP_NANOS;
        if (isFast()) {
            isOver = true;
            return true;
        }
        trial.run(0, EMPTY_CALLS);
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
        // on a slow machine the time without operations, for which the limit has 500 ns, takes longer too
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
