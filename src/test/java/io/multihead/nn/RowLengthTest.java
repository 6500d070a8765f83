package io.multihead.nn;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.multihead.attention.AttentionOptions;
import io.multihead.attention.Softmax;
import io.multihead.compute.Compute;
import io.multihead.internal.nn.RowView;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import org.junit.jupiter.api.Test;

/** For rows that no Java array can hold, the message states the given size. */
class RowLengthTest {
    private static final long LONG = 1L << 41;

    private static void refuses(String message, Runnable call) {
        assertEquals(
                message, assertThrows(IllegalArgumentException.class, call::run).getMessage());
    }

    @Test
    void messagesStateTheSizeThatWasGiven() {
        Tensor one = Tensor.of(new float[1], 1, 1);
        refuses("dim of weight: 2199023255552; expected 0 to 2147483575", () -> Embedding.of(one.broadcast(1, LONG)));
        refuses("classes: 2199023255552; expected 0 to 2147483575", () -> CrossEntropy.of()
                .forward(Compute.serial(), one.broadcast(1, LONG), new int[1]));
        refuses(
                "elements of a row: 2199023255552; expected 0 to 1073741755",
                () -> RmsNorm.of(Shape.of(LONG), 1e-6, null).outputShape(Shape.of(LONG)));
    }

    /** The length is rounded up to whole panels, which would be 2^31. */
    @Test
    void theSoftmaxRoundsRowsUp() {
        Tensor rows = Tensor.of(new float[0], 0, Integer.MAX_VALUE - 8);
        String message = "keys: 2147483639; expected 0 to 2147483575";
        refuses(message, () -> Softmax.forward(Compute.serial(), rows, rows, null, AttentionOptions.DEFAULT));
        refuses(message, () -> Softmax.backward(Compute.serial(), rows, rows, rows, AttentionOptions.DEFAULT));
    }

    @Test
    void whatFitsPasses() {
        assertEquals(2147483575, RowView.requireLength(2147483575, 1, "row"));
        refuses("row: 2147483576; expected 0 to 2147483575", () -> RowView.requireLength(2147483576L, 1, "row"));
        assertEquals(1073741755, RowView.requireLength(1073741755, 2, "row"));
        refuses("row: -1; expected 0 to 1073741755", () -> RowView.requireLength(-1, 2, "row"));
    }
}
