package io.multihead.demo;

import static io.multihead.demo.HeadExhibits.format;

import io.multihead.nn.Pass;
import io.multihead.nn.attention.MultiHeadAttention;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.awt.BasicStroke;
import java.lang.foreign.Arena;
import java.util.Arrays;
import java.util.List;
import org.knowm.xchart.XYChart;
import org.knowm.xchart.style.lines.SeriesLines;

/**
 * Exhibit 7: with one head, the layer equals plain self-attention, which is written here as loops in double, forward
 * and backward.
 */
final class EqualityExhibit {
    private EqualityExhibit() {}

    static Exhibit draw(Subject subject) {
        MultiHeadAttention layer = subject.layer(1);
        Tensor x = subject.embedded();
        Tensor output = Tensor.allocate(Arena.ofAuto(), DType.F32, x.shape());
        Tensor gradient = Tensor.allocate(Arena.ofAuto(), DType.F32, x.shape());
        // the gradient of the loss at the output can be any tensor; here it is the input
        try (Pass pass = layer.record(subject.cpu(), x, output)) {
            pass.backward(x, gradient);
        }
        PlainAttention plain = new PlainAttention(Values.matrix(x.select(0, 0)), layer.parameters());
        Comparison forward = new Comparison(plain.output(), Values.matrix(output.select(0, 0)));
        Comparison backward = new Comparison(plain.inputGradient(plain.input()), Values.matrix(gradient.select(0, 0)));
        return new Exhibit(
                "One head is plain self-attention",
                "The layer with h = 1 is compared with softmax(X Wq (X Wk)ᵀ / √d) X Wv Wo as loops in double, and the gradient "
                        + "of a loss with respect to X with the derivative of these loops.",
                List.of(
                        chart("equality", "Every output of both", forward),
                        chart("equality-backward", "Every element of dL/dX of both", backward)),
                format(
                        "Over %,d outputs of up to %.3f the largest difference is %.2e, and over as many gradients of up to %.3f it is %.2e: "
                                + "%.1f and %.1f units of f32's roundoff 2⁻²⁴ of the largest.",
                        forward.x.length,
                        forward.largest,
                        forward.worst,
                        backward.largest,
                        backward.worst,
                        forward.worst / forward.largest * 0x1p24,
                        backward.worst / backward.largest * 0x1p24));
    }

    private static Exhibit.Picture chart(String name, String title, Comparison both) {
        XYChart chart = Charts.lines(title, "plain self-attention, float64", "the layer with one head, f32", false);
        Charts.line(chart, "elements", both.x, both.y, false).setLineStyle(SeriesLines.NONE);
        chart.getStyler().setMarkerSize(3);
        double[] ends = {-both.largest, both.largest};
        Charts.line(chart, "equality", ends, ends, true).setLineStyle(new BasicStroke(1f));
        return Charts.draw(name, chart);
    }

    /** Compares two matrices element by element. */
    private static final class Comparison {
        final double[] x;
        final double[] y;
        final double worst;
        final double largest;

        Comparison(double[][] plain, double[][] actual) {
            x = Arrays.stream(plain).flatMapToDouble(Arrays::stream).toArray();
            y = Arrays.stream(actual).flatMapToDouble(Arrays::stream).toArray();
            double most = 0;
            double size = 0;
            for (int i = 0; i < x.length; i++) {
                most = Math.max(most, Math.abs(x[i] - y[i]));
                size = Math.max(size, Math.abs(x[i]));
            }
            worst = most;
            largest = size;
        }
    }
}
