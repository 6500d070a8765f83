package io.multihead.attention;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.multihead.faults.Named;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Views of keys and values report their sizes and refuse lengths that are too large. */
class KeyValueViewTest {
    private static Tensor zeros(long... dims) {
        return Tensor.of(new float[(int) Shape.of(dims).elements()], dims);
    }

    private static void has(KeyValueView view, int sequences, int heads, int headDim, int valueDim, long... keys) {
        assertEquals(sequences, view.sequences());
        assertEquals(heads, view.heads());
        assertEquals(headDim, view.headDim());
        assertEquals(valueDim, view.valueDim());
        for (int s = 0; s < keys.length; s++) {
            assertEquals(keys[s], view.keys(s));
            assertEquals(0, view.firstKey(s));
        }
        for (int bad : new int[] {-1, sequences}) {
            String message = "sequence: " + bad + "; expected 0 to " + (sequences - 1);
            Named.message(message, () -> view.keys(bad));
            Named.message(message, () -> view.firstKey(bad));
        }
    }

    @Test
    void viewsHaveTheSizesOfTheirTensors() {
        KeyValueView whole = KeyValueView.of(zeros(2, 3, 7, 4), zeros(2, 3, 7, 5));
        assertEquals(7, whole.maxKeys());
        has(whole, 2, 3, 4, 5, 7, 7);
        KeyValueView parts = KeyValueView.of(zeros(2, 3, 7, 4), zeros(2, 3, 7, 5), 0, 6);
        assertEquals(7, parts.maxKeys());
        has(parts, 2, 3, 4, 5, 0, 6);
        has(KeyValueView.of(zeros(2, 3, 7, 4), zeros(2, 3, 7, 5), 7, 1), 2, 3, 4, 5, 7, 1);
        PackedSequences packed = PackedSequences.ofLengths(2, 0, 5);
        KeyValueView together = KeyValueView.packed(zeros(1, 3, 7, 4), zeros(1, 3, 7, 5), packed);
        assertEquals(5, together.maxKeys());
        has(together, 3, 3, 4, 5, 2, 0, 5);
        List<Tensor> keys = List.of(zeros(3, 4, 6), zeros(3, 4, 6));
        has(KeyValueView.pages(keys, List.of(zeros(3, 4, 5), zeros(3, 4, 5)), 7), 1, 3, 6, 5, 7);
    }

    @Test
    void lengthsFitTheTensors() {
        Tensor key = zeros(2, 3, 7, 4);
        Named.message(
                "lengths: 8; expected 0 to 7, the tokens of key [2, 3, 7, 4]",
                () -> KeyValueView.of(key, zeros(2, 3, 7, 4), 7, 8));
        Named.message(
                "lengths: -1; expected 0 to 7, the tokens of key [2, 3, 7, 4]",
                () -> KeyValueView.of(key, zeros(2, 3, 7, 4), -1, 0));
        Named.message(
                "lengths: 1 lengths; expected one per sequence of 2, as in key [2, 3, 7, 4]",
                () -> KeyValueView.of(key, zeros(2, 3, 7, 4), 3));
        Named.message(
                "key: shape [2, 3, 7]; expected [sequences, keyValueHeads, maxTokens, headDim]",
                () -> KeyValueView.of(zeros(2, 3, 7), zeros(2, 3, 7, 4), 3, 4));
        for (Tensor wrong : List.of(zeros(2, 3, 6, 4), zeros(2, 2, 7, 4), zeros(1, 3, 7, 4), zeros(3, 7, 4))) {
            Named.named("value", () -> KeyValueView.of(key, wrong, 3, 4));
        }
        PackedSequences packed = PackedSequences.ofLengths(7);
        for (Tensor wrong : List.of(key, zeros(1, 3, 7))) {
            Named.message(
                    "key: shape " + wrong.shape() + "; expected [1, heads, tokens, dim] of packed tokens",
                    () -> KeyValueView.packed(wrong, zeros(1, 3, 7, 4), packed));
        }
    }

    /** The error gives the shape of the first page of the same kind: keys and values may have different dims. */
    @Test
    void pagesOfAnotherShapeAreToldTheirOwn() {
        Tensor key = zeros(3, 4, 6);
        Tensor value = zeros(3, 4, 5);
        Named.message(
                "values[1]: shape [3, 4, 6]; expected [3, 4, 5], heads and tokens as of keys[0] [3, 4, 6]",
                () -> KeyValueView.pages(List.of(key, key), List.of(value, key), 7));
        Named.message(
                "keys[1]: shape [3, 4, 5]; expected [3, 4, 6], heads and tokens as of keys[0] [3, 4, 6]",
                () -> KeyValueView.pages(List.of(key, value), List.of(value, value), 7));
        Named.message(
                "values[0]: shape [3, 7, 5]; expected [3, 4, 5], heads and tokens as of keys[0] [3, 4, 6]",
                () -> KeyValueView.pages(List.of(key), List.of(zeros(3, 7, 5)), 4));
    }
}
