package io.multihead.nn.attention;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.multihead.attention.AttentionOptions;
import io.multihead.compute.Compute;
import io.multihead.gemm.Activation;
import io.multihead.nn.Gradients;
import io.multihead.nn.Pass;
import io.multihead.reference.ReferenceActivation;
import io.multihead.reference.ReferenceTransformer;
import io.multihead.reference.ReferenceTransformer.Linear;
import io.multihead.reference.ReferenceTransformer.Norm;
import io.multihead.reference.ReferenceTransformer.Norms;
import io.multihead.reference.ScoreRule;
import io.multihead.support.Differences;
import io.multihead.support.Numbers;
import io.multihead.support.TestTensors;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

/**
 * A block with RMS norms first, a gate and no biases. Output and gradients are compared with the specification in
 * double.
 */
class LlamaBlockTest {
    private static final int DIM = 12;
    private static final int HEADS = 3;
    private static final int INNER = 20;
    private static final int TOKENS = 5;
    private static final Compute CPU = Compute.serial();

    private final TransformerBlock.Config config = TransformerBlock.Config.of(DIM, HEADS, INNER)
            .withAttention(MultiHeadConfig.of(DIM, HEADS).withBias(false).withOptions(AttentionOptions.CAUSAL))
            .withActivation(Activation.SILU)
            .withNormFirst(true)
            .withRmsNorm(true)
            .withGate(true);
    private final TransformerBlock block = TransformerBlock.initialize(Arena.ofAuto(), config, 3);
    private final Tensor x = TestTensors.random(new Random(1), 1, TOKENS, DIM);

    @Test
    void itHasTheParametersOfItsLayersAlone() {
        assertEquals(
                Set.of(
                        "self_attn.in_proj_weight",
                        "self_attn.out_proj.weight",
                        "gate_proj.weight",
                        "up_proj.weight",
                        "down_proj.weight",
                        "norm1.weight",
                        "norm2.weight"),
                block.parameters().keySet());
    }

    /** The outputs have about 150 roundings of values of about 3. */
    @Test
    void outputsAreThoseOfTheSpecification() {
        double[] expected = reference(values(block.parameters()), Numbers.of(x));
        Tensor y = TestTensors.zeros(DType.F32, 1, TOKENS, DIM);
        block.forward(CPU, x, y);
        assertArrayEquals(expected, Numbers.of(y), 150 * 3 * 0x1p-24);
        Tensor recorded = TestTensors.zeros(DType.F32, 1, TOKENS, DIM);
        block.record(CPU, x, recorded).close();
        assertArrayEquals(Numbers.of(y), Numbers.of(recorded));
    }

    /** Gradients in f32 have an error of about 300 roundings of values of about 10. */
    @Test
    void gradientsAreDifferencesOfTheSpecification() {
        Tensor dy = TestTensors.random(new Random(2), 1, TOKENS, DIM);
        Tensor y = TestTensors.zeros(DType.F32, 1, TOKENS, DIM);
        Tensor dx = TestTensors.zeros(DType.F32, 1, TOKENS, DIM);
        Map<String, Tensor> gradients = Gradients.zeros(Arena.ofAuto(), block);
        try (Pass pass = block.record(CPU, x, y)) {
            pass.backward(dy, dx, gradients);
        }
        Map<String, double[]> weights = values(block.parameters());
        double[] in = Numbers.of(x);
        double bound = 300 * 10 * 0x1p-24;
        Differences.assertSlopes(Numbers.of(dx), in, () -> loss(weights, in, dy), bound, "x");
        gradients.forEach((name, gradient) -> Differences.assertSlopes(
                Numbers.of(gradient), weights.get(name), () -> loss(weights, in, dy), bound, name));
    }

    private static double loss(Map<String, double[]> weights, double[] in, Tensor dy) {
        double[] y = reference(weights, in);
        double[] given = Numbers.of(dy);
        double loss = 0;
        for (int i = 0; i < y.length; i++) {
            loss += y[i] * given[i];
        }
        return loss;
    }

    private static Map<String, double[]> values(Map<String, Tensor> parameters) {
        Map<String, double[]> values = new java.util.HashMap<>();
        parameters.forEach((name, tensor) -> values.put(name, Numbers.of(tensor)));
        return values;
    }

    /** Returns the states of tokens with the given embeddings. */
    private static double[] reference(Map<String, double[]> weights, double[] in) {
        double[] projections = weights.get("self_attn.in_proj_weight");
        int size = DIM * DIM;
        List<Linear> parts = List.of(
                linear(Arrays.copyOfRange(projections, 0, size), DIM, DIM),
                linear(Arrays.copyOfRange(projections, size, 2 * size), DIM, DIM),
                linear(Arrays.copyOfRange(projections, 2 * size, 3 * size), DIM, DIM));
        ReferenceTransformer.Attention attention = new ReferenceTransformer.Attention(
                parts,
                linear(weights.get("self_attn.out_proj.weight"), DIM, DIM),
                HEADS,
                HEADS,
                new ReferenceTransformer.Scores(
                        1 / Math.sqrt(DIM / HEADS), ScoreRule.causalTopLeft(), null, null, null, null));
        ReferenceTransformer.FeedForward network = new ReferenceTransformer.FeedForward(
                linear(weights.get("gate_proj.weight"), INNER, DIM),
                linear(weights.get("up_proj.weight"), INNER, DIM),
                linear(weights.get("down_proj.weight"), DIM, INNER),
                ReferenceActivation::silu);
        ReferenceTransformer.Block only = new ReferenceTransformer.Block(
                attention,
                new Norms(norm(weights.get("norm1.weight")), null, null),
                network,
                new Norms(norm(weights.get("norm2.weight")), null, null),
                false);
        ReferenceTransformer.Embedding words = new ReferenceTransformer.Embedding(in, 1, null, null, null, DIM);
        Linear head = linear(new double[DIM], 1, DIM);
        return new ReferenceTransformer(words, List.of(only), null, head, 0).states(0, 1, 2, 3, 4);
    }

    private static Linear linear(double[] weight, int outputs, int inputs) {
        return new Linear(weight, null, outputs, inputs);
    }

    private static Norm norm(double[] weight) {
        return new Norm(weight, null, 1e-5, false, false);
    }
}
