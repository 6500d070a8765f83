package io.multihead.internal.call;

import io.multihead.compute.Compute;
import io.multihead.internal.exec.LoopBody;
import io.multihead.internal.exec.Workspace;

/**
 * A parallel loop over independent rows; a task is a range of them. A loop that is reused allocates nothing. Not thread-safe.
 */
public abstract class RowLoop implements LoopBody {
    /** The number of elements below which a task is not worth another thread: a few microseconds of element-wise work. */
    private static final long LEAST = 1 << 13;

    private long rows;
    private long rowsPerTask;

    /** Creates a loop without rows. */
    protected RowLoop() {}

    /** The operation on one row. */
    public interface Body {
        /**
         * Computes one row.
         *
         * @param row from 0
         * @param scratch the memory of the thread that computes the rows
         */
        void run(long row, Workspace scratch);
    }

    /** Runs an operation on all rows on the threads of a Compute. */
    public static void run(Compute cpu, long rows, Body body) {
        new RowLoop() {
            @Override
            protected void rows(long first, long end, Workspace scratch) {
                for (long row = first; row < end; row++) {
                    body.run(row, scratch);
                }
            }
        }.run(cpu, rows);
    }

    protected final void run(Compute cpu, long newRows) {
        run(cpu, newRows, LEAST);
    }

    /** Runs all rows on the threads of a Compute; a task has several rows if the rows are short. */
    protected final void run(Compute cpu, long newRows, long elementsPerRow) {
        rows = newRows;
        long least = LEAST / Math.max(1, elementsPerRow);
        rowsPerTask = Math.max(least, rowsPerTask(newRows, cpu.parallelism()));
        SingleCall.run(cpu, this, Math.ceilDiv(newRows, rowsPerTask));
    }

    /** Runs all rows as an open call, to whose workspace this loop belongs. */
    protected final void run(SingleCall running, Compute cpu, long newRows) {
        rows = newRows;
        rowsPerTask = rowsPerTask(newRows, cpu.parallelism());
        running.loop(this, Math.ceilDiv(newRows, rowsPerTask));
    }

    public static long rowsPerTask(long rows, int threads) {
        return Math.max(1, Math.ceilDiv(rows, threads == 1 ? 1L : (long) threads * TASKS_PER_THREAD));
    }

    @Override
    public final void run(long task, Workspace scratch) {
        long first = task * rowsPerTask;
        rows(first, Math.min(rows, first + rowsPerTask), scratch);
    }

    /** Computes the rows from {@code first} to {@code end - 1}. */
    protected abstract void rows(long first, long end, Workspace scratch);
}
