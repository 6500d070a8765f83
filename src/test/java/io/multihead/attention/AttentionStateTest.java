package io.multihead.attention;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Merges in which one state saw no key, or has a weight that rounds to 0. */
class AttentionStateTest {
    private static final Compute CPU = Compute.serial();
    private static final double NO_KEYS = Double.NEGATIVE_INFINITY;

    private static AttentionState state(float output, double logSumExp) {
        return new AttentionState(
                Tensor.of(new float[] {output}, 1, 1, 1, 1), Tensor.of(new double[] {logSumExp}, 1, 1, 1));
    }

    private static AttentionState merge(AttentionState left, AttentionState right) {
        Tensor output = Tensor.zeros(Arena.ofAuto(), DType.F32, 1, 1, 1, 1);
        Tensor logSumExp = Tensor.zeros(Arena.ofAuto(), DType.F64, 1, 1, 1);
        AttentionState merged = new AttentionState(output, logSumExp);
        AttentionState.merge(CPU, left, right, merged);
        return merged;
    }

    /** Merges in both orders, checks that the results are equal, and returns the output and log-sum-exp. */
    private static double[] mergeBothWays(AttentionState one, AttentionState other) {
        AttentionState merged = merge(one, other);
        AttentionState swapped = merge(other, one);
        double[] results = {merged.output().get(0, 0, 0, 0), merged.logSumExp().get(0, 0, 0)};
        assertEquals(results[0], swapped.output().get(0, 0, 0, 0));
        assertEquals(results[1], swapped.logSumExp().get(0, 0, 0));
        return results;
    }

    @ParameterizedTest
    @CsvSource({"-0.0", "0.0", "NaN", "-Infinity", "1e-45", "0.1"})
    void theOnlyStateThatSawKeysKeepsItsBits(float output) {
        double[] merged = mergeBothWays(state(output, 1.5), state(Float.NaN, NO_KEYS));
        assertEquals(Float.floatToIntBits(output), Float.floatToIntBits((float) merged[0]));
        assertEquals(1.5, merged[1]);
    }

    @Test
    void noKeysMergeToNoKeys() {
        double[] merged = mergeBothWays(state(Float.NaN, NO_KEYS), state(7, NO_KEYS));
        assertEquals(0, merged[0]);
        assertEquals(NO_KEYS, merged[1]);
    }

    /** A value that is NaN or infinite reaches the rows that see it, even with the smallest weight, as in one call over all keys. */
    @ParameterizedTest
    @CsvSource({"NaN, 80", "NaN, 700", "NaN, 800", "Infinity, 80", "Infinity, 120", "Infinity, 800", "5, 800"})
    void valuesOfSmallWeight(float value, float score) {
        double[] merged = mergeBothWays(state(value, 0), state(3, score));
        Tensor output = Tensor.zeros(Arena.ofAuto(), DType.F32, 1, 1, 1, 1);
        Attention.forward(
                CPU,
                Tensor.of(new float[] {1}, 1, 1, 1, 1),
                Tensor.of(new float[] {0, score}, 1, 1, 2, 1),
                Tensor.of(new float[] {value, 3}, 1, 1, 2, 1),
                output,
                AttentionOptions.DEFAULT);
        double once = output.get(0, 0, 0, 0);
        assertTrue(
                merged[0] == once || !Double.isFinite(merged[0]) && !Double.isFinite(once), once + " and " + merged[0]);
        assertEquals(score, merged[1]);
    }
}
