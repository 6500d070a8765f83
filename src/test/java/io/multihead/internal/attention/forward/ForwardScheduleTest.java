package io.multihead.internal.attention.forward;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.internal.attention.AttentionProblem;
import io.multihead.internal.attention.Blocking;
import io.multihead.internal.attention.keyvalue.TensorKeyValues;
import io.multihead.internal.kernel.Lanes;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.HashMap;
import java.util.Map;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;

/** The table of forward's tasks: every row meets every split of its keys once, and few tasks are split. */
class ForwardScheduleTest {
    private final ForwardSchedule schedule = new ForwardSchedule();

    @Test
    void theTableCanBeRead() {
        build(2, 4, 2, 100, 300, 1);
        // the 200 rows of two heads are two tasks; the first has its half of them, rounded up to whole tiles
        int half = Lanes.roundUp(100, Blocking.QUERY_TILE);
        assertEquals("""
                task sequence keyValueHead rows split
                0 0 0 HALF..200 0/1
                1 0 0 0..HALF 0/1
                2 0 1 HALF..200 0/1
                3 0 1 0..HALF 0/1
                4 1 0 HALF..200 0/1
                5 1 0 0..HALF 0/1
                6 1 1 HALF..200 0/1
                7 1 1 0..HALF 0/1
                """.replace("HALF", String.valueOf(half)), schedule.toString());
    }

    @Test
    void aDecodeStepWithFewHeadsIsSplitAlongTheKeys() {
        build(1, 2, 1, 1, 2500, 4);
        assertEquals("""
                task sequence keyValueHead rows split
                0 0 0 0..2 0/3
                1 0 0 0..2 1/3
                2 0 0 0..2 2/3
                """, schedule.toString());
        assertTrue(schedule.isSplit());
    }

    @Property(tries = 200)
    void everyRowMeetsEverySplitOnce(
            @ForAll @IntRange(max = 3) int sequences,
            @ForAll @IntRange(min = 1, max = 3) int keyValueHeads,
            @ForAll @IntRange(min = 1, max = 3) int group,
            @ForAll @IntRange(max = 600) int queries,
            @ForAll @IntRange(max = 5000) int keys,
            @ForAll @IntRange(min = 1, max = 8) int threads) {
        build(sequences, keyValueHeads * group, keyValueHeads, queries, keys, threads);
        Map<String, Integer> met = new HashMap<>();
        for (int task = 0; task < schedule.tasks(); task++) {
            assertTrue(schedule.rows(task) > 0 && schedule.rows(task) <= Blocking.TASK_ROWS_REPACKED);
            for (int row = 0; row < schedule.rows(task); row++) {
                String cell = schedule.sequence(task) + " " + schedule.keyValueHead(task) + " "
                        + (schedule.firstRow(task) + row) + " " + schedule.split(task);
                met.merge(cell, 1, Integer::sum);
            }
        }
        int splits = schedule.isSplit() ? Math.ceilDiv(keys, Blocking.KEY_SPLIT) : 1;
        assertEquals(sequences * keyValueHeads * group * queries * splits, met.size());
        assertTrue(met.values().stream().allMatch(count -> count == 1));
    }

    private void build(int sequences, int heads, int keyValueHeads, int queries, int keys, int threads) {
        AttentionProblem problem = new AttentionProblem();
        problem.bindQuery(tensor(sequences, heads, queries), null);
        problem.bindKeys(keyValueHeads, keys, 1);
        Tensor key = tensor(sequences, keyValueHeads, keys);
        schedule.build(problem, new TensorKeyValues(key, key), false, false, threads);
    }

    private static Tensor tensor(long batch, long heads, long rows) {
        return Tensor.allocate(Arena.ofAuto(), DType.F32, Shape.of(batch, heads, rows, 1));
    }
}
