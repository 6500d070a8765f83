package io.multihead.attention;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** Errors of attention over shards name the argument and occur before anything is written. */
class AttentionSplitsTest {
    private static final Compute CPU = Compute.serial();
    private static final float UNTOUCHED = 42;
    private static final int KEYS = 2500;

    private final Tensor query = ones(1, 2, 1, 3);
    private final Tensor key = ones(1, 1, KEYS, 3);
    private final Tensor value = ones(1, 1, KEYS, 4);
    private final float[] results = filled(2 * 4);
    private final Tensor output = Tensor.of(results, 1, 2, 1, 4);

    private static float[] filled(int count) {
        float[] values = new float[count];
        Arrays.fill(values, UNTOUCHED);
        return values;
    }

    private static Tensor ones(long... dims) {
        float[] values = new float[(int) Shape.of(dims).elements()];
        Arrays.fill(values, 1f);
        return Tensor.of(values, dims);
    }

    private KeyValueView shard(long from, long to) {
        return KeyValueView.of(key.slice(2, from, to), value.slice(2, from, to)).shard(from);
    }

    private Tensor states(long from, long to, AttentionOptions options) {
        KeyValueView shard = shard(from, to);
        Shape shape = AttentionSplits.shape(query, shard);
        Tensor states = Tensor.of(new float[(int) shape.elements()], shape.toArray());
        AttentionSplits.forward(CPU, query, shard, states, options);
        return states;
    }

    private Tensor states(long from, long to) {
        return states(from, to, AttentionOptions.DEFAULT);
    }

    private void rejected(String message, Tensor... states) {
        rejected(message, () -> AttentionSplits.merge(CPU, List.of(states), AttentionOutputs.of(output)));
    }

    private void rejected(String message, Executable call) {
        String actual = assertThrows(IllegalArgumentException.class, call).getMessage();
        assertEquals(message, actual);
        assertArrayEquals(filled(results.length), results);
    }

    @Test
    void shapeHasARowForEachSplit() {
        // a row has 2 x 32 numbers for the output of 4 elements and its compensation, 32 sums, the maximum, and four
        // more
        assertEquals(Shape.of(1, 2, 1, 3, 101), AttentionSplits.shape(query, shard(0, KEYS)));
        assertEquals(Shape.of(1, 2, 1, 1, 101), AttentionSplits.shape(query, shard(2048, KEYS)));
        assertEquals(Shape.of(1, 2, 1, 1, 101), AttentionSplits.shape(query, shard(2048, 2048)));
    }

    @Test
    void noKeysAtAllLeaveTheSinks() {
        AttentionOptions sinks = AttentionOptions.DEFAULT.withScores(ScoreOptions.NONE.withSinks(0.5f, -2f));
        Tensor logSumExp = Tensor.of(new double[2], 1, 2, 1);
        AttentionSplits.merge(
                CPU, List.of(states(0, 0, sinks)), AttentionOutputs.of(output).withLogSumExp(logSumExp));
        assertArrayEquals(new float[8], results);
        assertEquals(0.5, logSumExp.get(0, 0, 0));
        assertEquals(-2, logSumExp.get(0, 1, 0));
    }

    @Test
    void shardsBeginAtSplits() {
        String expected = "; expected a multiple of 1024 from 0 to 17179869184";
        KeyValueView whole = KeyValueView.of(key, value);
        rejected("firstKey: 1000" + expected, () -> whole.shard(1000));
        rejected("firstKey: -1024" + expected, () -> whole.shard(-1024));
        rejected("firstKey: 17179870208" + expected, () -> whole.shard((1L << 34) + 1024));
        IllegalStateException twice = assertThrows(
                IllegalStateException.class, () -> whole.shard(1024).shard(1024));
        assertEquals("keyValues: a shard from key 1024; expected whole sequences", twice.getMessage());
    }

    @Test
    void contextsHaveAtMost2To34Keys() {
        KeyValueView end =
                KeyValueView.of(key.slice(2, 0, 0), value.slice(2, 0, 0)).shard(1L << 34);
        assertEquals(Shape.of(1, 2, 1, 1, 101), AttentionSplits.shape(query, end));
        KeyValueView beyond =
                KeyValueView.of(key.slice(2, 0, 1), value.slice(2, 0, 1)).shard(1L << 34);
        String message = "shard: keys to 17179869185; expected at most 17179869184";
        rejected(message, () -> AttentionSplits.shape(query, beyond));
        Tensor states = Tensor.of(new float[202], 1, 2, 1, 1, 101);
        rejected(message, () -> AttentionSplits.forward(CPU, query, beyond, states, AttentionOptions.DEFAULT));
    }

    @Test
    void aQueryOfAnotherShapeHasNoStates() {
        KeyValueView shard = shard(0, KEYS);
        for (Tensor wrong : List.of(query.slice(3, 0, 1), query.select(0, 0), query.broadcast(2, 2, 1, 3))) {
            String message = assertThrows(IllegalArgumentException.class, () -> AttentionSplits.shape(wrong, shard))
                    .getMessage();
            assertTrue(message.startsWith("query: "), message);
        }
    }

    @Test
    void shardsCountTheKeysBeforeThem() {
        KeyValueView shard = shard(1024, KEYS);
        assertEquals(KEYS, shard.keys(0));
        assertEquals(KEYS, shard.maxKeys());
        assertEquals(1024, shard.firstKey(0));
    }

    @Test
    void missingDoubledAndUnorderedShardsAreErrors() {
        Tensor first = states(0, 1024);
        Tensor second = states(1024, 2048);
        Tensor third = states(2048, KEYS);
        String order = ": states of all shards, once and in order of keys";
        rejected("states[0]: split 1; expected split 0" + order, second, third);
        rejected("states[1]: split 2; expected split 1" + order, first, third);
        rejected("states[1]: split 0; expected split 1" + order, first, first);
        rejected("states[1]: split 2; expected split 1" + order, first, third, second);
        rejected("states: none; expected the states of at least one shard");
    }

    @Test
    void onlyTheLastShardMayEndWithinASplit() {
        rejected(
                "states[1]: split 1 after a split of 1000 keys; expected whole splits of 1024 keys before the last",
                states(0, 1000),
                states(1024, 2048));
    }

    @Test
    void shardsOfOtherOptionsAreErrors() {
        Tensor first = states(0, 1024);
        Tensor scaled = states(1024, 2048, AttentionOptions.DEFAULT.withScale(0.25));
        rejected("states[1]: scale 0.25; expected 0.57735026, as in states[0]: options of one call", first, scaled);
        AttentionOptions sinks = AttentionOptions.DEFAULT.withScores(ScoreOptions.NONE.withSinks(1f, 2f));
        rejected(
                "states[1]: sink 1.0; expected -Infinity, as in states[0]: options of one call",
                first,
                states(1024, 2048, sinks));
    }

    @Test
    void whatIsNoStateIsAnError() {
        rejected(
                "states[0]: scale 0.0; expected states that AttentionSplits.forward wrote",
                Tensor.of(new float[202], 1, 2, 1, 1, 101));
        rejected(
                "states[0]: " + query + "; expected F32 of shape [1, 2, 1, splits, 101], for output [1, 2, 1, 4]",
                query);
        Tensor wide = Tensor.of(new double[202], 1, 2, 1, 1, 101);
        rejected(
                "states[0]: " + wide + "; expected F32 of shape [1, 2, 1, splits, 101], for output [1, 2, 1, 4]", wide);
        Tensor empty = states(0, 1024).slice(3, 0, 0);
        rejected("states[0] splits: 0; expected at least 1", empty);
    }

    @Test
    void outputsThatStatesDoNotHoldAreErrors() {
        Tensor first = states(0, 1024);
        Tensor keys = ones(1, 2, 1, 1024);
        String expected = "; expected only output and logSumExp, since states have no weights and scores";
        AttentionOutputs weights = AttentionOutputs.of(output).withWeights(keys);
        rejected("outputs: weights" + expected, () -> AttentionSplits.merge(CPU, List.of(first), weights));
        AttentionOutputs scores = AttentionOutputs.of(output).withScores(keys, ScoreStage.MASKED);
        rejected("outputs: scores" + expected, () -> AttentionSplits.merge(CPU, List.of(first), scores));
        AttentionOutputs rows = AttentionOutputs.of(output).withLogSumExp(ones(1, 2, 2));
        rejected(
                "logSumExp: shape [1, 2, 2]; expected the first three sizes of output [1, 2, 1, 4]",
                () -> AttentionSplits.merge(CPU, List.of(first), rows));
    }

    @Test
    void statesOfAnotherShapeOrTypeAreErrors() {
        KeyValueView shard = shard(0, KEYS);
        float[] memory = filled(2 * 3 * 101);
        Tensor flat = Tensor.of(memory, 1, 2, 3, 1, 101);
        rejectedStates(flat, shard);
        assertArrayEquals(filled(memory.length), memory);
        for (int axis = 0; axis < 5; axis++) {
            long[] dims = {1, 2, 1, 3, 101};
            dims[axis]++;
            rejectedStates(Tensor.of(new float[(int) Shape.of(dims).elements()], dims), shard);
        }
        rejectedStates(Tensor.of(new float[memory.length], 2, 1, 3, 101), shard);
        rejectedStates(Tensor.of(new double[memory.length], 1, 2, 1, 3, 101), shard);
    }

    private void rejectedStates(Tensor states, KeyValueView shard) {
        rejected(
                "states: " + states + "; expected F32 of shape [1, 2, 1, 3, 101]",
                () -> AttentionSplits.forward(CPU, query, shard, states, AttentionOptions.DEFAULT));
    }

    @Test
    void resultsInMemoryOfStatesAreErrors() {
        Tensor states = states(0, KEYS);
        float[] before = states.toArray();
        Tensor over = states.select(3, 2).slice(3, 1, 5);
        String message = assertThrows(
                        IllegalArgumentException.class,
                        () -> AttentionSplits.merge(CPU, List.of(states), AttentionOutputs.of(over)))
                .getMessage();
        assertEquals("output: " + over + " overlaps states[0]; expected separate memory", message);
        Tensor logSumExp = states.select(3, 0).select(3, 100);
        rejected(
                "logSumExp: " + logSumExp + " overlaps states[0]; expected separate memory",
                () -> AttentionSplits.merge(
                        CPU, List.of(states), AttentionOutputs.of(output).withLogSumExp(logSumExp)));
        assertArrayEquals(before, states.toArray());
    }

    @Test
    void positionsFromTheEndAreErrors() {
        KeyValueView shard = shard(0, KEYS);
        float[] memory = filled(2 * 3 * 101);
        Tensor states = Tensor.of(memory, 1, 2, 1, 3, 101);
        List<AttentionOptions> aligned = List.of(
                AttentionOptions.CAUSAL,
                AttentionOptions.DEFAULT.withMask(Mask.window(3, 3)),
                AttentionOptions.DEFAULT.withScores(ScoreOptions.NONE.withSlopes(1f, 2f)));
        for (AttentionOptions options : aligned) {
            rejected(
                    "mask: causal, a window or linear biases without queryOffset; expected queryOffset, since a shard does"
                            + " not know how many keys follow",
                    () -> AttentionSplits.forward(CPU, query, shard, states, options));
            assertArrayEquals(filled(memory.length), memory);
            AttentionOptions offset = options.withMask(options.mask().and(Mask.queryOffset(KEYS)));
            AttentionSplits.forward(CPU, query, shard, states, offset);
            assertTrue(memory[0] != UNTOUCHED);
            Arrays.fill(memory, UNTOUCHED);
        }
    }

    @Test
    void maskOfTheWholeContextIsAnError() {
        AttentionOptions whole = AttentionOptions.DEFAULT.withMask(Mask.bias(Tensor.of(new float[KEYS], KEYS)));
        KeyValueView shard = shard(0, 1024);
        Tensor states = Tensor.of(new float[202], 1, 2, 1, 1, 101);
        rejected(
                "mask: shape [2500]; expected a shape that broadcasts to (batch, heads, queries, keys) = [1, 2, 1, 1024]",
                () -> AttentionSplits.forward(CPU, query, shard, states, whole));
    }
}
