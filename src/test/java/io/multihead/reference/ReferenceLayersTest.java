package io.multihead.reference;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.SplittableRandom;
import java.util.function.DoubleUnaryOperator;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** The gradients of every layer's specification are compared with central differences. */
class ReferenceLayersTest {
    private final SplittableRandom random = new SplittableRandom(5);

    @Test
    void linear() {
        double[] x = normal(5 * 3);
        double[] weight = normal(4 * 3);
        double[] bias = normal(4);
        double[] dy = normal(5 * 4);
        ReferenceLinear.Gradients gradients = ReferenceLinear.backward(x, weight, dy, 4, 3);
        Differences.check(gradients.x(), x, dy, at -> ReferenceLinear.forward(at, weight, bias, 4, 3));
        Differences.check(gradients.weight(), weight, dy, at -> ReferenceLinear.forward(x, at, bias, 4, 3));
        Differences.check(gradients.bias(), bias, dy, at -> ReferenceLinear.forward(x, weight, at, 4, 3));
    }

    @Test
    void norms() {
        for (boolean centered : new boolean[] {true, false}) {
            double[] x = normal(7);
            double[] weight = normal(7);
            double[] bias = normal(7);
            double[] dy = normal(7);
            Differences.check(
                    ReferenceNorm.backward(x, weight, dy, 0.1, centered),
                    x,
                    dy,
                    at -> ReferenceNorm.forward(at, weight, bias, 0.1, centered));
            double[] z = ReferenceNorm.normalized(x, 0.1, centered);
            double[] dweight =
                    IntStream.range(0, 7).mapToDouble(i -> dy[i] * z[i]).toArray();
            Differences.check(dweight, weight, dy, at -> ReferenceNorm.forward(x, at, bias, 0.1, centered));
            Differences.check(dy, bias, dy, at -> ReferenceNorm.forward(x, weight, at, 0.1, centered));
        }
    }

    @Test
    void activations() {
        double[] x = IntStream.rangeClosed(-130, 130).mapToDouble(i -> i / 10.0).toArray();
        double[] dy = normal(x.length);
        slopes(x, dy, ReferenceActivation::geluSlope, ReferenceActivation::gelu);
        slopes(x, dy, ReferenceActivation::geluTanhSlope, ReferenceActivation::geluTanh);
    }

    private static void slopes(double[] x, double[] dy, DoubleUnaryOperator slope, DoubleUnaryOperator function) {
        double[] gradient = IntStream.range(0, x.length)
                .mapToDouble(i -> dy[i] * slope.applyAsDouble(x[i]))
                .toArray();
        for (int i = 0; i < x.length; i++) { // one by one, so that large slopes hide no errors
            Differences.check(new double[] {gradient[i]}, new double[] {x[i]}, new double[] {dy[i]}, at ->
                    new double[] {function.applyAsDouble(at[0])});
        }
    }

    /** The tail is {@code Phi(-t)} to 15 digits, as in tables of the normal distribution. */
    @Test
    void theNormalTail() {
        assertEquals(0.5, ReferenceActivation.tail(0));
        assertEquals(1, ReferenceActivation.tail(1) / 0.158655253931457, 1e-13);
        assertEquals(1, ReferenceActivation.tail(2) / 2.27501319481792e-2, 1e-13);
        assertEquals(1, ReferenceActivation.tail(3) / 1.34989803163009e-3, 1e-13);
        assertEquals(1, ReferenceActivation.tail(5) / 2.86651571879194e-7, 1e-13);
        assertEquals(1, ReferenceActivation.tail(10) / 7.61985302416053e-24, 1e-13);
        // both formulas agree at the point where they meet
        assertEquals(1, ReferenceActivation.tail(Math.nextDown(3.0)) / ReferenceActivation.tail(3), 1e-12);
    }

    @Test
    void crossEntropy() {
        double[] logits = normal(4 * 5);
        int[] targets = {2, 0, -1, 4};
        double[] gradient = ReferenceCrossEntropy.backward(logits, targets, -1);
        Differences.check(gradient, logits, new double[] {1}, at ->
                new double[] {ReferenceCrossEntropy.forward(at, targets, -1)});
    }

    private double[] normal(int length) {
        return IntStream.range(0, length)
                .mapToDouble(i -> random.nextGaussian())
                .toArray();
    }
}
