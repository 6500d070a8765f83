package io.multihead.internal.attention.forward;

import io.multihead.internal.attention.AttentionBlocking;
import io.multihead.internal.attention.AttentionProblem;
import io.multihead.internal.attention.keyvalue.KeyValueSource;
import io.multihead.internal.base.Checks;
import io.multihead.internal.exec.LoopBody;
import io.multihead.internal.kernel.Lanes;
import java.util.Arrays;

/**
 * The division of one call into tasks, as a table with a line per task: some query rows of one sequence and one group of query heads, with
 * all their keys or one split of them. A task has at most {@link AttentionBlocking#TASK_ROWS} rows, or {@link
 * AttentionBlocking#TASK_ROWS_REPACKED} if a thread cannot keep packed keys from task to task. Built once per call; results do not
 * depend on it. {@link #toString} prints it.
 */
final class ForwardSchedule {
    /** Column of the table: sequence. */
    private static final int SEQUENCE = 0;
    /** Column of the table: key/value head. */
    private static final int KEY_VALUE_HEAD = 1;
    /** Column of the table: number of query rows. */
    private static final int ROWS = 2;
    /** Column of the table: index of the split among the splits of the task's rows. */
    private static final int SPLIT = 3;
    /** Column of the table: number of splits of the task's rows. */
    private static final int SPLITS = 4;

    private static final int COLUMNS = 5;

    private final SplitRange range = new SplitRange();
    private int[] table = new int[0];
    private long[] firstRows = new long[0];
    private long[] firstSplits = new long[0];
    private int tasks;
    private boolean split;
    private boolean keepsPacked;
    private long longest;
    private long mostRows;

    /** Builds the table. If the caller requests the states of splits, each split is a task, independently of its cost. */
    void build(ForwardArguments call, int threads) {
        measure(call.problem, call.source());
        int maxRows = maxRows(call);
        split = call.savesStates();
        fill(call, maxRows, threads);
        if (!split && !call.materializes() && leavesThreadsIdle(threads) && canSplit(call)) {
            split = true;
            fill(call, maxRows, threads);
        }
    }

    private int maxRows(ForwardArguments call) {
        if (Math.max(call.problem.headDim(), call.problem.valueDim()) > AttentionBlocking.WIDE_DIM) {
            return AttentionBlocking.QUERY_TILE;
        }
        return keepsPacked || call.materializes() ? AttentionBlocking.TASK_ROWS : AttentionBlocking.TASK_ROWS_REPACKED;
    }

    private void measure(AttentionProblem problem, KeyValueSource source) {
        longest = 0;
        mostRows = 0;
        for (int sequence = 0; sequence < problem.sequences(); sequence++) {
            longest = Math.max(longest, source.keys(sequence));
            mostRows = Math.max(mostRows, problem.headsPerGroup() * problem.queries(sequence));
        }
        long widths =
                (long) Lanes.roundUp(problem.headDim(), Lanes.PANEL) + Lanes.roundUp(problem.valueDim(), Lanes.PANEL);
        // the first condition keeps the product from overflowing
        keepsPacked = longest <= AttentionBlocking.PACKED_FLOATS && longest * widths <= AttentionBlocking.PACKED_FLOATS;
    }

    /** Returns whether splitting the keys may save time, because there are few tasks, each of at most one tile. */
    private boolean leavesThreadsIdle(int threads) {
        return threads > 1
                && tasks > 0
                && tasks < (long) threads * LoopBody.TASKS_PER_THREAD
                && mostRows <= AttentionBlocking.QUERY_TILE;
    }

    /** Returns whether the queries of a sequence see several splits, and the states of the splits of all sequences fit one array. */
    private boolean canSplit(ForwardArguments call) {
        AttentionProblem problem = call.problem;
        boolean several = false;
        long free = Checks.MAX_ARRAY_LENGTH / (mostRows * OnlineSoftmax.stateFloats(problem.valueDim()));
        for (int sequence = 0; sequence < problem.sequences(); sequence++) {
            if (problem.queries(sequence) > 0) {
                range.setVisible(problem, call.mask, call.source(), sequence);
                several |= range.count() > 1;
                if (range.count() > free / problem.keyValueHeads()) {
                    return false;
                }
                free -= range.count() * problem.keyValueHeads();
            }
        }
        return several;
    }

    /**
     * Fills the table. Tasks of one head group are consecutive, so that a thread finds its keys still packed. Later rows come first, since
     * under a causal mask they cost most and see every key that the others see.
     */
    private void fill(ForwardArguments call, int maxRows, int threads) {
        AttentionProblem problem = call.problem;
        tasks = 0;
        long stored = call.savesStates() ? SplitRange.stored(call.source()) : 1;
        long groups = problem.sequences() * problem.keyValueHeads() * stored;
        long wanted =
                threads == 1 || groups == 0 ? 1 : Math.ceilDiv((long) threads * LoopBody.TASKS_PER_THREAD, groups);
        for (int sequence = 0; sequence < problem.sequences(); sequence++) {
            long rows = problem.headsPerGroup() * problem.queries(sequence);
            int taskRows = rowsPerTask(rows, maxRows, wanted);
            long chunks = Math.ceilDiv(rows, (long) taskRows);
            setRange(call, sequence);
            long added = Math.multiplyExact(problem.keyValueHeads() * chunks, range.count());
            reserve(Math.toIntExact(Math.addExact(tasks, added)));
            for (int keyValueHead = 0; keyValueHead < problem.keyValueHeads(); keyValueHead++) {
                for (long chunk = chunks - 1; chunk >= 0; chunk--) {
                    long firstRow = chunk * taskRows;
                    addSplits(sequence, keyValueHead, firstRow, (int) Math.min(taskRows, rows - firstRow));
                }
            }
        }
    }

    private void setRange(ForwardArguments call, int sequence) {
        if (call.savesStates()) {
            range.setStored(call.source());
        } else if (split) {
            range.setVisible(call.problem, call.mask, call.source(), sequence);
        } else {
            range.setWhole();
        }
    }

    private static int rowsPerTask(long rows, int maxRows, long wantedTasks) {
        long chunks = Math.max(Math.ceilDiv(rows, (long) maxRows), wantedTasks);
        long tiles = Math.ceilDiv(Math.ceilDiv(rows, chunks), (long) AttentionBlocking.QUERY_TILE);
        long size = tiles * AttentionBlocking.QUERY_TILE;
        return (int) Math.min(Math.max(size, 1), maxRows);
    }

    /** Adds a task for each split of the range; {@link #reserve} has checked that their number is an int. */
    private void addSplits(int sequence, int keyValueHead, long firstRow, int rows) {
        for (int s = 0; s < range.count(); s++) {
            int line = tasks * COLUMNS;
            table[line + SEQUENCE] = sequence;
            table[line + KEY_VALUE_HEAD] = keyValueHead;
            table[line + ROWS] = rows;
            table[line + SPLIT] = s;
            table[line + SPLITS] = (int) range.count();
            firstRows[tasks] = firstRow;
            firstSplits[tasks] = range.first();
            tasks++;
        }
    }

    /** Makes room for the tasks; existing lines are kept. */
    private void reserve(int wanted) {
        if (firstRows.length < wanted) {
            int length = Math.max(wanted, Math.min(2 * tasks, Integer.MAX_VALUE / COLUMNS));
            table = Arrays.copyOf(table, Math.multiplyExact(length, COLUMNS));
            firstRows = Arrays.copyOf(firstRows, length);
            firstSplits = Arrays.copyOf(firstSplits, length);
        }
    }

    int tasks() {
        return tasks;
    }

    /** Returns whether each task has one split of the keys, whose states are saved. */
    boolean isSplit() {
        return split;
    }

    /** Returns whether a thread keeps the packed keys and values of a whole head group from task to task. */
    boolean keepsPacked() {
        return keepsPacked;
    }

    /** Returns the number of keys of the longest sequence. */
    long longest() {
        return longest;
    }

    /** Returns the largest number of query rows of a head group, which is the largest number of a task's rows if keys are split. */
    long mostRows() {
        return mostRows;
    }

    int sequence(int task) {
        return table[task * COLUMNS + SEQUENCE];
    }

    int keyValueHead(int task) {
        return table[task * COLUMNS + KEY_VALUE_HEAD];
    }

    long firstRow(int task) {
        return firstRows[task];
    }

    int rows(int task) {
        return table[task * COLUMNS + ROWS];
    }

    /** Returns the index of the task's split among the splits of its rows. */
    int split(int task) {
        return table[task * COLUMNS + SPLIT];
    }

    /** Returns the number of the task's split, counted from key 0 of the sequence. */
    long splitNumber(int task) {
        return firstSplits[task] + split(task);
    }

    /** Returns the number of splits of the task's rows. */
    int splits(int task) {
        return table[task * COLUMNS + SPLITS];
    }

    /** Returns the table, a line per task. */
    @Override
    public String toString() {
        StringBuilder text = new StringBuilder("task sequence keyValueHead rows split\n");
        for (int task = 0; task < tasks; task++) {
            long end = firstRow(task) + rows(task);
            text.append(task)
                    .append(' ')
                    .append(sequence(task))
                    .append(' ')
                    .append(keyValueHead(task))
                    .append(' ');
            text.append(firstRow(task)).append("..").append(end).append(' ');
            text.append(split(task)).append('/').append(splits(task)).append('\n');
        }
        return text.toString();
    }
}
