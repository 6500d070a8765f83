package io.multihead.attention;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.multihead.compute.Compute;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Diagrams of the keys that a query sees under causal masks and windows, as in the documentation. */
@Tag("lanes")
class MaskAlignmentTest {
    private static final Compute CPU = Compute.serial();

    @Test
    void causalEndsAtTheKeyLength() {
        assertSees(Mask.CAUSAL.and(Mask.keyLengths(4)), 6, "xxx---", "xxxx--");
        assertSees(Mask.keyLengths(4).and(Mask.CAUSAL), 6, "xxx---", "xxxx--");
    }

    /** Prompts of 3 and 5 tokens are padded to 5 at the end. A token sees the same keys as in a call without padding. */
    @Test
    void rightPaddedPromptsBeginAtTheirFirstToken() {
        Mask mask = Mask.CAUSAL.and(Mask.rightPadded(3, 5));
        List<String> first = List.of("x----", "xx---", "xxx--", "xxx--", "xxx--");
        List<String> second = List.of("x----", "xx---", "xxx--", "xxxx-", "xxxxx");
        assertEquals(Stream.concat(first.stream(), second.stream()).toList(), sees(mask, 2, 5, 5));
        Mask window = Mask.rightPadded(3).and(Mask.window(1, 0)).and(Mask.CAUSAL);
        assertSees(window, 5, "x----", "xx---", "-xx--", "--x--", "-----");
        // without rightPadded, queries align with the end of the keys, and the first tokens of the prompt see no key
        assertSees(Mask.CAUSAL.and(Mask.keyLengths(3)), 5, "-----", "-----", "x----", "xx---", "xxx--");
    }

    @Test
    void windowEndsAtTheKeyLength() {
        Mask window = Mask.window(1, 0);
        assertSees(window.and(Mask.keyLengths(4)), 6, "-xx---", "--xx--");
        assertSees(Mask.keyLengths(4).and(window), 6, "-xx---", "--xx--");
        assertSees(Mask.window(0, 1).and(Mask.keyLengths(4)), 6, "--xx--", "---x--");
    }

    @Test
    void theShortestOfSeveralLengthsCounts() {
        Mask lengths = Mask.keyLengths(5).and(Mask.keyLengths(3)).and(Mask.keyLengths(4));
        assertSees(lengths.and(Mask.CAUSAL), 6, "xx----", "xxx---");
    }

    @Test
    void lengthsBelowTheQueriesLeaveTheFirstQueriesWithoutKeys() {
        assertSees(Mask.CAUSAL.and(Mask.keyLengths(2)), 6, "------", "x-----", "xx----");
        assertSees(Mask.CAUSAL.and(Mask.keyLengths(0)), 6, "------", "------");
        assertSees(Mask.window(0, 1).and(Mask.keyLengths(1)), 6, "------", "x-----", "x-----");
    }

    @Test
    void topLeftDoesNotMove() {
        assertSees(Mask.CAUSAL_TOP_LEFT.and(Mask.keyLengths(2)), 6, "x-----", "xx----", "xx----");
    }

    /** Two sequences have room for 6 keys, lengths of 4 and 6, and 2 queries each. */
    @Test
    void eachBatchHasItsOwnEnd() {
        Mask mask = Mask.CAUSAL.and(Mask.keyLengths(4, 6));
        List<String> expected = List.of("xxx---", "xxxx--", "xxxxx-", "xxxxxx");
        assertEquals(expected, sees(mask, 2, 2, 6));
    }

    @Test
    void lengthsCountInPackedSequencesOfDifferentLengths() {
        Mask mask = Mask.keyLengths(4, 2).and(Mask.window(0, 0));
        assertArrayEquals(new float[] {1, 2, 3, 7}, packed(mask));
    }

    @Test
    void lengthsBeyondASequenceAreRefused() {
        Tensor tokens = positions(1, 9);
        KeyValueView view = KeyValueView.packed(tokens, tokens, PackedSequences.of(0, 6, 9));
        Tensor query = zeros(2, 1, 1, 1);
        AttentionOutputs outputs = AttentionOutputs.of(zeros(2, 1, 1, 1));
        AttentionOptions options = AttentionOptions.DEFAULT.withMask(Mask.keyLengths(4));
        IllegalArgumentException error = assertThrows(
                IllegalArgumentException.class, () -> Attention.forward(CPU, query, view, outputs, options));
        assertEquals("keyLengths: 4; expected at most the 3 keys of sequence 1", error.getMessage());
    }

    @Test
    void softmaxAlignsAsAttentionDoes() {
        Tensor probabilities = zeros(2, 6);
        AttentionOptions options = AttentionOptions.DEFAULT.withMask(Mask.CAUSAL.and(Mask.keyLengths(4)));
        Softmax.forward(CPU, zeros(2, 6), probabilities, null, options);
        assertEquals(List.of("xxx---", "xxxx--"), drawn(probabilities.toArray(), 6));
    }

    /**
     * Keys are equal and the linear bias has slope 1, so the log-sum-exp is minus the distance between the query and its only visible key.
     * This distance is 0.
     */
    @Test
    void linearBiasesAlignAsCausalMasksDo() {
        AttentionOptions options = AttentionOptions.DEFAULT
                .withMask(Mask.window(0, 0).and(Mask.keyLengths(4)))
                .withScores(ScoreOptions.NONE.withSlopes(1f));
        AttentionOutputs outputs = AttentionOutputs.of(zeros(1, 1, 2, 1)).withLogSumExp(zeros(1, 1, 2));
        Attention.forward(CPU, zeros(1, 1, 2, 1), zeros(1, 1, 6, 1), zeros(1, 1, 6, 1), outputs, options);
        assertArrayEquals(new float[2], outputs.logSumExp().toArray());
    }

    @Test
    void anOffsetMovesCausalMasks() {
        assertSees(Mask.CAUSAL.and(Mask.queryOffset(1)), 5, "xx---", "xxx--", "xxxx-");
        assertSees(Mask.queryOffset(1).and(Mask.CAUSAL), 5, "xx---", "xxx--", "xxxx-");
        assertSees(Mask.CAUSAL.and(Mask.queryOffset(-1)), 3, "---", "x--", "xx-");
        assertSees(Mask.CAUSAL.and(Mask.queryOffset(9)), 3, "xxx", "xxx");
    }

    @Test
    void anOffsetOfZeroMakesAWindowTopLeft() {
        Mask window = Mask.window(1, 0).and(Mask.queryOffset(0));
        assertSees(window, 3, "x--", "xx-", "-xx", "--x", "---");
        assertSees(window.and(Mask.CAUSAL_TOP_LEFT), 3, "x--", "xx-", "-xx", "--x", "---");
        assertSees(Mask.window(0, 1).and(Mask.queryOffset(-2)), 3, "---", "x--", "xx-", "-xx");
    }

    @Test
    void lengthsDoNotMoveExplicitPositions() {
        Mask mask = Mask.CAUSAL.and(Mask.queryOffset(2)).and(Mask.keyLengths(4));
        assertSees(mask, 6, "xxx---", "xxxx--", "xxxx--");
    }

    @Test
    void eachBatchHasItsOwnOffset() {
        List<String> expected = List.of("x---", "xx--", "xxx-", "xxxx");
        assertEquals(expected, sees(Mask.CAUSAL.and(Mask.queryOffset(0, 2)), 2, 2, 4));
    }

    /** The queries are in the middle of a sequence whose keys are complete. */
    @Test
    void offsetsMoveQueriesOfPackedSequences() {
        Mask mask = Mask.window(0, 0).and(Mask.queryOffset(2, 1));
        assertArrayEquals(new float[] {2, 3, 4, 7}, packed(mask));
    }

    @Test
    void oversizedNumbersDoNotOverflow() {
        long most = 1L << 60;
        assertSees(Mask.CAUSAL.and(Mask.queryOffset(most)), 3, "xxx");
        assertSees(Mask.window(most - 1, Long.MAX_VALUE).and(Mask.queryOffset(most)), 3, "-xx");
        assertSees(Mask.window(0, Long.MAX_VALUE).and(Mask.queryOffset(most)), 3, "---");
        assertSees(Mask.window(most - 1, most - 1).and(Mask.queryOffset(2)), 3, "xxx");
        assertSees(Mask.window(Long.MAX_VALUE, most - 1).and(Mask.queryOffset(-most)), 3, "---");
        assertSees(Mask.window(Long.MAX_VALUE, most).and(Mask.queryOffset(-most)), 3, "xxx");
    }

    @Test
    void contradictoryOffsetsAreRefused() {
        assertRefused("queryOffset: 3 offsets; expected 1 or one per batch of 2", Mask.queryOffset(1, 2, 3));
        assertRefused(
                "queryOffset: [1] and [2]; expected one of them",
                Mask.queryOffset(1).and(Mask.queryOffset(2)));
        assertRefused(
                "mask: CAUSAL_TOP_LEFT with queryOffset [0, 3]; expected CAUSAL, which follows the offset",
                Mask.queryOffset(0, 3).and(Mask.CAUSAL_TOP_LEFT));
        IllegalArgumentException error =
                assertThrows(IllegalArgumentException.class, () -> Mask.queryOffset(Long.MIN_VALUE));
        assertEquals(
                "queryOffset: -9223372036854775808; expected -1152921504606846976 to 1152921504606846976",
                error.getMessage());
    }

    /**
     * Attends with 3 queries to a packed sequence of 6 tokens, and with 1 query to a sequence of 3. Each value is the index of its token
     * among the 9.
     */
    private static float[] packed(Mask mask) {
        Tensor tokens = positions(1, 9);
        KeyValueView view = KeyValueView.packed(tokens, tokens, PackedSequences.of(0, 6, 9));
        AttentionOutputs outputs = AttentionOutputs.of(zeros(1, 1, 4, 1));
        AttentionOptions options = AttentionOptions.DEFAULT.withMask(mask);
        Attention.forward(CPU, zeros(1, 1, 4, 1), PackedSequences.of(0, 3, 4), view, outputs, options);
        return outputs.output().toArray();
    }

    private static void assertRefused(String message, Mask mask) {
        IllegalArgumentException error = assertThrows(IllegalArgumentException.class, () -> sees(mask, 2, 1, 1));
        assertEquals(message, error.getMessage());
    }

    private static void assertSees(Mask mask, int keys, String... expected) {
        assertEquals(List.of(expected), sees(mask, 1, expected.length, keys));
    }

    /**
     * Checks that the tiled path and the path that returns weights have the same output. Returns a diagram of the weights of equal scores.
     */
    private static List<String> sees(Mask mask, int batches, int queries, int keys) {
        Tensor query = zeros(batches, 1, queries, 1);
        Tensor key = zeros(batches, 1, keys, 1);
        Tensor value = positions(batches, keys);
        AttentionOptions options = AttentionOptions.DEFAULT.withMask(mask);
        Tensor tiled = zeros(batches, 1, queries, 1);
        Attention.forward(CPU, query, key, value, tiled, options);
        AttentionOutputs outputs =
                AttentionOutputs.of(zeros(batches, 1, queries, 1)).withWeights(zeros(batches, 1, queries, keys));
        Attention.forward(CPU, query, key, value, outputs, options);
        float[] weights = outputs.weights().toArray();
        for (int row = 0; row < batches * queries; row++) {
            double sum = 0;
            for (int j = 0; j < keys; j++) {
                sum += weights[row * keys + j] * j;
            }
            assertEquals(sum, tiled.toArray()[row], 1e-6);
        }
        return drawn(weights, keys);
    }

    private static List<String> drawn(float[] weights, int keys) {
        return IntStream.range(0, weights.length / keys)
                .mapToObj(row -> IntStream.range(0, keys)
                        .mapToObj(j -> weights[row * keys + j] > 0 ? "x" : "-")
                        .collect(Collectors.joining()))
                .toList();
    }

    /** Returns values {@code [batches, 1, tokens, 1]}. The value of a token is its index. */
    private static Tensor positions(int batches, int tokens) {
        Tensor tensor = Tensor.allocate(Arena.ofAuto(), DType.F32, Shape.of(batches, 1, tokens, 1));
        for (int b = 0; b < batches; b++) {
            for (int t = 0; t < tokens; t++) {
                tensor.set(t, b, 0, t, 0);
            }
        }
        return tensor;
    }

    private static Tensor zeros(long... dims) {
        return Tensor.of(new float[(int) Arrays.stream(dims).reduce(1, (a, b) -> a * b)], dims);
    }
}
