package io.multihead.nn.attention;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.multihead.attention.AttentionOptions;
import io.multihead.attention.Mask;
import io.multihead.attention.ScoreOptions;
import io.multihead.compute.Compute;
import io.multihead.support.TestTensors;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** A layer reduced to some of its heads keeps the options of these heads. */
class KeptHeadsTest {
    private static final Compute CPU = Compute.serial();
    private static final ScoreOptions SCORES =
            ScoreOptions.NONE.withSlopes(0.5f, 0.25f, 0.125f).withSinks(1, -2, 3);

    private final Random random = new Random(1);
    private final Tensor x = TestTensors.random(random, 2, 5, 12);

    @Test
    void slopesAndSinksAreThoseOfTheKeptHeads() {
        requireEqualToMasked(AttentionOptions.CAUSAL.withScores(SCORES));
    }

    @Test
    void tensorsOfMasksAreThoseOfTheKeptHeads() {
        requireEqualToMasked(AttentionOptions.DEFAULT.withMask(Mask.bias(TestTensors.random(random, 3, 5, 5))));
        requireEqualToMasked(AttentionOptions.DEFAULT.withMask(Mask.drop(TestTensors.flags(random, 2, 3, 1, 5))));
        requireEqualToMasked(AttentionOptions.DEFAULT.withMask(
                Mask.keep(TestTensors.flags(random, 5, 5)).and(Mask.bias(TestTensors.random(random, 2, 1, 5, 5)))));
    }

    /**
     * Compares a layer with two of three heads, in reverse order, with the whole layer and a mask of the middle head.
     */
    private void requireEqualToMasked(AttentionOptions options) {
        MultiHeadConfig config = MultiHeadConfig.of(12, 3).withOptions(options);
        MultiHeadAttention layer = MultiHeadAttention.initialize(Arena.ofAuto(), config, 7);
        Tensor masked = TestTensors.zeros(DType.F32, 2, 5, 12);
        MultiHeadInputs inputs = MultiHeadInputs.of(x).withHeadMask(Tensor.of(new float[] {1, 0, 1}, 3));
        layer.forward(CPU, inputs, MultiHeadOutputs.of(masked));
        Tensor kept = TestTensors.zeros(DType.F32, 2, 5, 12);
        layer.keepHeads(Arena.ofAuto(), 2, 0).forward(CPU, x, kept);
        // the output projection adds 12 or 8 products, in another order: up to 12 roundings of values around 1
        assertArrayEquals(masked.toArray(), kept.toArray(), 12 * 0x1p-23f);
    }

    @Test
    void aModifierIsRefused() {
        AttentionOptions modified = AttentionOptions.DEFAULT.withScores(
                ScoreOptions.NONE.withModifier((batch, head, query, key, score) -> head * score));
        MultiHeadAttention layer = MultiHeadAttention.initialize(
                Arena.ofAuto(), MultiHeadConfig.of(12, 3).withOptions(modified), 7);
        refuses(
                "modifier: given; expected none, as it would see other head indices",
                () -> layer.keepHeads(Arena.ofAuto(), 1));
    }

    @Test
    void headsThatOptionsDoNotHaveAreRefused() {
        AttentionOptions slopes = AttentionOptions.DEFAULT.withScores(SCORES);
        refuses("heads: 3; expected 0 to 2", () -> slopes.selectHeads(Arena.ofAuto(), 0, 3));
        AttentionOptions masked = AttentionOptions.DEFAULT.withMask(Mask.bias(TestTensors.random(random, 3, 5, 5)));
        refuses("heads: -1; expected 0 to 2", () -> masked.selectHeads(Arena.ofAuto(), -1));
    }

    private static void refuses(String message, Runnable call) {
        assertEquals(
                message, assertThrows(IllegalArgumentException.class, call::run).getMessage());
    }
}
