package io.multihead.nn;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.multihead.compute.Compute;
import io.multihead.nn.attention.MultiHeadAttention;
import io.multihead.nn.attention.MultiHeadConfig;
import io.multihead.support.TestTensors;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** A running call of a layer or block finishes with the right result when another call closes its Compute. */
class ClosingTest {
    private static final long FEATURES = 16;

    private final Tensor x = random(1);

    /** Closes the Compute during a call. */
    private static final class Closing extends SameShapeLayer {
        private final Layer identity = Dropout.of(0.0);
        private boolean armed;

        @Override
        public void forward(Compute cpu, Tensor from, Tensor to) {
            closeIfArmed(cpu);
            identity.forward(cpu, from, to);
        }

        @Override
        public Pass record(Compute cpu, Tensor from, Tensor to, long seed) {
            closeIfArmed(cpu);
            Pass pass = identity.record(cpu, from, to, seed);
            return new Pass() {
                @Override
                public void backward(Tensor dy, @Nullable Tensor dx, Map<String, Tensor> gradients) {
                    closeIfArmed(cpu);
                    pass.backward(dy, dx, gradients);
                }

                @Override
                public void close() {
                    pass.close();
                }
            };
        }

        private void closeIfArmed(Compute cpu) {
            if (armed) {
                cpu.close();
            }
        }
    }

    private final Closing closing = new Closing();
    private final Layer attention = MultiHeadAttention.initialize(Arena.global(), MultiHeadConfig.of(FEATURES, 2), 42);
    private final Layer block =
            Sequence.of("", List.of(Residual.of(Sequence.of("", List.of(closing, attention))), Gelu.erf(), attention));

    @Test
    void forwardFinishes() {
        Tensor expected = zeros();
        block.forward(Compute.serial(), x, expected);
        for (Compute cpu : List.of(Compute.serial(), Compute.threads(3))) {
            Tensor y = zeros();
            closing.armed = true;
            block.forward(cpu, x, y);
            closing.armed = false;
            assertArrayEquals(expected.toArray(), y.toArray());
            assertThrows(IllegalStateException.class, () -> block.forward(cpu, x, y));
        }
    }

    @Test
    void recordFinishes() {
        Tensor expected = zeros();
        block.record(Compute.serial(), x, expected).close();
        Compute cpu = Compute.threads(3);
        Tensor y = zeros();
        closing.armed = true;
        try (Pass pass = block.record(cpu, x, y)) {
            assertArrayEquals(expected.toArray(), y.toArray());
            assertThrows(IllegalStateException.class, () -> pass.backward(x, zeros()));
        }
    }

    @Test
    void backwardFinishes() {
        Tensor expected = zeros();
        try (Pass pass = block.record(Compute.serial(), x, zeros())) {
            pass.backward(x, expected);
        }
        Compute cpu = Compute.threads(3);
        try (Pass pass = block.record(cpu, x, zeros())) {
            closing.armed = true;
            Tensor dx = zeros();
            pass.backward(x, dx);
            assertArrayEquals(expected.toArray(), dx.toArray());
        }
    }

    private static Tensor zeros() {
        return Tensor.allocate(Arena.ofAuto(), DType.F32, Shape.of(2, 5, FEATURES));
    }

    private static Tensor random(long seed) {
        Tensor tensor = zeros();
        TestTensors.fill(tensor, new Random(seed)::nextGaussian);
        return tensor;
    }
}
