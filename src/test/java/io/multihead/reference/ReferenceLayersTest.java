package io.multihead.reference;

import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** The gradients of every layer's specification against central differences (promise C5). */
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

    private double[] normal(int length) {
        return IntStream.range(0, length)
                .mapToDouble(i -> random.nextGaussian())
                .toArray();
    }
}
