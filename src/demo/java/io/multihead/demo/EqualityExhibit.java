package io.multihead.demo;

import static io.multihead.demo.HeadExhibits.format;

import io.multihead.nn.MultiHeadAttention;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.awt.BasicStroke;
import java.lang.foreign.Arena;
import java.util.List;
import java.util.Map;
import org.knowm.xchart.XYChart;
import org.knowm.xchart.style.lines.SeriesLines;

/** Exhibit 7: with one head, the layer is plain self-attention, here written out in double. */
final class EqualityExhibit {
    private EqualityExhibit() {}

    static Exhibit draw(Subject subject) {
        MultiHeadAttention layer = subject.layer(1);
        Tensor output =
                Tensor.allocate(Arena.ofAuto(), DType.F32, subject.embedded().shape());
        layer.forward(subject.cpu(), subject.embedded(), output);
        double[][] plain = plain(matrix(subject.embedded().select(0, 0)), layer.parameters());
        double[][] actual = matrix(output.select(0, 0));
        double worst = 0;
        double largest = 0;
        double[] x = new double[plain.length * Subject.EMBED_DIM];
        double[] y = new double[x.length];
        for (int at = 0; at < x.length; at++) {
            x[at] = plain[at / Subject.EMBED_DIM][at % Subject.EMBED_DIM];
            y[at] = actual[at / Subject.EMBED_DIM][at % Subject.EMBED_DIM];
            worst = Math.max(worst, Math.abs(x[at] - y[at]));
            largest = Math.max(largest, Math.abs(x[at]));
        }
        XYChart chart = Charts.lines(
                "Every output of both", "plain self-attention, float64", "the layer with one head, f32", false);
        Charts.line(chart, "outputs", x, y, false).setLineStyle(SeriesLines.NONE);
        chart.getStyler().setMarkerSize(3);
        Charts.line(chart, "equality", new double[] {-largest, largest}, new double[] {-largest, largest}, true)
                .setLineStyle(new BasicStroke(1f));
        return new Exhibit(
                "One head is plain self-attention",
                "The layer with h = 1 against softmax(X Wq (X Wk)ᵀ / √d) X Wv Wo, written out as loops over doubles.",
                List.of(Charts.draw("equality", chart)),
                format(
                        "Over %,d outputs of up to %.3f the largest difference is %.2e, %.1f units of f32's roundoff 2⁻²⁴ of the "
                                + "largest output.",
                        x.length, largest, worst, worst / largest * 0x1p24));
    }

    private static double[][] plain(double[][] x, Map<String, Tensor> parameters) {
        int d = Subject.EMBED_DIM;
        Tensor in = parameters.get("in_proj_weight");
        Tensor inBias = parameters.get("in_proj_bias");
        double[][] q = project(x, in.slice(0, 0, d), inBias.slice(0, 0, d));
        double[][] k = project(x, in.slice(0, d, 2 * d), inBias.slice(0, d, 2 * d));
        double[][] v = project(x, in.slice(0, 2 * d, 3 * d), inBias.slice(0, 2 * d, 3 * d));
        double[][] attended = new double[x.length][d];
        for (int i = 0; i < x.length; i++) {
            double sum = 0;
            for (int j = 0; j < x.length; j++) {
                double score = 0;
                for (int c = 0; c < d; c++) {
                    score += q[i][c] * k[j][c];
                }
                double p = Math.exp(score / Math.sqrt(d));
                sum += p;
                for (int c = 0; c < d; c++) {
                    attended[i][c] += p * v[j][c];
                }
            }
            for (int c = 0; c < d; c++) {
                attended[i][c] /= sum;
            }
        }
        return project(attended, parameters.get("out_proj.weight"), parameters.get("out_proj.bias"));
    }

    private static double[][] project(double[][] x, Tensor weight, Tensor bias) {
        double[][] result = new double[x.length][(int) weight.dim(0)];
        for (int i = 0; i < x.length; i++) {
            for (int o = 0; o < result[i].length; o++) {
                result[i][o] = bias.get(o);
                for (int c = 0; c < x[i].length; c++) {
                    result[i][o] += x[i][c] * weight.get(o, c);
                }
            }
        }
        return result;
    }

    private static double[][] matrix(Tensor tensor) {
        double[][] matrix = new double[(int) tensor.dim(0)][(int) tensor.dim(1)];
        for (int i = 0; i < matrix.length; i++) {
            for (int j = 0; j < matrix[i].length; j++) {
                matrix[i][j] = tensor.get(i, j);
            }
        }
        return matrix;
    }
}
