package io.multihead.nn.attention;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import io.multihead.compute.Compute;
import io.multihead.support.TestTensors;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** The weights that an inference packs, and the time when it packs them. */
class PackedProjectorTest {
    private static final Compute CPU = Compute.serial();
    private static final MultiHeadConfig CONFIG = MultiHeadConfig.of(12, 3);

    private final Random random = new Random(1);
    private final Tensor x = TestTensors.random(random, 2, 5, 12);
    private final Tensor media = TestTensors.random(random, 2, 7, 12);

    /**
     * The fused matrix takes as much memory as the three separate projections, and cross-attention never reads it.
     * Therefore the first self-attention sees a weight that changed after cross-attention.
     */
    @Test
    void crossAttentionDoesNotPackTheFusedMatrix() {
        requireUnpacked(TestParameters.of(CONFIG, new Random(0)));
    }

    @Test
    void selfAttentionDoesNotPackTheProjectionsByThemselves() {
        Map<String, Tensor> parameters = TestParameters.of(CONFIG, random);
        MultiHeadAttention layer = MultiHeadAttention.of(CONFIG, parameters::get);
        run(layer, MultiHeadInputs.of(x));
        change(parameters);
        float[] expected = run(MultiHeadAttention.of(CONFIG, parameters::get), MultiHeadInputs.of(x, media));
        assertArrayEquals(expected, run(layer, MultiHeadInputs.of(x, media)));
    }

    /** Only self-attention joins three separate weights to one matrix. */
    @Test
    void separateWeightsAreJoinedBySelfAttentionAlone() {
        Map<String, Tensor> parameters = new LinkedHashMap<>();
        LayerParameters.shapes(CONFIG, false)
                .forEach((name, shape) -> parameters.put(name, TestTensors.random(random, shape.toArray())));
        requireUnpacked(parameters);
    }

    private void requireUnpacked(Map<String, Tensor> parameters) {
        MultiHeadAttention layer = MultiHeadAttention.of(CONFIG, parameters::get);
        run(layer, MultiHeadInputs.of(x, media));
        change(parameters);
        float[] expected = run(MultiHeadAttention.of(CONFIG, parameters::get), MultiHeadInputs.of(x));
        assertArrayEquals(expected, run(layer, MultiHeadInputs.of(x)));
    }

    private void change(Map<String, Tensor> parameters) {
        parameters.forEach((name, tensor) -> {
            if (name.contains("proj_weight")) {
                TestTensors.fill(tensor, random::nextGaussian);
            }
        });
    }

    private static float[] run(MultiHeadAttention layer, MultiHeadInputs inputs) {
        Tensor y = TestTensors.zeros(DType.F32, 2, 5, 12);
        layer.forward(CPU, inputs, MultiHeadOutputs.of(y));
        return y.toArray();
    }
}
