package io.multihead.attention;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import io.multihead.compute.Compute;
import io.multihead.faults.Named;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import org.junit.jupiter.api.Test;

/** Attention without heads, softmax with the smallest and largest number of axes, and softmax in place. */
class NoHeadsTest {
    private static final Compute CPU = Compute.serial();

    private static Tensor zeros(long... dims) {
        return Tensor.of(new float[(int) Shape.of(dims).elements()], dims);
    }

    @Test
    void noHeadsOfKeysServeNoHeadsOfQueries() {
        Tensor none = zeros(1, 0, 3, 4);
        Tensor heads = zeros(1, 2, 3, 4);
        AttentionOptions options = AttentionOptions.DEFAULT;
        Attention.forward(CPU, none, none, none, zeros(1, 0, 3, 4), options);
        AttentionOutputs output = AttentionOutputs.of(zeros(1, 2, 3, 4));
        Attention.forward(CPU, none, KeyValueView.of(none, none), AttentionOutputs.of(zeros(1, 0, 3, 4)), options);
        Named.message(
                "query: shape [1, 2, 3, 4]; expected a multiple of the 0 heads of key [1, 0, 3, 4]",
                () -> Attention.forward(CPU, heads, none, none, output, options));
        Named.message(
                "query: shape [1, 2, 3, 4]; expected a multiple of the 0 heads of keyValues",
                () -> Attention.forward(CPU, heads, KeyValueView.of(none, none), output, options));
        Tensor odd = zeros(1, 3, 3, 4);
        Named.message(
                "query: shape [1, 3, 3, 4]; expected a multiple of the 2 heads of keyValues",
                () -> Attention.forward(
                        CPU, odd, KeyValueView.of(heads, heads), AttentionOutputs.of(zeros(1, 3, 3, 4)), options));
    }

    @Test
    void softmaxTakesOneToFourAxes() {
        for (Tensor wrong : new Tensor[] {zeros(1).select(0, 0), zeros(1, 1, 1, 1, 2)}) {
            Named.message(
                    "scores: shape " + wrong.shape() + "; expected one to four axes",
                    () -> Softmax.forward(CPU, wrong, wrong, null, AttentionOptions.DEFAULT));
            Named.message(
                    "output: shape " + wrong.shape() + "; expected one to four axes",
                    () -> Softmax.backward(CPU, wrong, wrong, wrong, AttentionOptions.DEFAULT));
        }
        for (Tensor scores : new Tensor[] {zeros(2), zeros(1, 1, 1, 2)}) {
            Softmax.forward(CPU, scores, scores, null, AttentionOptions.DEFAULT);
            assertArrayEquals(new float[] {0.5f, 0.5f}, scores.toArray());
        }
    }

    @Test
    void softmaxGradientsMayReplaceEitherOperand() {
        Tensor output = Tensor.of(new float[] {0.25f, 0.75f});
        Tensor upstream = Tensor.of(new float[] {1, 3});
        Tensor gradient = zeros(2);
        Softmax.backward(CPU, output, upstream, gradient, AttentionOptions.DEFAULT);
        assertArrayEquals(new float[] {-0.375f, 0.375f}, gradient.toArray()); // p (dp - sum p dp), exact in f32
        Tensor first = Tensor.of(new float[] {0.25f, 0.75f});
        Softmax.backward(CPU, first, upstream, first, AttentionOptions.DEFAULT);
        assertArrayEquals(gradient.toArray(), first.toArray());
        Softmax.backward(CPU, output, upstream, upstream, AttentionOptions.DEFAULT);
        assertArrayEquals(gradient.toArray(), upstream.toArray());
    }
}
