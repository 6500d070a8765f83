package io.multihead.internal.gemm;

import static io.multihead.internal.gemm.Blocking.KEPT_B;
import static io.multihead.internal.gemm.Blocking.NC;
import static io.multihead.internal.gemm.Blocking.NC_MIN;
import static io.multihead.internal.gemm.Blocking.NR;
import static io.multihead.internal.gemm.Blocking.TASKS_PER_THREAD;
import static io.multihead.internal.gemm.Blocking.TASK_ROWS;
import static io.multihead.internal.gemm.Blocking.TASK_STEP;
import static io.multihead.internal.kernel.Lanes.ROW_STEP;

import io.multihead.internal.base.Checks;
import io.multihead.internal.kernel.Lanes;

/**
 * The division of C into tasks: blocks of rows and columns of one batch. k is never divided, so no result depends on the division.
 *
 * <p>Tasks of the same columns are a strip, and are consecutive. A thread keeps the columns of B that it has packed for one task for the
 * next task of the same strip; therefore threads take strips as described in {@link io.multihead.internal.exec.LoopBody#strips}.
 */
public final class TaskGrid {
    private long rowBlocks;
    private long tasksOfStrip;
    private int taskRows;
    private int taskColumns;
    private int strips;
    private boolean keepsPackedB;

    public TaskGrid() {}

    /**
     * Divides C; the longer side of a task is halved until every thread has its share.
     *
     * @return the number of tasks
     */
    public long divide(GemmProblem problem, int parallelism) {
        strips = 0;
        if (problem.m == 0 || problem.n == 0 || problem.batches() == 0) {
            return 0;
        }
        taskRows = evenly(problem.m, TASK_ROWS, problem.m > TASK_ROWS ? TASK_STEP : ROW_STEP);
        taskColumns = evenly(problem.n, maxColumns(problem, parallelism), NR);
        while (parallelism > 1 && count(problem) < (long) parallelism * TASKS_PER_THREAD) {
            if (taskRows >= taskColumns && taskRows > ROW_STEP) {
                taskRows = Lanes.roundUp(taskRows / 2, ROW_STEP);
            } else if (taskColumns > NR) {
                taskColumns = Lanes.roundUp(taskColumns / 2, NR);
            } else {
                break;
            }
        }
        long tasks = count(problem);
        keepsPackedB = problem.k * taskColumns <= KEPT_B && problem.rowsOfEachB() > taskRows;
        return tasks;
    }

    private long count(GemmProblem problem) {
        rowBlocks = Math.ceilDiv(problem.m, (long) taskRows);
        strips = Checks.fitsInt(Math.ceilDiv(problem.n, (long) taskColumns), "columns of c");
        tasksOfStrip = problem.batches() * rowBlocks;
        return tasksOfStrip * strips;
    }

    /** Returns the size of parts that are at most {@code max}, all but the last equal, and multiples of {@code step}. */
    private static int evenly(long size, int max, int step) {
        long parts = Math.ceilDiv(size, (long) max);
        return Lanes.roundUp((int) Math.ceilDiv(size, parts), step);
    }

    /** Returns the columns of one strip per thread: few enough to keep B packed, and enough that A is not read too often. */
    private int maxColumns(GemmProblem problem, int parallelism) {
        long max = Math.ceilDiv(problem.n, (long) parallelism);
        if (!problem.isPacked() && problem.rowsOfEachB() > taskRows) {
            max = Math.min(max, KEPT_B / Math.max(1, problem.k) / NR * NR);
        }
        return Math.clamp(max, NC_MIN, NC);
    }

    /** Returns whether a thread keeps all depth blocks of a task's columns of B packed, because other tasks read them, too. */
    boolean keepsPackedB() {
        return keepsPackedB;
    }

    public int strips() {
        return strips;
    }

    long batch(long task) {
        return task % tasksOfStrip / rowBlocks;
    }

    long firstRow(long task) {
        return task % tasksOfStrip % rowBlocks * taskRows;
    }

    long firstColumn(long task) {
        return task / tasksOfStrip * taskColumns;
    }

    /** Returns the rows of a task that begins at {@code row}. */
    int rows(GemmProblem problem, long row) {
        return (int) Math.min(taskRows, problem.m - row);
    }

    /** Returns the columns of a task that begins at {@code column}. */
    int columns(GemmProblem problem, long column) {
        return (int) Math.min(taskColumns, problem.n - column);
    }
}
