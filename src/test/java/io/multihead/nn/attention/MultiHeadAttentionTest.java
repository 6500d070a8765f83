package io.multihead.nn.attention;

import static io.multihead.support.TestTensors.random;
import static io.multihead.support.TestTensors.zeros;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.attention.AttentionOptions;
import io.multihead.attention.Mask;
import io.multihead.compute.Compute;
import io.multihead.support.PyTorchMasks;
import io.multihead.support.TestTensors;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** The effects of single options. */
class MultiHeadAttentionTest {
    private final Random random = new Random(42);
    private final Compute cpu = Compute.serial();

    private MultiHeadAttention layer(MultiHeadConfig config) {
        return MultiHeadAttention.of(config, TestParameters.of(config, random)::get);
    }

    private Tensor output(MultiHeadAttention layer, MultiHeadInputs inputs, long... dims) {
        Tensor output = zeros(DType.F32, dims);
        layer.forward(cpu, inputs, MultiHeadOutputs.of(output));
        return output;
    }

    @Test
    void parameterCountIsFourTimesTheSquare() {
        MultiHeadConfig config = MultiHeadConfig.of(512, 8);
        assertEquals(4 * 512 * 512 + 4 * 512, config.parameterCount());
        assertEquals(4 * 512 * 512, config.withBias(false).parameterCount());
        assertEquals(config.parameterCount(), MultiHeadConfig.of(512, 1).parameterCount());
        assertEquals(
                512 * (512 + 128 + 128 + 512),
                config.withBias(false).withKeyValueHeads(2).parameterCount());
        MultiHeadConfig kerasLike =
                MultiHeadConfig.of(10, 3, 4).withValueDim(5).withInputDims(6, 7).withOutputShape(2, 3);
        assertEquals(12 * 10 + 12 * 6 + 15 * 7 + 39 + 6 * 15 + 6, kerasLike.parameterCount());
        assertEquals(kerasLike.parameterCount(), layer(kerasLike).parameterCount());
    }

    @Test
    void parametersComeBackAsTheyWentIn() {
        MultiHeadConfig config = MultiHeadConfig.of(8, 2).withKeyValueBias(true);
        Map<String, Tensor> given = TestParameters.of(config, random);
        Map<String, Tensor> retransposed =
                MultiHeadAttention.of(config, given::get).parameters();
        assertEquals(List.copyOf(given.keySet()), List.copyOf(retransposed.keySet()));
        given.forEach((name, tensor) -> assertSame(tensor, retransposed.get(name)));
        assertThrows(UnsupportedOperationException.class, retransposed::clear);
    }

    @Test
    void fusedAndSeparateWeightsAreTheSameLayer() {
        MultiHeadConfig config = MultiHeadConfig.of(12, 4).withKeyValueHeads(2);
        Tensor fused = random(random, 12 + 6 + 6, 12);
        Map<String, Tensor> one = new HashMap<>(Map.of("in_proj_weight", fused, "in_proj_bias", random(random, 24)));
        one.put("out_proj.weight", random(random, 12, 12));
        one.put("out_proj.bias", random(random, 12));
        Map<String, Tensor> three = new HashMap<>(one);
        three.remove("in_proj_weight");
        three.put("q_proj_weight", fused.slice(0, 0, 12));
        three.put("k_proj_weight", fused.slice(0, 12, 18));
        three.put("v_proj_weight", fused.slice(0, 18, 24));
        Tensor x = random(random, 2, 5, 12);
        MultiHeadInputs self = MultiHeadInputs.of(x);
        MultiHeadInputs threeViews = MultiHeadInputs.of(x, x.slice(0, 0, 2), x.slice(0, 0, 2));
        Tensor expected = output(MultiHeadAttention.of(config, one::get), self, 2, 5, 12);
        TestTensors.assertSame(expected, output(MultiHeadAttention.of(config, three::get), self, 2, 5, 12));
        TestTensors.assertSame(expected, output(MultiHeadAttention.of(config, one::get), threeViews, 2, 5, 12));
        TestTensors.assertSame(expected, output(MultiHeadAttention.of(config, three::get), threeViews, 2, 5, 12));
    }

    @Test
    void initializationFollowsPyTorchsDistributions() {
        MultiHeadConfig config = MultiHeadConfig.of(64, 4).withKeyValueBias(true);
        try (Arena arena = Arena.ofConfined()) {
            Map<String, Tensor> drawn =
                    MultiHeadAttention.initialize(arena, config, 42).parameters();
            assertUniform(drawn.get("in_proj_weight"), Math.sqrt(6.0 / (64 + 192)));
            assertUniform(drawn.get("out_proj.weight"), 1 / Math.sqrt(64));
            assertEquals(0, largest(drawn.get("in_proj_bias")));
            assertEquals(0, largest(drawn.get("out_proj.bias")));
            assertEquals(1 / Math.sqrt(64), deviation(drawn.get("bias_k")), 0.03);
            Map<String, Tensor> apart = MultiHeadAttention.initialize(arena, config.withInputDims(32, 16), 42)
                    .parameters();
            assertUniform(apart.get("q_proj_weight"), Math.sqrt(6.0 / (64 + 64)));
            assertUniform(apart.get("k_proj_weight"), Math.sqrt(6.0 / (64 + 32)));
            assertUniform(apart.get("v_proj_weight"), Math.sqrt(6.0 / (64 + 16)));
        }
    }

    @Test
    void initializationDependsOnTheSeedAlone() {
        MultiHeadConfig config = MultiHeadConfig.of(8, 2);
        try (Arena arena = Arena.ofConfined()) {
            Tensor first =
                    MultiHeadAttention.initialize(arena, config, 7).parameters().get("in_proj_weight");
            Tensor again =
                    MultiHeadAttention.initialize(arena, config, 7).parameters().get("in_proj_weight");
            Tensor other =
                    MultiHeadAttention.initialize(arena, config, 8).parameters().get("in_proj_weight");
            TestTensors.assertSame(first, again);
            assertNotEquals(first.get(0, 0), other.get(0, 0));
            // The first number of SplitMix64 from state 7, which Java's generator also returns.
            double unit = (new java.util.SplittableRandom(7).nextLong() >>> 11) * 0x1p-53;
            assertEquals((float) (Math.sqrt(6.0 / 32) * (2 * unit - 1)), first.get(0, 0));
        }
    }

    private static void assertUniform(Tensor tensor, double bound) {
        assertTrue(largest(tensor) <= bound, "largest " + largest(tensor) + " above " + bound);
        assertEquals(bound, largest(tensor), 0.02 * bound);
        assertEquals(bound / Math.sqrt(3), deviation(tensor), 0.04 * bound);
    }

    private static double largest(Tensor tensor) {
        double largest = 0;
        for (float value : tensor.toArray()) {
            largest = Math.max(largest, Math.abs(value));
        }
        return largest;
    }

    private static double deviation(Tensor tensor) {
        double sum = 0;
        for (float value : tensor.toArray()) {
            sum += value * value;
        }
        return Math.sqrt(sum / tensor.shape().elements());
    }

    @Test
    void inputWithoutBatchEqualsBatchOfOne() {
        for (boolean batchFirst : new boolean[] {true, false}) {
            MultiHeadConfig config =
                    MultiHeadConfig.of(6, 2).withBatchFirst(batchFirst).withZeroKey(true);
            MultiHeadAttention layer = layer(config);
            Tensor x = random(random, 4, 6);
            Tensor batched = batchFirst ? x.reshape(1, 4, 6) : x.reshape(4, 1, 6);
            Tensor weights = zeros(DType.F32, 2, 4, 5);
            Tensor mean = zeros(DType.F32, 4, 5);
            Tensor output = zeros(DType.F32, 4, 6);
            Mask mask = Mask.drop(TestTensors.flags(random, 2, 4, 4));
            MultiHeadInputs inputs = MultiHeadInputs.of(x).withMask(mask);
            layer.forward(
                    cpu,
                    inputs,
                    MultiHeadOutputs.of(output).withHeadWeights(weights).withAverageWeights(mean));
            MultiHeadInputs same = MultiHeadInputs.of(batched).withMask(mask);
            Tensor expected = output(layer, same, batched.shape().toArray());
            TestTensors.assertSame(expected.reshape(4, 6), output);
            assertEquals((weights.get(0, 1, 2) + weights.get(1, 1, 2)) / 2, mean.get(1, 2), 1e-7);
        }
    }

    @Test
    void attentionAxesChooseTheTokens() {
        MultiHeadConfig config = MultiHeadConfig.of(6, 2);
        Map<String, Tensor> parameters = TestParameters.of(config, random);
        Tensor x = random(random, 2, 3, 4, 6);
        MultiHeadAttention plain = MultiHeadAttention.of(config, parameters::get);
        for (boolean outputIsAView : new boolean[] {true, false}) {
            MultiHeadAttention rows = MultiHeadAttention.of(config.withAttentionAxes(2), parameters::get);
            MultiHeadAttention columns = MultiHeadAttention.of(config.withAttentionAxes(1), parameters::get);
            Tensor alongRows = TestTensors.guarded(DType.F32, !outputIsAView, 2, 3, 4, 6);
            Tensor alongColumns = TestTensors.guarded(DType.F32, !outputIsAView, 2, 3, 4, 6);
            rows.forward(cpu, x, alongRows);
            columns.forward(cpu, x, alongColumns);
            for (int b = 0; b < 2; b++) {
                for (int i = 0; i < 3; i++) {
                    Tensor tokens = x.select(0, b).select(0, i);
                    Tensor expected = output(plain, MultiHeadInputs.of(tokens), 4, 6);
                    TestTensors.assertSame(expected, alongRows.select(0, b).select(0, i));
                }
                for (int j = 0; j < 4; j++) {
                    Tensor tokens = x.select(0, b).select(1, j);
                    Tensor expected = output(plain, MultiHeadInputs.of(tokens), 3, 6);
                    TestTensors.assertSame(expected, alongColumns.select(0, b).select(1, j));
                }
            }
        }
    }

    @Test
    void severalAttentionAxesAreFlattenedInTheirOrder() {
        MultiHeadConfig config = MultiHeadConfig.of(6, 2).withOptions(AttentionOptions.CAUSAL);
        Map<String, Tensor> parameters = TestParameters.of(config, random);
        MultiHeadAttention plain = MultiHeadAttention.of(config, parameters::get);
        Tensor x = random(random, 2, 3, 4, 6);
        Tensor flat = output(plain, MultiHeadInputs.of(x.reshape(2, 12, 6)), 2, 12, 6);
        TestTensors.assertSame(flat.reshape(2, 3, 4, 6), output(plain, MultiHeadInputs.of(x), 2, 3, 4, 6));
        MultiHeadAttention named = MultiHeadAttention.of(config.withAttentionAxes(1, 2), parameters::get);
        TestTensors.assertSame(flat.reshape(2, 3, 4, 6), output(named, MultiHeadInputs.of(x), 2, 3, 4, 6));

        Tensor transposed = zeros(DType.F32, 2, 4, 3, 6);
        x.permute(0, 2, 1, 3).copyTo(transposed);
        Tensor expected = output(plain, MultiHeadInputs.of(transposed), 2, 4, 3, 6);
        MultiHeadAttention reversed = MultiHeadAttention.of(config.withAttentionAxes(2, 1), parameters::get);
        Tensor actual = output(reversed, MultiHeadInputs.of(x), 2, 3, 4, 6);
        TestTensors.assertSame(expected, actual.permute(0, 2, 1, 3));
    }

    @Test
    void keysMayHaveOtherTokenAxesThanQueries() {
        MultiHeadConfig config =
                MultiHeadConfig.of(6, 2).withAttentionAxes(1, 2).withOutputShape(3, 2);
        MultiHeadAttention layer = layer(config);
        Tensor query = random(random, 2, 3, 4, 6);
        Tensor memory = random(random, 2, 5, 1, 6);
        Tensor output = zeros(DType.F32, 2, 3, 4, 3, 2);
        Tensor weights = zeros(DType.F32, 2, 12, 5);
        layer.forward(
                cpu,
                MultiHeadInputs.of(query, memory, memory),
                MultiHeadOutputs.of(output).withAverageWeights(weights));
        Tensor flat = output(
                layer(layer, config.withAttentionAxes()),
                MultiHeadInputs.of(query.reshape(2, 12, 6), memory.reshape(2, 5, 6), memory.reshape(2, 5, 6)),
                2,
                12,
                3,
                2);
        TestTensors.assertSame(flat.reshape(2, 3, 4, 3, 2), output);
        assertEquals(1, sum(weights.select(0, 1).select(0, 11)), 1e-6);
    }

    private static MultiHeadAttention layer(MultiHeadAttention like, MultiHeadConfig config) {
        return MultiHeadAttention.of(config, like.parameters()::get);
    }

    private static double sum(Tensor row) {
        double sum = 0;
        for (float value : row.toArray()) {
            sum += value;
        }
        return sum;
    }

    @Test
    void permutingKeysWithTheirMaskChangesNothing() {
        MultiHeadConfig config = MultiHeadConfig.of(8, 2).withZeroKey(true).withKeyValueBias(true);
        MultiHeadAttention layer = layer(config);
        Tensor query = random(random, 2, 3, 8);
        Tensor key = random(random, 2, 5, 8);
        Tensor value = random(random, 2, 5, 8);
        Tensor bias = TestTensors.bias(random, 2, 5);
        int[] order = {3, 0, 4, 2, 1};
        MultiHeadInputs straight = MultiHeadInputs.of(query, key, value).withMask(PyTorchMasks.padding(bias));
        MultiHeadInputs permuted = MultiHeadInputs.of(query, picked(key, order), picked(value, order))
                .withMask(PyTorchMasks.padding(picked(bias, order)));
        TestTensors.assertClose(
                TestTensors.cube(output(layer, straight, 2, 3, 8)),
                TestTensors.cube(output(layer, permuted, 2, 3, 8)),
                1e-6);
    }

    private static Tensor picked(Tensor tensor, int... order) {
        Tensor result = zeros(tensor.dtype(), tensor.shape().toArray());
        for (int i = 0; i < order.length; i++) {
            tensor.select(1, order[i]).copyTo(result.select(1, i));
        }
        return result;
    }

    @Test
    void maskedKeysDoNotExist() {
        MultiHeadConfig config = MultiHeadConfig.of(8, 2).withKeyValueBias(true);
        MultiHeadAttention layer = layer(config);
        Tensor query = random(random, 1, 3, 8);
        Tensor key = random(random, 1, 5, 8);
        MultiHeadInputs clean = MultiHeadInputs.of(query, key, key).withMask(Mask.keyLengths(4));
        Tensor expected = output(layer, clean, 1, 3, 8);
        TestTensors.fill(key.slice(1, 4, 5), () -> Double.NaN);
        TestTensors.assertSame(expected, output(layer, clean, 1, 3, 8));
        Tensor four = key.slice(1, 0, 4);
        TestTensors.assertClose(
                TestTensors.cube(expected),
                TestTensors.cube(output(layer, MultiHeadInputs.of(query, four, four), 1, 3, 8)),
                1e-6);
    }

    @Test
    void nanReachesExactlyTheRowsThatSeeIt() {
        for (boolean extras : new boolean[] {false, true}) {
            MultiHeadAttention layer =
                    layer(MultiHeadConfig.of(8, 2).withZeroKey(extras).withKeyValueBias(extras));
            Tensor query = random(random, 2, 3, 8);
            Tensor key = random(random, 2, 4, 8);
            query.set(Double.NaN, 0, 1, 5);
            key.set(Double.NaN, 1, 2, 3);
            Tensor drop = zeros(DType.I8, 3, 4);
            drop.set(1, 0, 2);
            MultiHeadInputs inputs = MultiHeadInputs.of(query, key, key).withMask(Mask.drop(drop));
            Tensor output = output(layer, inputs, 2, 3, 8);
            for (int b = 0; b < 2; b++) {
                for (int i = 0; i < 3; i++) {
                    boolean hit = b == 0 ? i == 1 : i > 0;
                    assertEquals(hit, Double.isNaN(output.get(b, i, 0)), extras + " " + b + ", " + i);
                }
            }
        }
    }

    @Test
    void queryThatSeesNoKeyGivesTheOutputBias() {
        MultiHeadConfig config = MultiHeadConfig.of(8, 2);
        MultiHeadAttention layer = layer(config);
        Tensor x = random(random, 1, 3, 8);
        Tensor weights = TestTensors.guarded(DType.F32, false, 1, 2, 3, 3);
        Tensor output = zeros(DType.F32, 1, 3, 8);
        layer.forward(
                cpu,
                MultiHeadInputs.of(x).withMask(Mask.keyLengths(0)),
                MultiHeadOutputs.of(output).withHeadWeights(weights));
        Tensor bias = layer.parameters().get("out_proj.bias");
        TestTensors.assertSame(bias, output.select(0, 0).select(0, 2));
        assertEquals(0, largest(weights));
    }

    @Test
    void extraKeyWhoseScoreOverflowsIsNoKeyEither() {
        MultiHeadConfig config = MultiHeadConfig.of(8, 2).withKeyValueBias(true);
        Map<String, Tensor> parameters = TestParameters.of(config, random);
        TestTensors.fill(parameters.get("in_proj_bias"), () -> 1e30);
        TestTensors.fill(parameters.get("bias_k"), () -> -1e30);
        MultiHeadAttention layer = MultiHeadAttention.of(config, parameters::get);
        MultiHeadInputs blind = MultiHeadInputs.of(random(random, 1, 3, 8)).withMask(Mask.keyLengths(0));
        Tensor output = output(layer, blind, 1, 3, 8);
        TestTensors.assertSame(
                parameters.get("out_proj.bias"), output.select(0, 0).select(0, 1));
    }

    @Test
    void onlyOneTensorForAllThreeIsSelfAttention() {
        MultiHeadAttention layer = layer(MultiHeadConfig.of(8, 2));
        Tensor x = random(random, 1, 3, 8);
        Tensor other = random(random, 1, 3, 8);
        Tensor copy = x.copy(Arena.ofAuto(), DType.F32);
        TestTensors.assertSame(
                output(layer, MultiHeadInputs.of(copy, x, other), 1, 3, 8),
                output(layer, MultiHeadInputs.of(x, x, other), 1, 3, 8));
        TestTensors.assertSame(
                output(layer, MultiHeadInputs.of(x, other, copy), 1, 3, 8),
                output(layer, MultiHeadInputs.of(x, other, x), 1, 3, 8));
    }

    @Test
    void causalAndExplicitMaskBothApply() {
        MultiHeadAttention layer = layer(MultiHeadConfig.of(8, 2).withOptions(AttentionOptions.CAUSAL));
        Tensor drop = zeros(DType.I8, 3, 3);
        drop.set(1, 2, 0);
        Tensor weights = zeros(DType.F32, 1, 3, 3);
        layer.forward(
                cpu,
                MultiHeadInputs.of(random(random, 1, 3, 8)).withMask(Mask.drop(drop)),
                MultiHeadOutputs.of(zeros(DType.F32, 1, 3, 8)).withAverageWeights(weights));
        for (int i = 0; i < 3; i++) {
            for (int j = 0; j < 3; j++) {
                assertEquals(j <= i && !(i == 2 && j == 0), weights.get(0, i, j) > 0, i + ", " + j);
            }
        }
    }

    @Test
    void scaleOfTheOptionsReplacesTheDefault() {
        MultiHeadConfig config = MultiHeadConfig.of(8, 2);
        MultiHeadAttention flat = layer(config.withOptions(AttentionOptions.DEFAULT.withScale(0)));
        Tensor weights = zeros(DType.F32, 1, 3, 3);
        Tensor x = random(random, 1, 3, 8);
        flat.forward(
                cpu,
                MultiHeadInputs.of(x),
                MultiHeadOutputs.of(zeros(DType.F32, 1, 3, 8)).withAverageWeights(weights));
        assertEquals(1 / 3f, weights.get(0, 1, 2), 1e-7);
    }

    @Test
    void configurationsCompareByValue() {
        assertEquals(
                MultiHeadConfig.of(8, 2).withZeroKey(true),
                MultiHeadConfig.of(8, 2, 4).withZeroKey(true));
        assertNotEquals(MultiHeadConfig.of(8, 2), MultiHeadConfig.of(8, 4));
        assertEquals(Shape.of(8), MultiHeadConfig.of(8, 2).outputShape());
    }
}
