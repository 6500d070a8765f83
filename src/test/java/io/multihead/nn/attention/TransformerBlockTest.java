package io.multihead.nn.attention;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.attention.AttentionOptions;
import io.multihead.attention.Mask;
import io.multihead.attention.ScoreOptions;
import io.multihead.compute.Compute;
import io.multihead.faults.Named;
import io.multihead.format.Safetensors;
import io.multihead.gemm.Activation;
import io.multihead.nn.Gradients;
import io.multihead.nn.Pass;
import io.multihead.nn.Sequence;
import io.multihead.support.Golden;
import io.multihead.support.Numbers;
import io.multihead.support.PyTorchMasks;
import io.multihead.support.TestTensors;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.DoubleSupplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Blocks, stacks and gated cross-attention. */
class TransformerBlockTest {
    private static final Compute CPU = Compute.serial();

    @TestFactory
    Stream<DynamicTest> equalsPyTorch() {
        List<String> names = Golden.names("layer/encoder_").toList();
        assertEquals(2, names.size());
        return names.stream().map(name -> DynamicTest.dynamicTest(name, () -> check(Golden.open(name))));
    }

    /**
     * A method that throws for missing names differs from a file that lacks a parameter. With {@code find}, the block
     * can be created.
     */
    @Test
    void parametersThatMustNotExistAreAskedOfAFileByFind(@TempDir Path folder) throws IOException {
        TransformerBlock.Config config = TransformerBlock.Config.of(8, 2, 16);
        Path path = folder.resolve("block.safetensors");
        TransformerBlock block = TransformerBlock.initialize(Arena.ofAuto(), config, 1);
        Safetensors.write(path, block.parameters(), Map.of());
        Safetensors file = Safetensors.map(Arena.ofAuto(), path);
        assertEquals(
                block.parameters().keySet(),
                TransformerBlock.of(config, file::find).parameters().keySet());
        String message = assertThrows(IllegalArgumentException.class, () -> TransformerBlock.of(config, file::get))
                .getMessage();
        assertTrue(message.startsWith("parameters: failed for q_norm.weight, which the layer need not have"), message);
        assertTrue(message.endsWith("expected null for a name without a tensor, as Safetensors.find returns"), message);
    }

    /** Parameters have the order in which PyTorch's constructor registers them, for any order of computation. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void parametersHaveTheOrderOfPyTorch(boolean normFirst) {
        try (Arena arena = Arena.ofConfined()) {
            TransformerBlock.Config config =
                    TransformerBlock.Config.of(8, 2, 16).withNormFirst(normFirst);
            List<String> modules = TransformerBlock.initialize(arena, config, 1).parameters().keySet().stream()
                    .map(name -> name.substring(0, name.indexOf('.')))
                    .distinct()
                    .toList();
            assertEquals(List.of("self_attn", "linear1", "linear2", "norm1", "norm2"), modules);
        }
    }

    /** The output would overwrite the mask, which later slices still read. */
    @Test
    void anOutputInTheMaskIsRefused() {
        Tensor memory = TestTensors.random(new Random(2), 2, 4, 8);
        Tensor bias = memory.reshape(64).slice(0, 0, 16).reshape(4, 4);
        TransformerBlock block = block(MultiHeadConfig.of(8, 2)).withMask(Mask.bias(bias));
        Tensor before = TestTensors.zeros(DType.F32, 2, 4, 8);
        memory.copyTo(before);
        Named.message(
                "y: F32 [2, 4, 8] overlaps buffer 0; expected separate memory",
                () -> block.forward(CPU, TestTensors.random(new Random(3), 2, 4, 8), memory));
        TestTensors.assertSame(before, memory);
    }

    /** Gradients of the layers after attention are not added either. */
    @Test
    void aGradientInTheMaskIsRefusedBeforeAnythingIsWritten() {
        Tensor memory = zeros(24, 8);
        Tensor bias = memory.reshape(192).slice(0, 0, 16).reshape(4, 4);
        TransformerBlock block = block(MultiHeadConfig.of(8, 2)).withMask(Mask.bias(bias));
        Tensor x = TestTensors.random(new Random(3), 2, 4, 8);
        Map<String, Tensor> gradients = new LinkedHashMap<>(Gradients.zeros(Arena.ofAuto(), block));
        gradients.put("self_attn.in_proj_weight", memory);
        try (Pass pass = block.record(CPU, x, zeros(2, 4, 8))) {
            Named.message(
                    "gradient of self_attn.in_proj_weight: F32 [24, 8] overlaps buffer 0; expected separate memory",
                    () -> pass.backward(x, null, gradients));
        }
        gradients.forEach((name, gradient) ->
                TestTensors.assertSame(zeros(gradient.shape().toArray()), gradient));
    }

    @Test
    void aScoreModifierIsRefusedWhereABlockIsRecorded() {
        AttentionOptions modified = AttentionOptions.DEFAULT.withScores(
                ScoreOptions.NONE.withModifier((batch, head, query, key, score) -> score));
        TransformerBlock block = block(MultiHeadConfig.of(8, 2).withOptions(modified));
        Tensor x = TestTensors.random(new Random(3), 2, 4, 8);
        Tensor y = zeros(2, 4, 8);
        Named.message(
                "modifier: given; expected none, as backward does not know its derivative",
                () -> block.record(CPU, x, y));
        TestTensors.assertSame(zeros(2, 4, 8), y);
        block.forward(CPU, x, y);
    }

    private static TransformerBlock block(MultiHeadConfig attention) {
        TransformerBlock.Config config = TransformerBlock.Config.of(8, 2, 16).withAttention(attention);
        return TransformerBlock.initialize(Arena.ofAuto(), config, 1);
    }

    private static void check(Golden file) {
        TransformerBlock.Config config = TransformerBlock.Config.of(
                        Long.parseLong(file.meta("d_model")),
                        Integer.parseInt(file.meta("nhead")),
                        Long.parseLong(file.meta("dim_feedforward")))
                .withNormFirst(Boolean.parseBoolean(file.meta("norm_first")))
                .withActivation(file.meta("activation").startsWith("gelu") ? Activation.GELU : Activation.RELU);
        TransformerBlock block = TransformerBlock.of(config, file::find);
        Tensor padding = file.find("src_key_padding_mask");
        if (padding != null) {
            block = block.withMask(PyTorchMasks.padding(padding));
        }
        Tensor x = file.tensor("src");
        Tensor y = zeros(x.shape().toArray());
        Tensor inferred = zeros(x.shape().toArray());
        Tensor dx = zeros(x.shape().toArray());
        Map<String, Tensor> gradients = Gradients.zeros(Arena.ofAuto(), block);
        block.forward(CPU, x, inferred);
        try (Pass pass = block.record(CPU, x, y)) {
            pass.backward(file.tensor("grad_out"), dx, gradients);
        }
        assertArrayEquals(y.toArray(), inferred.toArray());
        close(file.tensor("expected.out"), y);
        close(file.tensor("expected.grad.src"), dx);
        assertEquals(12, gradients.size());
        gradients.forEach((name, gradient) -> close(file.tensor("expected.grad." + name), gradient));
    }

    /** Compares with PyTorch's results in float64. The tolerance is 1e-6 of the largest value. */
    private static void close(Tensor expected, Tensor actual) {
        double[] wanted = Numbers.of(expected);
        double[] values = Numbers.of(actual);
        double scale = Arrays.stream(wanted).map(Math::abs).max().orElse(1);
        for (int i = 0; i < wanted.length; i++) {
            assertTrue(Math.abs(wanted[i] - values[i]) <= 1e-6 * scale, wanted[i] + " but " + values[i]);
        }
    }

    @Test
    void aStackOfAHundredLayersRuns() {
        List<TransformerBlock> blocks = new ArrayList<>();
        TransformerBlock.Config config = TransformerBlock.Config.of(8, 2, 16)
                .withNormFirst(true)
                .withAttention(MultiHeadConfig.of(8, 2).withOptions(AttentionOptions.CAUSAL))
                .withDropout(0.1);
        for (int i = 0; i < 100; i++) {
            blocks.add(TransformerBlock.initialize(Arena.ofAuto(), config, i));
        }
        Sequence stack = Sequence.of("layers.", blocks);
        assertEquals(1200, stack.parameters().size());
        Tensor x = TestTensors.random(new Random(1), 2, 5, 8);
        Tensor y = zeros(2, 5, 8);
        Tensor dx = zeros(2, 5, 8);
        Map<String, Tensor> gradients = Gradients.zeros(Arena.ofAuto(), stack);
        try (Pass pass = stack.record(CPU, x, y, 7)) {
            pass.backward(TestTensors.random(new Random(2), 2, 5, 8), dx, gradients);
        }
        for (Tensor gradient : gradients.values()) {
            for (float g : gradient.toArray()) {
                assertTrue(Float.isFinite(g));
            }
        }
        assertTrue(Arrays.stream(Numbers.of(gradients.get("layers.0.linear1.weight")))
                .anyMatch(g -> g != 0));
        Tensor again = zeros(2, 5, 8);
        try (Compute threads = Compute.threads(2);
                Pass pass = stack.record(threads, x, again, 7)) {
            Tensor down = zeros(2, 5, 8);
            pass.backward(TestTensors.random(new Random(2), 2, 5, 8), down, Map.of());
            assertArrayEquals(dx.toArray(), down.toArray());
        }
        assertArrayEquals(y.toArray(), again.toArray());
    }

    @Test
    void prunedBlocksEqualMaskedOnes() {
        TransformerBlock block = TransformerBlock.initialize(Arena.ofAuto(), TransformerBlock.Config.of(12, 3, 20), 4);
        Tensor x = TestTensors.random(new Random(1), 2, 5, 12);
        Tensor mask = Tensor.of(new float[] {0, 1, 1}, 3);
        Tensor masked = zeros(2, 5, 12);
        block.withHeadMask(mask).forward(CPU, x, masked);
        Tensor pruned = zeros(2, 5, 12);
        block.keepHeads(Arena.ofAuto(), 1, 2).forward(CPU, x, pruned);
        // sums of 12 products instead of 8, then two normalizations and the network: a few dozen roundings of values of
        // 3
        assertArrayEquals(masked.toArray(), pruned.toArray(), 64 * 3 * 0x1p-24f);
    }

    @Test
    void gatesOfZeroLeaveEverythingAsItIs() {
        GatedCrossAttention block = gated(0);
        Tensor x = TestTensors.random(new Random(1), 2, 5, 12);
        Tensor media = TestTensors.random(new Random(2), 2, 7, 10);
        Tensor y = zeros(2, 5, 12);
        block.forward(CPU, MultiHeadInputs.of(x, media), y);
        assertArrayEquals(x.toArray(), y.toArray());
        Tensor dx = zeros(2, 5, 12);
        Tensor dy = TestTensors.random(new Random(3), 2, 5, 12);
        Tensor gate = zeros(1);
        try (GatedPass pass = block.record(CPU, MultiHeadInputs.of(x, media), y, 0)) {
            pass.backward(dy, dx, Map.of("attn_gate", gate));
        }
        assertArrayEquals(dy.toArray(), dx.toArray());
        assertTrue(gate.get(0) != 0, "the gate learns from 0 on");
    }

    /**
     * Gradients along random directions are compared with fourth-order differences of the layer itself in f32 with h =
     * 2^-5. The loss of about 100 addends has an error of less than 100 roundings, so the quotient has an error of 100
     * u / h. The truncation error is h^4 times a fifth derivative below 50.
     */
    @Test
    void gatedGradientsEqualDifferences() {
        GatedCrossAttention block = gated(0.7);
        Random random = new Random(5);
        Tensor x = TestTensors.random(random, 2, 5, 12);
        Tensor media = TestTensors.random(random, 2, 7, 10);
        Tensor dy = TestTensors.random(random, 2, 5, 12);
        Tensor y = zeros(2, 5, 12);
        Tensor dx = zeros(2, 5, 12);
        Tensor dm = zeros(2, 7, 10);
        Map<String, Tensor> gradients = new java.util.LinkedHashMap<>();
        block.parameters()
                .forEach((name, tensor) ->
                        gradients.put(name, zeros(tensor.shape().toArray())));
        try (GatedPass pass = block.record(CPU, MultiHeadInputs.of(x, media), y, 0)) {
            pass.backward(dy, MultiHeadGradients.of(dx, dm), gradients);
        }
        DoubleSupplier loss = () -> loss(block, MultiHeadInputs.of(x, media), dy);
        alongARandomDirection("x", x, dx, loss, random);
        alongARandomDirection("media", media, dm, loss, random);
        block.parameters()
                .forEach((name, tensor) -> alongARandomDirection(name, tensor, gradients.get(name), loss, random));
    }

    /** The bound is the bound of {@link #gatedGradientsEqualDifferences}. */
    @Test
    void gatedGradientOfXIncludesThatOfXAsMedia() {
        GatedCrossAttention block = gated(0.7, 12);
        Random random = new Random(5);
        Tensor x = TestTensors.random(random, 2, 5, 12);
        Tensor dy = TestTensors.random(random, 2, 5, 12);
        Tensor y = zeros(2, 5, 12);
        Tensor dx = zeros(2, 5, 12);
        try (GatedPass pass = block.record(CPU, MultiHeadInputs.of(x), y, 0)) {
            pass.backward(dy, dx, Map.of());
        }
        alongARandomDirection("x", x, dx, () -> loss(block, MultiHeadInputs.of(x), dy), random);
    }

    /**
     * Dropout follows attention and the feed-forward network, as in a block. With probability 1, only the residual
     * connections remain.
     */
    @Test
    void gatedDropoutOfOneLeavesTheInput() {
        GatedCrossAttention.Config all =
                GatedCrossAttention.Config.of(12, 12, 3, 20).withDropout(1).withAttention(MultiHeadConfig.of(12, 3));
        GatedCrossAttention block = gated(0.7, all);
        Tensor x = TestTensors.random(new Random(1), 2, 5, 12);
        Tensor dy = TestTensors.random(new Random(3), 2, 5, 12);
        Tensor y = zeros(2, 5, 12);
        Tensor dx = zeros(2, 5, 12);
        Tensor gate = zeros(1);
        try (GatedPass pass = block.record(CPU, MultiHeadInputs.of(x), y, 0)) {
            pass.backward(dy, dx, Map.of("attn_gate", gate));
        }
        assertArrayEquals(x.toArray(), y.toArray());
        assertArrayEquals(dy.toArray(), dx.toArray());
        assertEquals(0, gate.get(0));
    }

    /** The bound is the bound of {@link #gatedGradientsEqualDifferences}. */
    @Test
    void gatedGradientsWithDropoutEqualDifferences() {
        GatedCrossAttention block = gated(
                0.7,
                GatedCrossAttention.Config.of(12, 12, 3, 20)
                        .withActivation(Activation.GELU)
                        .withDropout(0.3));
        Random random = new Random(5);
        Tensor x = TestTensors.random(random, 2, 5, 12);
        Tensor dy = TestTensors.random(random, 2, 5, 12);
        Tensor y = zeros(2, 5, 12);
        Tensor dx = zeros(2, 5, 12);
        Map<String, Tensor> gradients = new java.util.LinkedHashMap<>();
        block.parameters()
                .forEach((name, tensor) ->
                        gradients.put(name, zeros(tensor.shape().toArray())));
        try (GatedPass pass = block.record(CPU, MultiHeadInputs.of(x), y, 8)) {
            pass.backward(dy, dx, gradients);
        }
        DoubleSupplier loss = () -> {
            Tensor out = zeros(2, 5, 12);
            block.record(CPU, MultiHeadInputs.of(x), out, 8).close();
            return dot(out, dy);
        };
        alongARandomDirection("x", x, dx, loss, random);
        block.parameters()
                .forEach((name, tensor) -> alongARandomDirection(name, tensor, gradients.get(name), loss, random));
    }

    private static double loss(GatedCrossAttention block, MultiHeadInputs inputs, Tensor dy) {
        Tensor out = zeros(2, 5, 12);
        block.parametersChanged();
        block.forward(CPU, inputs, out);
        return dot(out, dy);
    }

    private static double dot(Tensor out, Tensor dy) {
        double sum = 0;
        for (int i = 0; i < 120; i++) {
            sum += (double) out.toArray()[i] * dy.toArray()[i];
        }
        return sum;
    }

    private static void alongARandomDirection(
            String name, Tensor varied, Tensor gradient, DoubleSupplier loss, Random random) {
        float[] held = varied.toArray();
        double[] direction = new double[held.length];
        double length = 0;
        for (int i = 0; i < held.length; i++) {
            direction[i] = random.nextGaussian();
            length += direction[i] * direction[i];
        }
        double expected = 0;
        for (int i = 0; i < held.length; i++) {
            direction[i] /= Math.sqrt(length);
            expected += direction[i] * gradient.toArray()[i];
        }
        double h = 0x1p-5;
        double[] at = new double[4];
        double[] steps = {-2, -1, 1, 2};
        for (int s = 0; s < 4; s++) {
            move(varied, held, direction, steps[s] * h);
            at[s] = loss.getAsDouble();
        }
        move(varied, held, direction, 0);
        double numeric = (8 * (at[2] - at[1]) - (at[3] - at[0])) / (12 * h);
        assertEquals(numeric, expected, 100 * 0x1p-24 * 10 / h + 50 * Math.pow(h, 4) * 2, name);
    }

    private static void move(Tensor varied, float[] held, double[] direction, double by) {
        float[] moved = new float[held.length];
        for (int i = 0; i < held.length; i++) {
            moved[i] = (float) (held[i] + by * direction[i]);
        }
        Tensor.of(moved, varied.shape().toArray()).copyTo(varied);
    }

    private static GatedCrossAttention gated(double gate) {
        return gated(gate, 10);
    }

    private static GatedCrossAttention gated(double gate, long mediaDim) {
        return gated(gate, GatedCrossAttention.Config.of(12, mediaDim, 3, 20).withActivation(Activation.GELU));
    }

    private static GatedCrossAttention gated(double gate, GatedCrossAttention.Config config) {
        Map<String, Tensor> made = new java.util.LinkedHashMap<>();
        Random random = new Random(9);
        MultiHeadAttention.initialize(Arena.ofAuto(), config.attention(), 3)
                .parameters()
                .forEach((name, tensor) -> made.put("attn." + name, tensor));
        made.put("attn_norm.weight", TestTensors.random(random, 12));
        made.put("attn_norm.bias", TestTensors.random(random, 12));
        made.put("attn_gate", Tensor.of(new float[] {(float) gate}, 1));
        made.put("ff.linear1.weight", scaled(random, 20, 12));
        made.put("ff.linear1.bias", TestTensors.random(random, 20));
        made.put("ff.linear2.weight", scaled(random, 12, 20));
        made.put("ff.linear2.bias", TestTensors.random(random, 12));
        made.put("ff_norm.weight", TestTensors.random(random, 12));
        made.put("ff_norm.bias", TestTensors.random(random, 12));
        made.put("ff_gate", Tensor.of(new float[] {(float) gate}, 1));
        return GatedCrossAttention.of(config, made::get);
    }

    private static Tensor scaled(Random random, long rows, long columns) {
        Tensor tensor = zeros(rows, columns);
        return Numbers.fill(tensor, () -> 0.3 * random.nextGaussian());
    }

    @Test
    void illegalPartsAreRefused() {
        TransformerBlock.Config config = TransformerBlock.Config.of(12, 3, 20);
        IllegalArgumentException missing =
                assertThrows(IllegalArgumentException.class, () -> TransformerBlock.of(config, name -> null));
        assertEquals("in_proj_weight: missing; expected a tensor of shape [36, 12]", missing.getMessage());
        TransformerBlock block = TransformerBlock.initialize(Arena.ofAuto(), config, 1);
        Tensor x = zeros(2, 5, 12);
        IllegalArgumentException overlap = assertThrows(IllegalArgumentException.class, () -> block.forward(CPU, x, x));
        assertTrue(overlap.getMessage().startsWith("y: "), overlap.getMessage());
        Pass pass = block.record(CPU, x, zeros(2, 5, 12));
        assertThrows(IllegalArgumentException.class, () -> pass.backward(zeros(2, 5), zeros(2, 5, 12)));
        pass.close();
        assertThrows(IllegalStateException.class, () -> pass.backward(x, zeros(2, 5, 12)));
        assertThrows(IllegalArgumentException.class, () -> Sequence.of("layers.", List.of()));
        TransformerBlock other = TransformerBlock.initialize(Arena.ofAuto(), config, 1);
        assertThrows(
                IllegalArgumentException.class,
                () -> Sequence.of(new Sequence.Part("a.", block), new Sequence.Part("a.", other)));
        assertThrows(IllegalArgumentException.class, () -> config.withDropout(2));
    }

    private static Tensor zeros(long... dims) {
        return TestTensors.zeros(DType.F32, Shape.of(dims).toArray());
    }
}
