package io.multihead.internal.attention.forward;

import io.multihead.internal.attention.AttentionProblem;
import io.multihead.internal.attention.Blocking;
import io.multihead.internal.attention.keyvalue.KeyValueSource;
import io.multihead.internal.kernel.Lanes;

/**
 * The division of one call into tasks, as a table with a line per task: up to 192 query rows of one sequence and one group of
 * query heads, all their keys or one split of them. Built once per call; results do not depend on it. {@link #toString} prints it.
 */
final class ForwardSchedule {
    /** Sequence, key/value head, number of rows, split, and number of splits of a task. */
    private static final int SEQUENCE = 0;

    private static final int KEY_VALUE_HEAD = 1;
    private static final int ROWS = 2;
    private static final int SPLIT = 3;
    private static final int SPLITS = 4;
    private static final int COLUMNS = 5;

    private int[] table = new int[0];
    private long[] firstRows = new long[0];
    private int tasks;
    private boolean split;
    private long firstSplit;
    private boolean keepsPacked;
    private long longest;
    private long mostRows;

    /**
     * Builds the table.
     *
     * @param materialised whether all scores of a task are held at once, because weights or scores are wanted
     * @param saving whether the states of splits are wanted, so that each split is a task whatever that costs
     */
    void build(AttentionProblem problem, KeyValueSource source, boolean materialised, boolean saving, int threads) {
        measure(problem, source);
        int maxRows = keepsPacked || materialised ? Blocking.TASK_ROWS : Blocking.TASK_ROWS_REPACKED;
        split = saving;
        fill(problem, source, maxRows, saving, threads);
        if (!saving && leavesThreadsIdle(threads) && !materialised) {
            split = true;
            fill(problem, source, maxRows, saving, threads);
        }
    }

    private void measure(AttentionProblem problem, KeyValueSource source) {
        longest = 0;
        mostRows = 0;
        firstSplit = source.start() / Blocking.KEY_SPLIT;
        for (int sequence = 0; sequence < problem.sequences(); sequence++) {
            longest = Math.max(longest, source.keys(sequence));
            mostRows = Math.max(mostRows, problem.headsPerGroup() * problem.queries(sequence));
        }
        int widths = Lanes.roundUp(problem.headDim(), Lanes.PANEL) + Lanes.roundUp(problem.valueDim(), Lanes.PANEL);
        keepsPacked = longest * widths <= Blocking.PACKED_FLOATS;
    }

    /** Returns whether there are so few tasks, each of one tile at most, that splitting the keys pays. */
    private boolean leavesThreadsIdle(int threads) {
        return threads > 1
                && tasks > 0
                && tasks < (long) threads * Blocking.TASKS_PER_THREAD
                && mostRows <= Blocking.QUERY_TILE
                && longest - firstSplit * Blocking.KEY_SPLIT > Blocking.KEY_SPLIT;
    }

    /**
     * Tasks of one head group follow each other, so that a thread finds its keys still packed; later rows first, since under a
     * causal mask they cost most and see every key that the others see.
     */
    private void fill(AttentionProblem problem, KeyValueSource source, int maxRows, boolean saving, int threads) {
        tasks = 0;
        long groups = problem.sequences() * problem.keyValueHeads() * (saving ? splits(source, source.maxKeys()) : 1);
        long wanted =
                threads == 1 || groups == 0 ? 1 : Math.ceilDiv((long) threads * Blocking.TASKS_PER_THREAD, groups);
        for (int sequence = 0; sequence < problem.sequences(); sequence++) {
            long rows = problem.headsPerGroup() * problem.queries(sequence);
            int taskRows = rowsPerTask(rows, maxRows, wanted);
            long chunks = Math.ceilDiv(rows, (long) taskRows);
            int splits = split ? splits(source, saving ? source.maxKeys() : source.keys(sequence)) : 1;
            reserve(Math.addExact(tasks, Math.toIntExact(problem.keyValueHeads() * chunks * splits)));
            for (int keyValueHead = 0; keyValueHead < problem.keyValueHeads(); keyValueHead++) {
                for (long chunk = chunks - 1; chunk >= 0; chunk--) {
                    long firstRow = chunk * taskRows;
                    for (int s = 0; s < splits; s++) {
                        add(sequence, keyValueHead, firstRow, (int) Math.min(taskRows, rows - firstRow), s, splits);
                    }
                }
            }
        }
    }

    /** Returns the number of splits from the first stored key to {@code end}; one if there are no keys. */
    static int splits(KeyValueSource source, long end) {
        return (int) Math.max(1, Math.ceilDiv(end - source.start(), (long) Blocking.KEY_SPLIT));
    }

    private static int rowsPerTask(long rows, int maxRows, long wantedTasks) {
        long chunks = Math.max(Math.ceilDiv(rows, (long) maxRows), wantedTasks);
        long size = Math.ceilDiv(Math.ceilDiv(rows, chunks), (long) Blocking.QUERY_TILE) * Blocking.QUERY_TILE;
        return (int) Math.min(Math.max(size, 1), maxRows);
    }

    private void add(int sequence, int keyValueHead, long firstRow, int rows, int splitIndex, int splits) {
        int line = tasks * COLUMNS;
        table[line + SEQUENCE] = sequence;
        table[line + KEY_VALUE_HEAD] = keyValueHead;
        table[line + ROWS] = rows;
        table[line + SPLIT] = splitIndex;
        table[line + SPLITS] = splits;
        firstRows[tasks] = firstRow;
        tasks++;
    }

    /** Makes room for the tasks; lines that are filled in already are kept. */
    private void reserve(int wanted) {
        if (firstRows.length < wanted) {
            int length = Math.max(wanted, Math.min(2 * tasks, Integer.MAX_VALUE / COLUMNS));
            table = java.util.Arrays.copyOf(table, Math.multiplyExact(length, COLUMNS));
            firstRows = java.util.Arrays.copyOf(firstRows, length);
        }
    }

    int tasks() {
        return tasks;
    }

    /** Returns whether each task has one split of the keys, whose states are saved. */
    boolean isSplit() {
        return split;
    }

    /** Returns the number of the split that tasks count theirs from: keys before it are not stored in the source. */
    long firstSplit() {
        return firstSplit;
    }

    /** Returns whether a thread keeps the packed keys and values of a whole head group from task to task. */
    boolean keepsPacked() {
        return keepsPacked;
    }

    /** Returns the number of keys of the longest sequence. */
    long longest() {
        return longest;
    }

    /** Returns the most query rows of a head group, which is the most of a task when keys are split. */
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

    int split(int task) {
        return table[task * COLUMNS + SPLIT];
    }

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
