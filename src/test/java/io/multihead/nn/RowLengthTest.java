package io.multihead.nn;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.multihead.compute.Compute;
import io.multihead.internal.nn.RowView;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import org.junit.jupiter.api.Test;

/** Rows that no Java array can hold: the message states the size that was given. */
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

    @Test
    void whatFitsPasses() {
        assertEquals(2147483575, RowView.requireLength(2147483575, 1, "row"));
        refuses("row: 2147483576; expected 0 to 2147483575", () -> RowView.requireLength(2147483576L, 1, "row"));
        assertEquals(1073741755, RowView.requireLength(1073741755, 2, "row"));
        refuses("row: -1; expected 0 to 1073741755", () -> RowView.requireLength(-1, 2, "row"));
    }
}
