package io.multihead.nn.attention;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import io.multihead.attention.AttentionOptions;
import io.multihead.attention.Mask;
import io.multihead.attention.PackedSequences;
import io.multihead.attention.ScoreOptions;
import io.multihead.compute.Compute;
import io.multihead.nn.Gradients;
import io.multihead.position.Rope;
import io.multihead.support.NaiveLayer;
import io.multihead.support.TestTensors;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Random;
import java.util.function.DoubleSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Gradients of layers with the attention of published models are compared with differences of their definition in f64.
 */
class ModelAttentionGradientTest {
    private static final Compute CPU = Compute.serial();
    private static final int TOKENS = 9;
    private static final int WINDOW = 3;
    private static final float[] SINKS = {0.5f, -1f, 1.5f, 0f};

    /**
     * The score options of each model. Attention is causal, with two query heads per key head and a window of four
     * tokens.
     */
    enum Model {
        MISTRAL(ScoreOptions.NONE),
        GEMMA(ScoreOptions.NONE.withSoftCap(0.7)),
        GPT_OSS(ScoreOptions.NONE.withSinks(SINKS)),
        ALL(ScoreOptions.NONE.withSoftCap(0.7).withSinks(SINKS)),
        LLAMA(ScoreOptions.NONE, Rope.Pairing.INTERLEAVED, 6, false),
        QWEN_3(ScoreOptions.NONE, Rope.Pairing.HALF_SPLIT, 6, true),
        PARTLY_ROTATED(ScoreOptions.NONE.withSinks(SINKS), Rope.Pairing.HALF_SPLIT, 4, true);

        final MultiHeadConfig config;

        Model(ScoreOptions scores, Rope.Pairing pairing, int rotaryDims, boolean normalized) {
            MultiHeadConfig rotated = MultiHeadConfig.of(12, 4, 6)
                    .withKeyValueHeads(2)
                    .withRope(Rope.of(Rope.Config.of(rotaryDims).withTheta(50).withPairing(pairing)))
                    .withOptions(AttentionOptions.DEFAULT
                            .withMask(Mask.CAUSAL.and(Mask.window(WINDOW, 0)))
                            .withScores(scores));
            config = normalized ? rotated.withHeadNorm(1e-2) : rotated;
        }

        Model(ScoreOptions scores) {
            config = MultiHeadConfig.of(12, 4)
                    .withKeyValueHeads(2)
                    .withOptions(AttentionOptions.DEFAULT
                            .withMask(Mask.CAUSAL.and(Mask.window(WINDOW, 0)))
                            .withScores(scores));
        }
    }

    @ParameterizedTest
    @EnumSource
    void gradientsEqualDifferencesOfTheDefinition(Model model) {
        check(model.config);
    }

    /** The extra keys are outside the window and are capped, and sinks count once in addition to them. */
    @ParameterizedTest
    @EnumSource
    void gradientsWithExtraKeysEqualDifferencesOfTheDefinition(Model model) {
        check(model.config.withKeyValueBias(true).withZeroKey(true));
    }

    private static void check(MultiHeadConfig config) {
        Random random = new Random(7);
        MultiHeadAttention drawn = MultiHeadAttention.initialize(Arena.ofAuto(), config, 3);
        Map<String, Tensor> parameters = new LinkedHashMap<>();
        drawn.parameters().forEach((name, tensor) -> parameters.put(name, tensor.copy(Arena.ofAuto(), DType.F64)));
        MultiHeadAttention layer = MultiHeadAttention.of(config, parameters::get);
        Tensor x = TestTensors.random(random, 2, TOKENS, 12).copy(Arena.ofAuto(), DType.F64);
        int keys = TOKENS + config.extraKeys();
        MultiHeadOutputs outputs = MultiHeadOutputs.of(TestTensors.zeros(DType.F32, 2, TOKENS, 12))
                .withAverageWeights(TestTensors.zeros(DType.F32, 2, TOKENS, keys));
        MultiHeadOutputs upstream = MultiHeadOutputs.of(TestTensors.random(random, 2, TOKENS, 12))
                .withAverageWeights(TestTensors.random(random, 2, TOKENS, keys));
        Map<String, Tensor> gradients = Gradients.zeros(Arena.ofAuto(), layer);
        float[] sinks = config.options().scores().sinks();
        MultiHeadGradients inputs = MultiHeadGradients.of(TestTensors.zeros(DType.F32, 2, TOKENS, 12))
                .withSinks(sinks == null ? null : TestTensors.zeros(DType.F32, 4));
        try (MultiHeadPass pass = layer.record(CPU, MultiHeadInputs.of(x), outputs, 0)) {
            pass.backward(upstream, inputs, gradients);
        }
        Tensor varied = Tensor.of(new double[4], 4);
        for (int h = 0; sinks != null && h < 4; h++) {
            varied.set(sinks[h], h);
        }
        DoubleSupplier loss = () -> loss(config, parameters, x, sinks == null ? null : varied, upstream);
        double size = Math.abs(loss.getAsDouble()) + 2 * TOKENS * 12;
        parameters.forEach(
                (name, tensor) -> MultiHeadGradientTest.check(name, tensor, gradients.get(name), loss, size, random));
        MultiHeadGradientTest.check("x", x, inputs.query(), loss, size, random);
        if (sinks != null) {
            MultiHeadGradientTest.check("sinks", varied, inputs.sinks(), loss, size, random);
        }
    }

    private static double loss(
            MultiHeadConfig config, Map<String, Tensor> parameters, Tensor x, Tensor sinks, MultiHeadOutputs upstream) {
        double[] perHead = new double[4];
        for (int h = 0; sinks != null && h < 4; h++) {
            perHead[h] = sinks.get(h);
        }
        double[][][] tokens = TestTensors.cube(x);
        NaiveLayer.Result result = new NaiveLayer(config, parameters, sinks == null ? null : perHead)
                .forward(
                        tokens, tokens, tokens, (b, h, i, j) -> j > i || i - j > WINDOW ? Double.NEGATIVE_INFINITY : 0);
        double sum = 0;
        for (int b = 0; b < 2; b++) {
            sum += MultiHeadGradientTest.dot(
                    result.output().get(b).value(), upstream.output().select(0, b));
            sum += MultiHeadGradientTest.dot(
                    result.averageWeights(b).value(), upstream.averageWeights().select(0, b));
        }
        return sum;
    }

    /**
     * A sequence alone has the same gradients as one of two packed sequences. The sinks' gradients of both sequences
     * add up.
     */
    @Test
    void packedSequencesHaveTheGradientsOfEach() {
        MultiHeadConfig config = Model.ALL.config;
        MultiHeadAttention layer = MultiHeadAttention.initialize(Arena.ofAuto(), config, 3);
        Random random = new Random(1);
        Tensor x = TestTensors.random(random, TOKENS, 12);
        Tensor dy = TestTensors.random(random, TOKENS, 12);
        Tensor weights = TestTensors.random(random, TOKENS, 5);
        float[] all = sinks(layer, MultiHeadInputs.of(x).withSequences(PackedSequences.ofLengths(4, 5)), dy, weights);
        float[] first = sinks(
                layer,
                MultiHeadInputs.of(x.slice(0, 0, 4)),
                dy.slice(0, 0, 4),
                weights.slice(0, 0, 4).slice(1, 0, 4));
        float[] second = sinks(layer, MultiHeadInputs.of(x.slice(0, 4, 9)), dy.slice(0, 4, 9), weights.slice(0, 4, 9));
        float[] sum = new float[4];
        for (int h = 0; h < 4; h++) {
            sum[h] = first[h] + second[h];
        }
        // one rounding of each part, and one rounding of the sum, of numbers below 4
        assertArrayEquals(sum, all, 3 * 4 * 0x1p-24f);
    }

    private static float[] sinks(MultiHeadAttention layer, MultiHeadInputs inputs, Tensor dy, Tensor weights) {
        Tensor gradient = TestTensors.zeros(DType.F32, 4);
        MultiHeadOutputs outputs = MultiHeadOutputs.of(
                        TestTensors.zeros(DType.F32, dy.shape().toArray()))
                .withAverageWeights(TestTensors.zeros(DType.F32, weights.shape().toArray()));
        try (MultiHeadPass pass = layer.record(CPU, inputs, outputs, 0)) {
            MultiHeadOutputs given = MultiHeadOutputs.of(dy).withAverageWeights(weights);
            pass.backward(given, MultiHeadGradients.NONE.withSinks(gradient), Map.of());
        }
        return gradient.toArray();
    }
}
