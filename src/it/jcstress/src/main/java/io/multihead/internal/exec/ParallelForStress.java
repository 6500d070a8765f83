package io.multihead.internal.exec;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;

/** One thread calls loops on an object, and another thread helps. All outcomes except the expected one are errors. */
public final class ParallelForStress {
    private static final ParallelFor.Invitation NOBODY = (loop, tasks) -> {};

    private ParallelForStress() {}

    /** Plain counters, one for each task. An unordered or second increment results in a wrong count. */
    private static class Counters implements LoopBody {
        private final int[] counts;

        Counters(int tasks) {
            counts = new int[tasks];
        }

        @Override
        public void run(long task, Workspace scratch) {
            counts[(int) task]++;
        }

        int digits() {
            int digits = 0;
            for (int count : counts) {
                digits = 10 * digits + count;
            }
            return digits;
        }
    }

    /**
     * A helper may join each of two loops of different lengths. Each task of each loop runs once, before its loop
     * returns.
     */
    @JCStressTest
    @Outcome(id = "1111, 1111", expect = ACCEPTABLE, desc = "every task once, before the return")
    @State
    public static class TwoLoops {
        private final ParallelFor loop = new ParallelFor(2);
        private final Counters one = new Counters(1);
        private final Counters three = new Counters(3);

        /** Calls two loops and reads the counters after each of them. */
        @Actor
        public void caller(II_Result result) {
            loop.run(one, 1, null, NOBODY);
            int first = one.digits();
            loop.run(three, 3, null, NOBODY);
            result.r1 = 1000 * first + three.digits();
        }

        /** Helps with the open loop. */
        @Actor
        public void helper() {
            loop.help(null);
            loop.help(null);
        }

        /** Reads the counters at the end, since no task may run after its loop has returned. */
        @Arbiter
        public void end(II_Result result) {
            result.r2 = 1000 * one.digits() + three.digits();
        }
    }

    /**
     * A long loop precedes a short loop. A helper that found the long loop exhausted takes no task of the short loop
     * twice.
     */
    @JCStressTest
    @Outcome(id = "11111, 11111", expect = ACCEPTABLE, desc = "every task once, before the return")
    @State
    public static class LongThenShort {
        private final ParallelFor loop = new ParallelFor(2);
        private final Counters three = new Counters(3);
        private final Counters two = new Counters(2);

        /** Calls two loops and reads the counters after each of them. */
        @Actor
        public void caller(II_Result result) {
            loop.run(three, 3, null, NOBODY);
            int first = three.digits();
            loop.run(two, 2, null, NOBODY);
            result.r1 = 100 * first + two.digits();
        }

        /** Helps with the open loop. */
        @Actor
        public void helper() {
            loop.help(null);
        }

        /** Reads the counters at the end. */
        @Arbiter
        public void end(II_Result result) {
            result.r2 = 100 * three.digits() + two.digits();
        }
    }

    /**
     * There are two strips, with two tasks and with one task. Each thread begins with a task of a different strip,
     * and each task runs once.
     */
    @JCStressTest
    @Outcome(id = "111, 111", expect = ACCEPTABLE, desc = "every task once, before the return")
    @State
    public static class Strips {
        private final ParallelFor loop = new ParallelFor(2);
        private final Counters three = new Counters(3) {
            @Override
            public int strips() {
                return 2;
            }
        };

        /** Calls the loop and reads the counters after it. */
        @Actor
        public void caller(II_Result result) {
            loop.run(three, 3, null, NOBODY);
            result.r1 = three.digits();
        }

        /** Helps with the open loop. */
        @Actor
        public void helper() {
            loop.help(null);
            loop.help(null);
        }

        /** Reads the counters at the end. */
        @Arbiter
        public void end(II_Result result) {
            result.r2 = three.digits();
        }
    }

    /**
     * A failing loop ends before all tasks have run, but not before its helper has left. The next loop runs all tasks.
     */
    @JCStressTest
    @Outcome(id = "0, 111", expect = ACCEPTABLE, desc = "nobody inside after the failure, the next loop whole")
    @State
    public static class FailureThenLoop {
        private final ParallelFor loop = new ParallelFor(2);
        private final Counters three = new Counters(3);
        private int inside;

        /** Calls a loop that fails, then a loop that succeeds. */
        @Actor
        public void caller(II_Result result) {
            try {
                loop.run(
                        (task, scratch) -> {
                            if (task == 1) {
                                inside++;
                                inside--;
                            } else {
                                throw new IllegalCallerException();
                            }
                        },
                        3,
                        null,
                        NOBODY);
                result.r1 = -1;
            } catch (IllegalCallerException expected) {
                result.r1 = inside;
            }
            loop.run(three, 3, null, NOBODY);
            result.r2 = three.digits();
        }

        /** Helps with the open loop. */
        @Actor
        public void helper() {
            loop.help(null);
            loop.help(null);
        }
    }
}
