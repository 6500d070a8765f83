package io.multihead.internal.attention.forward;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.internal.attention.AttentionBlocking;
import io.multihead.internal.attention.AttentionProblem;
import io.multihead.internal.attention.keyvalue.TensorKeyValues;
import io.multihead.internal.attention.mask.MaskPart;
import io.multihead.internal.kernel.Lanes;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;

/** The table of forward's tasks. Each row is computed once with each split of its keys, and few tasks are split. */
class ForwardScheduleTest {
    private final ForwardSchedule schedule = new ForwardSchedule();
    private final ForwardArguments call = new ForwardArguments();

    @Test
    void theTableCanBeRead() {
        build(2, 4, 2, 100, 300, 1);
        // the 200 rows of two heads are two tasks, of which one has half of the rows, rounded up to whole tiles
        int half = Lanes.roundUp(100, AttentionBlocking.QUERY_TILE);
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
            assertTrue(schedule.rows(task) > 0 && schedule.rows(task) <= AttentionBlocking.TASK_ROWS_REPACKED);
            for (int row = 0; row < schedule.rows(task); row++) {
                String cell = schedule.sequence(task) + " " + schedule.keyValueHead(task) + " "
                        + (schedule.firstRow(task) + row) + " " + schedule.split(task);
                met.merge(cell, 1, Integer::sum);
            }
        }
        int splits = schedule.isSplit() ? Math.ceilDiv(keys, AttentionBlocking.KEY_SPLIT) : 1;
        assertEquals(sequences * keyValueHeads * group * queries * splits, met.size());
        assertTrue(met.values().stream().allMatch(count -> count == 1));
    }

    @Test
    void onlySplitsThatAQuerySeesAreTasks() {
        bind(whole(1, (1L << 42) + 500), 2, 1, null);
        bindMask(new MaskPart.Window(1000, 0));
        schedule.build(call, 4);
        assertEquals(2, schedule.tasks(), schedule.toString());
        assertEquals((1L << 32) - 1, schedule.splitNumber(0));
        assertEquals(1L << 32, schedule.splitNumber(1));
    }

    @Test
    void aWindowWithinASplitIsOneTask() {
        bind(whole(1, 1 << 20), 2, 1, null);
        bindMask(new MaskPart.Window(1000, 0));
        schedule.build(call, 4);
        assertEquals(1, schedule.tasks(), schedule.toString());
        assertFalse(schedule.isSplit());
    }

    @Test
    void keysThatNobodySeesAreOneTask() {
        bind(whole(2, 1L << 42), 2, 1, null);
        bindMask(new MaskPart.KeyLengths(new long[] {0, 3000}));
        schedule.build(call, 4);
        assertEquals("""
                task sequence keyValueHead rows split
                0 0 0 0..2 0/1
                1 1 0 0..2 0/3
                2 1 0 0..2 1/3
                3 1 0 0..2 2/3
                """, schedule.toString());
    }

    @Test
    void keysWhoseStatesFitNoArrayAreNotSplit() {
        for (long keys : new long[] {1L << 34, 1L << 42, 1L << 60}) {
            bind(whole(1, keys), 2, 1, null);
            schedule.build(call, 4);
            assertEquals(1, schedule.tasks());
            assertFalse(schedule.isSplit());
            assertFalse(schedule.keepsPacked());
        }
    }

    /** Among the buffers of a task, only queries and outputs, with their compensation terms, grow with the rows. */
    @Test
    void anIntCountsTheBuffersOfATask() {
        for (int dim :
                new int[] {AttentionBlocking.WIDE_DIM, AttentionBlocking.WIDE_DIM + 1, AttentionBlocking.MAX_DIM}) {
            bind(whole(1, 10), 2, 0, null);
            call.problem.bindQuery(tensor(1, 2, 1).broadcast(1, 2, 1000, dim), null);
            call.problem.bindKeys(1, 10, dim);
            schedule.build(call, 1);
            assertTrue(schedule.tasks() > 1);
            for (int task = 0; task < schedule.tasks(); task++) {
                long rows = Lanes.roundUp(schedule.rows(task), Lanes.ROW_STEP) + Lanes.ROW_STEP;
                assertTrue(rows * 2 * dim <= Integer.MAX_VALUE, schedule.toString());
                assertTrue(
                        rows * Math.ceilDiv(dim, AttentionBlocking.DIM_CHUNK) * Lanes.ROW <= Integer.MAX_VALUE,
                        schedule.toString());
            }
        }
    }

    /** Packed sequences have random numbers of queries and keys. Some sequences have no query or no key. */
    @Property(tries = 200)
    void tasksAreTheSplitsThatSomeQuerySees(
            @ForAll long seed, @ForAll @IntRange(min = 1, max = 4) int sequences, @ForAll boolean causal) {
        Random random = new Random(seed);
        long[] queries = new long[sequences + 1];
        long[] keys = new long[sequences + 1];
        for (int sequence = 0; sequence < sequences; sequence++) {
            queries[sequence + 1] = queries[sequence] + random.nextInt(5);
            keys[sequence + 1] = keys[sequence] + random.nextInt(4) * random.nextInt(4000);
        }
        Tensor tokens = keys(1, 1, keys[sequences]);
        bind(TensorKeyValues.packed(tokens, tokens, keys), 2, queries[sequences], queries);
        long left = random.nextInt(3000);
        bindMask(new MaskPart.Window(left, causal ? 0 : random.nextInt(3000)));
        schedule.build(call, 8);
        Set<String> expected = new HashSet<>();
        for (int sequence = 0; sequence < sequences; sequence++) {
            addSplits(expected, sequence, queries[sequence + 1] - queries[sequence]);
        }
        Set<String> actual = new HashSet<>();
        for (int task = 0; task < schedule.tasks(); task++) {
            assertTrue(actual.add(schedule.sequence(task) + " " + schedule.splitNumber(task)), schedule.toString());
        }
        assertEquals(schedule.isSplit() ? expected : actual, actual);
        assertTrue(schedule.isSplit() || expected.size() <= sequences, schedule.toString());
    }

    /**
     * Adds the split of each key between the first and the last key that a query sees, or one split if no query sees a
     * key.
     */
    private void addSplits(Set<String> splits, int sequence, long queries) {
        long end = call.mask.end(sequence, call.source().keys(sequence));
        long offset = call.mask.offset(sequence, queries, end);
        boolean any = false;
        for (long query = 0; query < queries; query++) {
            long last = call.mask.visibleKeys(query, offset, end);
            for (long key = call.mask.firstKey(query, offset); key < last; key++) {
                any = true;
                splits.add(sequence + " " + key / AttentionBlocking.KEY_SPLIT);
            }
        }
        if (queries > 0 && !any) {
            splits.add(sequence + " " + call.mask.firstKey(0, offset) / AttentionBlocking.KEY_SPLIT);
        }
    }

    private void build(int sequences, int heads, int keyValueHeads, int queries, int keys, int threads) {
        Tensor key = keys(sequences, keyValueHeads, keys);
        bind(new TensorKeyValues(key, key), heads, queries, null);
        schedule.build(call, threads);
    }

    private void bind(TensorKeyValues keyValues, int heads, long queries, long[] offsets) {
        long batch = offsets == null ? keyValues.sequences() : 1;
        call.bindSource(keyValues);
        call.problem.bindQuery(tensor(batch, heads, queries), offsets);
        call.problem.bindKeys(keyValues.heads(), keyValues.maxKeys(), 1);
        bindMask();
    }

    private void bindMask(MaskPart... parts) {
        AttentionProblem problem = call.problem;
        call.mask.bind(List.of(parts), problem.sequences(), problem.heads(), problem.queries(), problem.keys());
    }

    private static TensorKeyValues whole(int sequences, long keys) {
        Tensor key = keys(sequences, 1, keys);
        return new TensorKeyValues(key, key);
    }

    /** Returns keys that all repeat one stored element. */
    private static Tensor keys(long batch, long heads, long keys) {
        return tensor(1, 1, 1).broadcast(batch, heads, keys, 1);
    }

    private static Tensor tensor(long batch, long heads, long rows) {
        return Tensor.allocate(Arena.ofAuto(), DType.F32, Shape.of(batch, heads, rows, 1));
    }
}
