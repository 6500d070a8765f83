package io.multihead.train;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.gemm.Activation;
import io.multihead.nn.Gradients;
import io.multihead.nn.Pass;
import io.multihead.nn.Sequence;
import io.multihead.nn.attention.MultiHeadConfig;
import io.multihead.nn.attention.TransformerBlock;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/**
 * The memory of a step is compared with the formulas of the page. After the step, the Compute holds all arrays of the
 * pass and of its backward, and the scratch memory of its thread. All arrays together are smaller than 64 MiB, below
 * which all are kept.
 */
class StepMemoryTest {
    private static final int LAYERS = 6;
    private static final int TOKENS = 1024;
    private static final int DIM = 64;
    private static final int HEADS = 4;

    private static void assertWithin(TransformerBlock.Config config, int keyValueHeads, long perToken, long inner) {
        try (Arena arena = Arena.ofShared();
                Compute cpu = Compute.serial()) {
            List<TransformerBlock> blocks = IntStream.range(0, LAYERS)
                    .mapToObj(i -> TransformerBlock.initialize(
                            arena, config.withAttention(config.attention().withKeyValueHeads(keyValueHeads)), i))
                    .toList();
            Sequence model = Sequence.of("layers.", blocks);
            Map<String, Tensor> gradients = Gradients.zeros(arena, model);
            AdamW optimizer = AdamW.of(model.parameters(), AdamW.Options.DEFAULT);
            Shape shape = Shape.of(TOKENS / 128, 128, DIM);
            Tensor x = Tensor.allocate(arena, DType.F32, shape);
            x.fill(0.5);
            Tensor y = Tensor.allocate(arena, DType.F32, shape);
            try (Pass pass = model.record(cpu, x, y)) {
                pass.backward(x, null, gradients);
            }
            optimizer.step(cpu, gradients, 1e-3);
            long parameters = model.parameters().values().stream()
                    .mapToLong(tensor -> tensor.shape().elements())
                    .sum();
            // parameters, gradients, and both moments
            long fixed = 16 * parameters;
            long formula = fixed + LAYERS * TOKENS * perToken + 4L * TOKENS * (8 * DIM + 3 * inner);
            long measured = fixed + cpu.heldBytes();
            assertTrue(measured <= 1.2 * formula, measured + " bytes beside " + formula);
            assertTrue(measured >= 0.8 * formula, measured + " bytes beside " + formula);
        }
    }

    @Test
    void aStepOfBertsBlocksTakesWhatTheFormulaSays() {
        int inner = 256;
        assertWithin(
                TransformerBlock.Config.of(DIM, HEADS, inner).withActivation(Activation.GELU),
                HEADS,
                4 * (10 * DIM + 2 * inner),
                inner);
    }

    @Test
    void aStepOfLlamasBlocksTakesWhatTheFormulaSays() {
        int inner = 160;
        TransformerBlock.Config config = TransformerBlock.Config.of(DIM, HEADS, inner)
                .withAttention(MultiHeadConfig.of(DIM, HEADS).withBias(false))
                .withActivation(Activation.SILU)
                .withNormFirst(true)
                .withRmsNorm(true)
                .withGate(true);
        int keys = DIM / 2;
        assertWithin(config, HEADS / 2, 4 * (6 * DIM + 2 * DIM + 2 * keys + 4 * inner), inner);
    }
}
