package io.multihead.internal.attention.backward;

import io.multihead.internal.attention.AttentionBlocking;
import io.multihead.internal.attention.AttentionProblem;
import java.util.Arrays;

/**
 * The division of one call into tasks, as a table with a line per task. Built once per call; {@link #toString} prints it.
 *
 * <p>A pair of a key block and a query block contributes to dK and dV of its keys and to dQ of its queries. Every element of dK, dV and dQ
 * belongs to one task, which adds the blocks in ascending order, so no result depends on the division. With a whole head group as one task,
 * each pair is computed once (five matrix multiplications). If there are too few head groups for the threads, tasks of key blocks and tasks
 * of query blocks compute each pair twice (seven).
 */
final class BackwardSchedule {
    /** The kinds of tasks. */
    enum Kind {
        /** All gradients of one head group. */
        GROUP,
        /** dK and dV of one key block. */
        KEYS,
        /** dQ of one query block. */
        QUERIES
    }

    private static final Kind[] KINDS = Kind.values();
    private static final int KIND = 0;
    private static final int SEQUENCE = 1;
    private static final int KEY_VALUE_HEAD = 2;
    private static final int BLOCK = 3;
    private static final int COLUMNS = 4;

    private int[] table = new int[0];
    private int tasks;

    /** Builds the table for the requested gradients. */
    void build(AttentionProblem problem, boolean ofKeys, boolean ofQueries, int threads) {
        tasks = 0;
        long groups = problem.sequences() * problem.keyValueHeads();
        if (ofKeys && ofQueries && !splits(groups, threads)) {
            add(Kind.GROUP, problem, 1);
        } else {
            add(Kind.KEYS, problem, ofKeys ? keyBlocks(problem) : 0);
            add(Kind.QUERIES, problem, ofQueries ? queryBlocks(problem) : 0);
        }
    }

    /** Returns whether computing pairs twice in small tasks ends sooner than computing them once in tasks that leave threads idle. */
    private static boolean splits(long groups, int threads) {
        return groups > 0
                && Math.ceilDiv(groups, (long) threads) * threads * AttentionBlocking.MULTIPLICATIONS_ONCE
                        > groups * AttentionBlocking.MULTIPLICATIONS_TWICE;
    }

    private void add(Kind kind, AttentionProblem problem, long blocks) {
        long wanted = tasks + problem.sequences() * problem.keyValueHeads() * blocks;
        if (table.length < wanted * COLUMNS) {
            table = Arrays.copyOf(table, Math.toIntExact(wanted * COLUMNS));
        }
        for (int sequence = 0; sequence < problem.sequences(); sequence++) {
            for (int keyValueHead = 0; keyValueHead < problem.keyValueHeads(); keyValueHead++) {
                for (int block = 0; block < blocks; block++) {
                    int line = tasks * COLUMNS;
                    table[line + KIND] = kind.ordinal();
                    table[line + SEQUENCE] = sequence;
                    table[line + KEY_VALUE_HEAD] = keyValueHead;
                    table[line + BLOCK] = block;
                    tasks++;
                }
            }
        }
    }

    static long keyBlocks(AttentionProblem problem) {
        return Math.ceilDiv(problem.keys(), (long) AttentionBlocking.BACKWARD_KEYS);
    }

    /** Returns the number of blocks of the query rows of one head group. */
    static long queryBlocks(AttentionProblem problem) {
        return Math.ceilDiv(problem.headsPerGroup() * problem.queries(), (long) AttentionBlocking.BACKWARD_QUERIES);
    }

    int tasks() {
        return tasks;
    }

    Kind kind(int task) {
        return KINDS[table[task * COLUMNS + KIND]];
    }

    int sequence(int task) {
        return table[task * COLUMNS + SEQUENCE];
    }

    int keyValueHead(int task) {
        return table[task * COLUMNS + KEY_VALUE_HEAD];
    }

    int block(int task) {
        return table[task * COLUMNS + BLOCK];
    }

    /** Returns the table, a line per task. */
    @Override
    public String toString() {
        StringBuilder text = new StringBuilder("task kind sequence keyValueHead block\n");
        for (int task = 0; task < tasks; task++) {
            text.append(task)
                    .append(' ')
                    .append(kind(task))
                    .append(' ')
                    .append(sequence(task))
                    .append(' ');
            text.append(keyValueHead(task)).append(' ').append(block(task)).append('\n');
        }
        return text.toString();
    }
}
