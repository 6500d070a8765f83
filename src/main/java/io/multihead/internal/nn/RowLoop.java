package io.multihead.internal.nn;

import io.multihead.compute.Compute;
import io.multihead.internal.call.SingleCall;
import io.multihead.internal.exec.Workspace;

/** A parallel loop over rows that do not depend on each other. */
public final class RowLoop {
    private static final int TASKS_PER_THREAD = 4;

    private RowLoop() {}

    /** The operation on one row. */
    public interface Body {
        /**
         * Computes one row.
         *
         * @param row from 0
         * @param scratch the memory of the thread that computes it
         */
        void run(long row, Workspace scratch);
    }

    /** Runs all rows on the threads of a Compute. */
    public static void run(Compute cpu, long rows, Body body) {
        int threads = cpu.parallelism();
        long rowsPerTask = Math.max(1, Math.ceilDiv(rows, threads == 1 ? 1L : (long) threads * TASKS_PER_THREAD));
        SingleCall.run(
                cpu,
                (task, scratch) -> {
                    long end = Math.min(rows, (task + 1) * rowsPerTask);
                    for (long row = task * rowsPerTask; row < end; row++) {
                        body.run(row, scratch);
                    }
                },
                Math.ceilDiv(rows, rowsPerTask));
    }
}
