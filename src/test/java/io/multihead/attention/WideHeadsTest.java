package io.multihead.attention;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.multihead.compute.Compute;
import io.multihead.internal.attention.AttentionBlocking;
import io.multihead.internal.kernel.Lanes;
import io.multihead.tensor.Tensor;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** The scratch memory of these heads would have more elements than an int can count. The message names the size, and nothing is written. */
class WideHeadsTest {
    private static final Compute CPU = Compute.serial();
    private static final long WIDE = AttentionBlocking.MAX_DIM + 1L;
    private static final long WIDE_BACKWARD = AttentionBlocking.BACKWARD_MAX_DIM + 1L;

    private final float[] result = {-7, -7};
    private final Tensor output = Tensor.of(result, 1, 1, 1, 2);
    private final Tensor two = Tensor.of(new float[2], 1, 1, 1, 2);
    /** Outputs without queries take no memory. */
    private final Tensor wideOutput = Tensor.of(new float[0], 1, 1, 0, WIDE);

    @Test
    void anIntCountsTheLongestBuffers() {
        assertEquals(8388576, AttentionBlocking.MAX_DIM);
        assertEquals(3947576, AttentionBlocking.BACKWARD_MAX_DIM);
        assertEquals(0, AttentionBlocking.MAX_DIM % Lanes.PANEL, "padding must not exceed the maximum");
    }

    @Test
    void forward() {
        String message = "headDim: 8388577; expected at most 8388576";
        fails(message, () -> Attention.forward(CPU, same(WIDE), same(WIDE), two, output, AttentionOptions.DEFAULT));
        fails(message, () -> KeyValueView.of(same(WIDE), two));
        fails(message, () -> forward(same(WIDE), pages(same(WIDE), two), output));
        Tensor none = two.slice(2, 0, 0);
        fails(
                "valueDim: 8388577; expected at most 8388576",
                () -> Attention.forward(CPU, none, two, same(WIDE), wideOutput, AttentionOptions.DEFAULT));
        fails("valueDim: 8388577; expected at most 8388576", () -> forward(none, pages(two, same(WIDE)), wideOutput));
    }

    @Test
    void splits() {
        String message = "valueDim: 8388577; expected at most 8388576";
        fails(message, () -> AttentionSplits.shape(two, pages(two, same(WIDE))));
        fails(
                message,
                () -> AttentionSplits.forward(CPU, two, pages(two, same(WIDE)), output, AttentionOptions.DEFAULT));
        fails(message, () -> AttentionSplits.merge(CPU, List.of(output), AttentionOutputs.of(wideOutput)));
    }

    /** The size overflows to 8 if it is cast to an int. */
    @Test
    void states() {
        Tensor none = Tensor.of(new float[0], 1, 1, 0, (1L << 32) + 8);
        AttentionState state = new AttentionState(none, Tensor.of(new double[0], 1, 1, 0));
        fails("valueDim: 4294967304; expected 0 to 2147483575", () -> AttentionState.merge(CPU, state, state, state));
    }

    @Test
    void backward() {
        fails(
                "headDim: 3947577; expected at most 3947576",
                () -> backward(same(WIDE_BACKWARD), two, AttentionGradients.of(null, null, output)));
        fails(
                "valueDim: 3947577; expected at most 3947576",
                () -> backward(two, same(WIDE_BACKWARD), AttentionGradients.of(output, null, null)));
    }

    private static void backward(Tensor key, Tensor value, AttentionGradients gradients) {
        AttentionOutputs outputs = AttentionOutputs.of(value).withLogSumExp(Tensor.of(new double[1], 1, 1, 1));
        AttentionPass pass = new AttentionPass(key, key, value, outputs, AttentionOptions.DEFAULT);
        Attention.backward(CPU, pass, value, gradients);
    }

    private static void forward(Tensor query, KeyValueView view, Tensor output) {
        Attention.forward(CPU, query, view, AttentionOutputs.of(output), AttentionOptions.DEFAULT);
    }

    private static KeyValueView pages(Tensor key, Tensor value) {
        return KeyValueView.pages(List.of(key.select(0, 0)), List.of(value.select(0, 0)), 1);
    }

    /** Returns one row whose elements share one stored element. */
    private static Tensor same(long dim) {
        return Tensor.of(new float[1], 1, 1, 1, 1).broadcast(1, 1, 1, dim);
    }

    private void fails(String message, Executable call) {
        assertEquals(message, assertThrows(IllegalArgumentException.class, call).getMessage());
        assertArrayEquals(new float[] {-7, -7}, result);
    }
}
