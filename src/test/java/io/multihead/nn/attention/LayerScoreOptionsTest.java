package io.multihead.nn.attention;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.attention.AttentionOptions;
import io.multihead.attention.ScoreOptions;
import io.multihead.compute.Compute;
import io.multihead.faults.Named;
import io.multihead.support.TestTensors;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Score options of a layer: sinks count once in addition to extra keys, and backward reports missing options. */
class LayerScoreOptionsTest {
    private static final Compute CPU = Compute.serial();

    /** A key and value of zeros equals a sink of score 0. The layer must not count its other sinks a second time. */
    @Test
    void sinksCountOnceBesideExtraKeys() {
        MultiHeadConfig sinks = MultiHeadConfig.of(12, 3).withOptions(options(0f, 0f, 0f));
        MultiHeadConfig both = sinks.withZeroKey(true);
        MultiHeadConfig two = MultiHeadConfig.of(12, 3)
                .withOptions(options((float) Math.log(2), (float) Math.log(2), (float) Math.log(2)));
        Tensor x = TestTensors.random(new Random(1), 2, 7, 12);
        Tensor expected = run(two, x);
        Tensor actual = run(both, x);
        for (int i = 0; i < 2 * 7 * 12; i++) {
            double error = Math.abs(actual.get(i / 84, i / 12 % 7, i % 12) - expected.get(i / 84, i / 12 % 7, i % 12));
            // the same sums of 12 products below 1, in two orders
            assertTrue(error <= 64 * 0x1p-24, "element " + i + ": " + error);
        }
    }

    private static AttentionOptions options(float... sinks) {
        return AttentionOptions.DEFAULT.withScores(ScoreOptions.NONE.withSinks(sinks));
    }

    private static Tensor run(MultiHeadConfig config, Tensor x) {
        Tensor y = TestTensors.zeros(DType.F32, 2, 7, 12);
        MultiHeadAttention.initialize(Arena.ofAuto(), config, 5).forward(CPU, x, y);
        return y;
    }

    @Test
    void backwardSaysWhatItLacks() {
        MultiHeadConfig modified = MultiHeadConfig.of(12, 3)
                .withOptions(AttentionOptions.CAUSAL.withScores(
                        ScoreOptions.NONE.withModifier((batch, head, query, key, score) -> score)));
        Tensor x = TestTensors.random(new Random(1), 2, 7, 12);
        Tensor y = TestTensors.zeros(DType.F32, 2, 7, 12);
        MultiHeadAttention layer = MultiHeadAttention.initialize(Arena.ofAuto(), modified, 5);
        String message = "modifier: given; expected none, as backward does not know its derivative";
        Named.message(message, () -> layer.record(CPU, x, y));
        try (MultiHeadPass pass = layer.record(CPU, MultiHeadInputs.of(x), MultiHeadOutputs.of(y), 0)) {
            Named.message(message, () -> pass.backward(x, MultiHeadGradients.NONE, Map.of()));
        }
    }
}
