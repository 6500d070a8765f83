package io.multihead.nn;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.multihead.compute.Compute;
import io.multihead.support.TestTensors;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** A stack computes gradients only back to the first requested gradient, with the same bits. */
class SequenceGradientsTest {
    private static final Compute CPU = Compute.serial();

    private final Random random = new Random(1);
    private final Copy first = new Copy();
    private final Copy second = new Copy();
    private final Tensor x = TestTensors.random(random, 3, 4);
    private final Tensor y = TestTensors.zeros(DType.F32, 3, 4);
    private final Tensor dy = TestTensors.random(random, 3, 4);
    private final Sequence stack = Sequence.of(
            new Sequence.Part("first.", first),
            new Sequence.Part("a.", Linear.of(TestTensors.random(random, 4, 4), null)),
            new Sequence.Part("second.", second),
            new Sequence.Part("b.", Linear.of(TestTensors.random(random, 4, 4), null)));

    /** Copies its input, and counts the computed gradients. */
    private static final class Copy extends SameShapeLayer {
        private int gradients;

        @Override
        public void forward(Compute cpu, Tensor from, Tensor to) {
            from.copyTo(to);
        }

        @Override
        public Pass record(Compute cpu, Tensor from, Tensor to, long seed) {
            from.copyTo(to);
            return new RecordedPass(this, cpu, from, to) {
                @Override
                void differentiate(Tensor upstream, @Nullable Tensor down, Map<String, Tensor> own) {
                    gradients++;
                    if (down != null) {
                        upstream.copyTo(down);
                    }
                }
            };
        }
    }

    private Map<String, Tensor> backward(@Nullable Tensor dx, String... names) {
        Map<String, Tensor> gradients = new LinkedHashMap<>();
        for (String name : names) {
            gradients.put(name, TestTensors.zeros(DType.F32, 4, 4));
        }
        first.gradients = 0;
        second.gradients = 0;
        try (Pass pass = stack.record(CPU, x, y)) {
            pass.backward(dy, dx, gradients);
        }
        return gradients;
    }

    @Test
    void layersBelowTheFirstThatIsTrainedHaveNoGradients() {
        Tensor dx = TestTensors.zeros(DType.F32, 3, 4);
        Map<String, Tensor> all = backward(dx, "a.weight", "b.weight");
        assertEquals(1, first.gradients);
        assertEquals(1, second.gradients);
        assertArrayEquals(
                all.get("b.weight").toArray(),
                backward(null, "b.weight").get("b.weight").toArray());
        assertEquals(0, second.gradients);
        assertArrayEquals(
                all.get("a.weight").toArray(),
                backward(null, "a.weight").get("a.weight").toArray());
        assertEquals(0, first.gradients);
        assertEquals(1, second.gradients);
        backward(null);
        assertEquals(0, second.gradients);
    }

    @Test
    void inputsHaveGradientsWithoutParameters() {
        Tensor all = TestTensors.zeros(DType.F32, 3, 4);
        Tensor alone = TestTensors.zeros(DType.F32, 3, 4);
        backward(all, "a.weight", "b.weight");
        backward(alone);
        assertEquals(1, first.gradients);
        assertArrayEquals(all.toArray(), alone.toArray());
    }
}
