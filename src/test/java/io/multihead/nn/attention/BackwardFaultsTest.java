package io.multihead.nn.attention;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.multihead.attention.AttentionOptions;
import io.multihead.attention.Mask;
import io.multihead.attention.ScoreOptions;
import io.multihead.compute.Compute;
import io.multihead.nn.Gradients;
import io.multihead.support.TestTensors;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Backward refuses bad arguments with a message, and changes no gradient. */
class BackwardFaultsTest {
    private static final Compute CPU = Compute.serial();
    private static final MultiHeadConfig CONFIG = MultiHeadConfig.of(12, 3);
    private static final MultiHeadConfig MODIFIED = CONFIG.withOptions(AttentionOptions.DEFAULT.withScores(
            ScoreOptions.NONE.withModifier((batch, head, query, key, score) -> score)));

    private final Random random = new Random(1);
    private final Tensor x = TestTensors.random(random, 2, 5, 12);
    private final Tensor media = TestTensors.random(random, 2, 7, 12);
    private final Tensor dy = TestTensors.random(random, 2, 5, 12);
    private final Tensor scores = TestTensors.random(random, 3, 5, 7);
    private final Tensor factors = TestTensors.random(random, 3);
    private final MultiHeadInputs inputs = MultiHeadInputs.of(x, media);
    private final MultiHeadOutputs outputs = MultiHeadOutputs.of(zeros(2, 5, 12))
            .withAverageWeights(zeros(2, 5, 7))
            .withHeadWeights(zeros(2, 3, 5, 7));

    private static Tensor zeros(long... dims) {
        return TestTensors.zeros(DType.F32, dims);
    }

    /** Requires that backward refuses the input gradients, and that the gradients of parameters stay zero. */
    private void layerRefuses(String message, MultiHeadConfig config, MultiHeadInputs from, MultiHeadGradients to) {
        MultiHeadAttention layer = MultiHeadAttention.initialize(Arena.ofAuto(), config, 5);
        Map<String, Tensor> gradients = Gradients.zeros(Arena.ofAuto(), layer);
        try (MultiHeadPass pass = layer.record(CPU, from, outputs, 0)) {
            requireRefused(message, () -> pass.backward(dy, to, gradients), gradients);
        }
    }

    private void gatedRefuses(String message, MultiHeadConfig config, MultiHeadInputs from, MultiHeadGradients to) {
        GatedCrossAttention.Config block =
                GatedCrossAttention.Config.of(12, 12, 3, 20).withAttention(config);
        GatedCrossAttention layer = GatedCrossAttention.initialize(Arena.ofAuto(), block, 5);
        Map<String, Tensor> gradients = new LinkedHashMap<>();
        layer.parameters()
                .forEach((name, tensor) ->
                        gradients.put(name, zeros(tensor.shape().toArray())));
        try (GatedPass pass = layer.record(CPU, from, zeros(2, 5, 12), 0)) {
            requireRefused(message, () -> pass.backward(dy, to, gradients), gradients);
        }
    }

    @Test
    void aGatedBlocksOutputInAMaskIsRefused() {
        GatedCrossAttention.Config config = GatedCrossAttention.Config.of(12, 12, 3, 20);
        GatedCrossAttention block = GatedCrossAttention.initialize(Arena.ofAuto(), config, 5);
        Tensor y = outputs.output();
        Tensor bias = y.reshape(120).slice(0, 0, 35).reshape(5, 7);
        Tensor heads = y.reshape(120).slice(0, 0, 3);
        MultiHeadInputs biased = inputs.withMask(Mask.bias(bias));
        requireRefused(
                "y: F32 [2, 5, 12] overlaps mask 0; expected separate memory",
                () -> block.forward(CPU, biased, y),
                Map.of("y", y));
        requireRefused(
                "y: F32 [2, 5, 12] overlaps headMask; expected separate memory",
                () -> block.record(CPU, inputs.withHeadMask(heads), y, 0),
                Map.of("y", y));
    }

    private static void requireRefused(String message, Runnable call, Map<String, Tensor> gradients) {
        assertEquals(
                message, assertThrows(IllegalArgumentException.class, call::run).getMessage());
        gradients.forEach((name, gradient) -> {
            long elements = gradient.shape().elements();
            assertArrayEquals(new float[(int) elements], gradient.toArray(), name + " written");
        });
    }

    @Test
    void aModifierIsRefusedBeforeParameterGradientsAreAdded() {
        String message = "modifier: given; expected none, as backward does not know its derivative";
        layerRefuses(message, MODIFIED, inputs, MultiHeadGradients.NONE);
        gatedRefuses(message, MODIFIED, inputs, MultiHeadGradients.NONE);
    }

    @Test
    void aBiasGradientInTheBiasItselfIsRefused() {
        String message = "scoreBias gradient: F32 [3, 5, 7] overlaps mask 0; expected separate memory";
        MultiHeadInputs masked = inputs.withMask(Mask.bias(scores));
        MultiHeadGradients to = MultiHeadGradients.NONE.withScoreBias(scores);
        layerRefuses(message, CONFIG, masked, to);
        gatedRefuses(message, CONFIG, masked, to);
    }

    @Test
    void aGradientInAMaskOfTheConfigurationIsRefused() {
        MultiHeadConfig masked = CONFIG.withOptions(AttentionOptions.DEFAULT.withMask(Mask.bias(scores)));
        layerRefuses(
                "sinks gradient: F32 [3] overlaps mask 0; expected separate memory",
                masked.withOptions(masked.options().withScores(ScoreOptions.NONE.withSinks(1, 2, 3))),
                inputs,
                MultiHeadGradients.NONE.withSinks(scores.reshape(105).slice(0, 0, 3)));
    }

    /** Such a gradient would overwrite factors before backward has used them. */
    @Test
    void aHeadMaskGradientInTheHeadMaskItselfIsRefused() {
        String message = "headMask gradient: F32 [3] overlaps headMask; expected separate memory";
        MultiHeadInputs masked = inputs.withHeadMask(factors);
        MultiHeadGradients to = MultiHeadGradients.NONE.withHeadMask(factors);
        layerRefuses(message, CONFIG, masked, to);
        gatedRefuses(message, CONFIG, masked, to);
    }

    @Test
    void aGradientInARecordedOutputIsRefused() {
        Tensor average = outputs.averageWeights();
        layerRefuses(
                "query gradient: F32 [2, 5, 12] overlaps output; expected separate memory",
                CONFIG,
                inputs,
                MultiHeadGradients.of(outputs.output()));
        layerRefuses(
                "scoreBias gradient: F32 [5, 7] overlaps averageWeights; expected separate memory",
                CONFIG,
                inputs.withMask(Mask.bias(scores.select(0, 0))),
                MultiHeadGradients.NONE.withScoreBias(average.select(0, 0)));
        layerRefuses(
                "scoreBias gradient: F32 [3, 5, 7] overlaps headWeights; expected separate memory",
                CONFIG,
                inputs.withMask(Mask.bias(scores)),
                MultiHeadGradients.NONE.withScoreBias(outputs.headWeights().select(0, 0)));
    }
}
