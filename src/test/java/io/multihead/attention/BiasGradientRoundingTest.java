package io.multihead.attention;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.support.Numbers;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** The gradient of a bias is summed in double over the elements that the bias broadcasts to, and rounded once. */
class BiasGradientRoundingTest {
    private static final Shape SHAPE = Shape.of(40, 2, 33, 8);

    private final SplittableRandom random = new SplittableRandom(7);
    private final Tensor query = random();
    private final Tensor key = random();
    private final Tensor value = random();
    private final Tensor upstream = random();

    @Test
    void everyElementTypeHoldsTheRoundedSum() {
        Tensor exact = gradient(DType.F64);
        boolean digits = false;
        for (DType dtype : new DType[] {DType.F32, DType.BF16, DType.F16}) {
            Tensor actual = gradient(dtype);
            Tensor expected = Tensor.allocate(Arena.ofAuto(), dtype, exact.shape());
            for (long q = 0; q < 33; q++) {
                for (long k = 0; k < 33; k++) {
                    expected.set(exact.get(q, k), q, k);
                    assertEquals(expected.get(q, k), actual.get(q, k), dtype + " at " + q + ", " + k);
                    digits |= exact.get(q, k) != (float) exact.get(q, k);
                }
            }
        }
        assertTrue(digits, "no sum of 80 scores has more digits than f32");
    }

    private Tensor gradient(DType dtype) {
        try (Compute cpu = Compute.serial()) {
            Tensor bias = Tensor.allocate(Arena.ofAuto(), DType.F32, Shape.of(33, 33));
            AttentionOptions options = AttentionOptions.DEFAULT.withMask(Mask.bias(bias));
            AttentionOutputs outputs = AttentionOutputs.of(zeros(SHAPE)).withLogSumExp(zeros(Shape.of(40, 2, 33)));
            Attention.forward(cpu, query, key, value, outputs, options);
            Tensor gradient = Tensor.allocate(Arena.ofAuto(), dtype, Shape.of(33, 33));
            AttentionPass pass = new AttentionPass(query, key, value, outputs, options);
            Attention.backward(
                    cpu,
                    pass,
                    upstream,
                    AttentionGradients.of(zeros(SHAPE), zeros(SHAPE), zeros(SHAPE))
                            .withBias(gradient));
            return gradient;
        }
    }

    private static Tensor zeros(Shape shape) {
        return Tensor.allocate(Arena.ofAuto(), DType.F32, shape);
    }

    private Tensor random() {
        return Numbers.gaussian(zeros(SHAPE), random, 0, 1);
    }
}
