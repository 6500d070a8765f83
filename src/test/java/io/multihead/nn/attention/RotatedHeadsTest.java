package io.multihead.nn.attention;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.attention.AttentionOptions;
import io.multihead.attention.PackedSequences;
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
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Layers with normalized and rotated heads of queries and keys: outputs, packed sequences, bits and refusals. */
@Tag("lanes")
class RotatedHeadsTest {
    private static final Compute CPU = Compute.serial();
    private static final int DIM = 20;
    private static final MultiHeadConfig CONFIG = MultiHeadConfig.of(DIM, 4, 6)
            .withKeyValueHeads(2)
            .withBias(false)
            .withHeadNorm(1e-3)
            .withRope(Rope.of(Rope.Config.of(4).withTheta(30)))
            .withOptions(AttentionOptions.CAUSAL);

    private final MultiHeadAttention layer = layer(CONFIG);

    /** A layer with norms that are not 1. */
    private static MultiHeadAttention layer(MultiHeadConfig config) {
        Map<String, Tensor> parameters = new LinkedHashMap<>(
                MultiHeadAttention.initialize(Arena.ofAuto(), config, 5).parameters());
        Random random = new Random(9);
        parameters.replaceAll((name, tensor) ->
                name.contains("norm") ? TestTensors.fill(tensor, () -> 1 + random.nextDouble()) : tensor);
        return MultiHeadAttention.of(config, parameters::get);
    }

    @Test
    void outputsAreThoseOfTheDefinition() {
        Tensor x = TestTensors.random(new Random(1), 2, 11, DIM);
        double[][][] tokens = TestTensors.cube(x);
        NaiveLayer.Result expected = new NaiveLayer(CONFIG, layer.parameters())
                .forward(tokens, tokens, tokens, (b, h, i, j) -> j > i ? Double.NEGATIVE_INFINITY : 0);
        Tensor y = forward(CPU, x);
        for (int b = 0; b < 2; b++) {
            TestTensors.assertClose(expected.output().get(b), y.select(0, b));
        }
    }

    /**
     * The comparison detects a missing part of the definition: without rotation or without norms, the outputs differ.
     */
    @Test
    void eachStageCounts() {
        Tensor x = TestTensors.random(new Random(1), 1, 11, DIM);
        Tensor y = forward(CPU, x);
        Tensor other = TestTensors.zeros(DType.F32, 1, 11, DIM);
        MultiHeadAttention.of(CONFIG.withRope(null), layer.parameters()::get).forward(CPU, x, other);
        assertArrayEquals(y.select(1, 0).toArray(), other.select(1, 0).toArray(), "the first token is at position 0");
        for (int token = 1; token < 11; token++) {
            assertNotEquals(y.get(0, token, 0), other.get(0, token, 0), 1e-4, "token " + token);
        }
    }

    @Test
    void bitsDoNotDependOnThreadsTrainingOrTheBatch() {
        Tensor x = TestTensors.random(new Random(2), 3, 40, DIM);
        Tensor y = forward(CPU, x);
        try (Compute threads = Compute.threads(3)) {
            TestTensors.assertSame(y, forward(threads, x));
            Tensor recorded = TestTensors.zeros(DType.F32, 3, 40, DIM);
            layer.record(threads, x, recorded, 0).close();
            TestTensors.assertSame(y, recorded);
        }
        for (int b = 0; b < 3; b++) {
            TestTensors.assertSame(y.slice(0, b, b + 1), forward(CPU, x.slice(0, b, b + 1)));
        }
    }

    /** Each packed sequence begins at position 0. Gradients equal the gradients of the separate sequences. */
    @Test
    void packedSequencesAreThoseByThemselves() {
        long[] ends = {0, 7, 7, 19};
        PackedSequences packed = PackedSequences.of(ends);
        Tensor x = TestTensors.random(new Random(3), 1, 19, DIM);
        Tensor dy = TestTensors.random(new Random(4), 1, 19, DIM);
        MultiHeadInputs inputs = MultiHeadInputs.of(x).withSequences(packed);
        Tensor y = TestTensors.zeros(DType.F32, 1, 19, DIM);
        layer.forward(CPU, inputs, MultiHeadOutputs.of(y));
        Tensor dx = TestTensors.zeros(DType.F32, 1, 19, DIM);
        Map<String, Tensor> gradients = Gradients.zeros(Arena.ofAuto(), layer);
        try (MultiHeadPass pass =
                layer.record(CPU, inputs, MultiHeadOutputs.of(TestTensors.zeros(DType.F32, 1, 19, DIM)), 0)) {
            pass.backward(dy, dx, gradients);
        }
        Map<String, Tensor> sums = Gradients.zeros(Arena.ofAuto(), layer);
        for (int s = 0; s < packed.count(); s++) {
            if (packed.length(s) > 0) {
                Tensor own = x.slice(1, packed.start(s), packed.end(s));
                TestTensors.assertSame(y.slice(1, packed.start(s), packed.end(s)), forward(CPU, own));
                Tensor down = TestTensors.zeros(DType.F32, 1, packed.length(s), DIM);
                Tensor out = TestTensors.zeros(DType.F32, 1, packed.length(s), DIM);
                try (MultiHeadPass pass = layer.record(CPU, own, out, 0)) {
                    pass.backward(dy.slice(1, packed.start(s), packed.end(s)), down, sums);
                }
                TestTensors.assertSame(dx.slice(1, packed.start(s), packed.end(s)), down);
            }
        }
        // the same products in another order of sums: 19 addends of at most 20
        sums.forEach((name, sum) ->
                assertArrayEquals(sum.toArray(), gradients.get(name).toArray(), 19 * 20 * 0x1p-23f, name));
    }

    @Test
    void keptHeadsHaveTheNormsOfAll() {
        MultiHeadConfig own = CONFIG.withKeyValueHeads(4);
        MultiHeadAttention all = layer(own);
        MultiHeadAttention kept = all.keepHeads(Arena.ofAuto(), 2, 0);
        assertEquals(own.rope(), kept.config().rope());
        assertArrayEquals(
                all.parameters().get("k_norm.weight").toArray(),
                kept.parameters().get("k_norm.weight").toArray());
        Tensor x = TestTensors.random(new Random(6), 1, 9, DIM);
        Tensor y = TestTensors.zeros(DType.F32, 1, 9, DIM);
        kept.forward(CPU, x, y);
        Tensor masked = TestTensors.zeros(DType.F32, 1, 9, DIM);
        Tensor mask = Tensor.of(new float[] {1, 0, 1, 0}, 4);
        all.forward(CPU, MultiHeadInputs.of(x).withHeadMask(mask), MultiHeadOutputs.of(masked));
        // 24 addends of at most 3, mixed with zeros
        assertArrayEquals(masked.toArray(), y.toArray(), 24 * 3 * 0x1p-23f);
    }

    @Test
    void whatDoesNotFitIsNamed() {
        refuses("rope: 8 elements; expected at most headDim 6", () -> CONFIG.withRope(Rope.of(Rope.Config.of(8))));
        refuses("epsilon: -1.0", () -> CONFIG.withHeadNorm(-1));
        refuses(
                "q_norm.weight: shape [6]; expected none, as the config has no norm of heads",
                () -> MultiHeadAttention.of(
                        MultiHeadConfig.of(DIM, 4, 6).withKeyValueHeads(2).withBias(false), layer.parameters()::get));
        Tensor table = TestTensors.random(new Random(1), 8, 2);
        MultiHeadConfig few = CONFIG.withRope(Rope.ofTables(table, table, Rope.Pairing.HALF_SPLIT));
        MultiHeadAttention short8 = layer(few);
        Tensor x = TestTensors.random(new Random(1), 1, 9, DIM);
        Tensor y = TestTensors.zeros(DType.F32, 1, 9, DIM);
        refuses("query: 9 tokens; expected at most 8", () -> short8.forward(CPU, x, y));
        assertArrayEquals(new float[9 * DIM], y.toArray());
        assertEquals(
                CONFIG.parameterCount(),
                layer.parameters().values().stream()
                        .mapToLong(tensor -> tensor.shape().elements())
                        .sum());
    }

    private static void refuses(String beginning, org.junit.jupiter.api.function.Executable call) {
        IllegalArgumentException thrown = assertThrows(IllegalArgumentException.class, call);
        assertTrue(thrown.getMessage().startsWith(beginning), thrown.getMessage());
    }

    private Tensor forward(Compute cpu, Tensor x) {
        Tensor y = TestTensors.zeros(DType.F32, x.shape().toArray());
        layer.forward(cpu, x, y);
        return y;
    }
}
