package io.multihead.nn.attention;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.attention.AttentionDropout;
import io.multihead.attention.AttentionOptions;
import io.multihead.attention.AttentionOutputs;
import io.multihead.attention.Mask;
import io.multihead.attention.ScoreOptions;
import io.multihead.compute.Compute;
import io.multihead.internal.nn.TensorArena;
import io.multihead.support.TestTensors;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Attention to the extra keys is merged with attention to the other keys, even if one or both of them have no weight.
 */
class ExtraKeysTest {
    private static final Compute CPU = Compute.serial();

    /** Returns output and log-sum-exp of one query of 1. Its extra key has the given score and the value 5. */
    private static double[] merged(double output, double logSumExp, double score) {
        MultiHeadConfig config =
                MultiHeadConfig.of(1, 1).withKeyValueBias(true).withOptions(AttentionOptions.DEFAULT.withScale(1));
        Map<String, Tensor> parameters = new HashMap<>(TestParameters.of(config, new Random(1)));
        parameters.put(LayerParameters.KEY_BIAS, one(DType.F32, score).reshape(1, 1, 1));
        parameters.put(LayerParameters.VALUE_BIAS, one(DType.F32, 5).reshape(1, 1, 1));
        Tensor row = one(DType.F32, output);
        Tensor sum = one(DType.F64, logSumExp).reshape(1, 1, 1);
        try (TensorArena arena = TensorArena.ofCall(CPU)) {
            ExtraKeys.of(LayerParameters.of(config, parameters::get))
                    .merge(
                            CPU,
                            arena,
                            one(DType.F32, 1),
                            AttentionOutputs.of(row).withLogSumExp(sum),
                            AttentionDropout.NONE,
                            null);
        }
        return new double[] {row.get(0, 0, 0, 0), sum.get(0, 0, 0)};
    }

    private static Tensor one(DType dtype, double value) {
        Tensor tensor = TestTensors.zeros(dtype, 1, 1, 1, 1);
        tensor.fill(value);
        return tensor;
    }

    @Test
    void noKeyAtAllLeavesMinusInfinity() {
        double[] merged = merged(0, Double.NEGATIVE_INFINITY, Double.NEGATIVE_INFINITY);
        assertEquals(0, merged[0]);
        assertEquals(Double.NEGATIVE_INFINITY, merged[1]);
    }

    /** Visible keys reach the row even with a tiny weight, as in one call over all keys. */
    @ParameterizedTest
    @CsvSource({"NaN, 700", "NaN, 1000", "-Infinity, 700", "-Infinity, 1000", "Infinity, 1e9"})
    void whatIsNotFiniteReachesTheRowThatSeesIt(double output, double score) {
        double[] merged = merged(output, 0, score);
        assertEquals(output, merged[0]);
        assertEquals(score, merged[1]);
    }

    @Test
    void aFiniteOutputOfNoShareIsNotFelt() {
        assertArrayEquals(new double[] {5, 1000}, merged(3, 0, 1000));
        assertArrayEquals(new double[] {3, 1000}, merged(3, 1000, 0));
    }

    /** A bias of -10,000 does not hide a key. A bias of minus infinity hides it. */
    @ParameterizedTest
    @CsvSource({"-10000, NaN", "-Infinity, 5"})
    void aBiasThatIsFiniteHidesNoValue(float bias, double expected) {
        MultiHeadConfig config = MultiHeadConfig.of(1, 1).withKeyValueBias(true);
        Map<String, Tensor> parameters = Map.of(
                LayerParameters.FUSED_WEIGHT, Tensor.of(new float[] {1, 0, 1}, 3, 1),
                LayerParameters.INPUT_BIAS, TestTensors.zeros(DType.F32, 3),
                LayerParameters.KEY_BIAS, TestTensors.zeros(DType.F32, 1, 1, 1),
                LayerParameters.VALUE_BIAS, Tensor.of(new float[] {5}, 1, 1, 1),
                LayerParameters.OUTPUT_WEIGHT, Tensor.of(new float[] {1}, 1, 1),
                LayerParameters.OUTPUT_BIAS, TestTensors.zeros(DType.F32, 1));
        Tensor y = TestTensors.zeros(DType.F32, 1, 1, 1);
        Tensor value = Tensor.of(new float[] {Float.NaN}, 1, 1, 1);
        MultiHeadAttention.of(config, parameters::get)
                .forward(
                        CPU,
                        MultiHeadInputs.of(
                                        one(DType.F32, 1).reshape(1, 1, 1),
                                        one(DType.F32, 1).reshape(1, 1, 1),
                                        value)
                                .withMask(Mask.bias(Tensor.of(new float[] {bias}, 1, 1))),
                        MultiHeadOutputs.of(y));
        assertEquals(expected, y.get(0, 0, 0));
    }

    @Test
    void theOnlyKeyTakesAll() {
        double[] merged = merged(0, Double.NEGATIVE_INFINITY, 2);
        assertEquals(5, merged[0]);
        assertEquals(2, merged[1]);
        assertEquals(3, merged(3, 2, Double.NEGATIVE_INFINITY)[0]);
    }

    /**
     * A key with the value (1, 0) and an extra key with the value (0, 1) have equal weights, so that the output shows
     * the dropped keys.
     */
    @Test
    void theyAreDroppedIndependentlyOfTheFirstKeys() {
        MultiHeadConfig config = MultiHeadConfig.of(2, 1).withKeyValueBias(true).withDropout(0.5);
        Map<String, Tensor> parameters = Map.of(
                LayerParameters.FUSED_WEIGHT, TestTensors.zeros(DType.F32, 6, 2),
                LayerParameters.INPUT_BIAS, Tensor.of(new float[] {0, 0, 0, 0, 1, 0}, 6),
                LayerParameters.KEY_BIAS, TestTensors.zeros(DType.F32, 1, 1, 2),
                LayerParameters.VALUE_BIAS, Tensor.of(new float[] {0, 1}, 1, 1, 2),
                LayerParameters.OUTPUT_WEIGHT, Tensor.of(new float[] {1, 0, 0, 1}, 2, 2),
                LayerParameters.OUTPUT_BIAS, TestTensors.zeros(DType.F32, 2));
        MultiHeadInputs inputs =
                MultiHeadInputs.of(TestTensors.zeros(DType.F32, 1, 100, 2), TestTensors.zeros(DType.F32, 1, 1, 2));
        Tensor y = TestTensors.zeros(DType.F32, 1, 100, 2);
        MultiHeadAttention.of(config, parameters::get)
                .record(CPU, inputs, MultiHeadOutputs.of(y), 3)
                .close();
        Set<List<Double>> seen = new HashSet<>();
        for (int query = 0; query < 100; query++) {
            seen.add(List.of(y.get(0, query, 0), y.get(0, query, 1)));
        }
        assertEquals(Set.of(List.of(0.0, 0.0), List.of(0.0, 1.0), List.of(1.0, 0.0), List.of(1.0, 1.0)), seen);
    }

    @Test
    void aModifierDoesNotChangeTheirScores() {
        MultiHeadConfig config = MultiHeadConfig.of(8, 2).withKeyValueBias(true).withZeroKey(true);
        ScoreOptions hidden =
                ScoreOptions.NONE.withModifier((batch, head, query, key, score) -> Float.NEGATIVE_INFINITY);
        MultiHeadAttention layer = MultiHeadAttention.initialize(
                Arena.ofAuto(), config.withOptions(AttentionOptions.DEFAULT.withScores(hidden)), 1);
        Tensor weights = TestTensors.zeros(DType.F32, 1, 3, 5);
        layer.forward(
                CPU,
                MultiHeadInputs.of(TestTensors.random(new Random(1), 1, 3, 8)),
                MultiHeadOutputs.of(TestTensors.zeros(DType.F32, 1, 3, 8)).withAverageWeights(weights));
        for (int query = 0; query < 3; query++) {
            assertEquals(0, weights.get(0, query, 0) + weights.get(0, query, 1) + weights.get(0, query, 2));
            assertEquals(1, weights.get(0, query, 3) + weights.get(0, query, 4), 0x1p-20);
        }
    }

    /**
     * Returns the gradient of the input for a loss on causal weights. The loss has the gradient {@code hidden} beyond a
     * query's position.
     */
    private static float[] throughWeights(double hidden) {
        MultiHeadConfig config = MultiHeadConfig.of(8, 2).withZeroKey(true);
        MultiHeadAttention layer = MultiHeadAttention.initialize(Arena.ofAuto(), config, 1);
        Tensor x = TestTensors.random(new Random(1), 1, 3, 8);
        Tensor upstream = TestTensors.random(new Random(2), 1, 2, 3, 4);
        for (int head = 0; head < 2; head++) {
            upstream.slice(1, head, head + 1).slice(2, 0, 1).slice(3, 1, 3).fill(hidden);
            upstream.slice(1, head, head + 1).slice(2, 1, 2).slice(3, 2, 3).fill(hidden);
        }
        MultiHeadOutputs outputs = MultiHeadOutputs.of(TestTensors.zeros(DType.F32, 1, 3, 8))
                .withHeadWeights(TestTensors.zeros(DType.F32, 1, 2, 3, 4));
        MultiHeadOutputs given =
                MultiHeadOutputs.of(TestTensors.zeros(DType.F32, 1, 3, 8)).withHeadWeights(upstream);
        Tensor dx = TestTensors.zeros(DType.F32, 1, 3, 8);
        try (MultiHeadPass pass = layer.record(CPU, MultiHeadInputs.of(x).withMask(Mask.CAUSAL), outputs, 0)) {
            pass.backward(given, MultiHeadGradients.of(dx), Map.of());
        }
        return dx.toArray();
    }

    @Test
    void theGradientOfAHiddenWeightMayBeAnything() {
        float[] expected = throughWeights(0);
        assertTrue(expected[0] != 0, "the loss depends on the input");
        assertArrayEquals(expected, throughWeights(Double.NaN));
        assertArrayEquals(expected, throughWeights(Double.POSITIVE_INFINITY));
    }
}
