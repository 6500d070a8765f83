package io.multihead.nn;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import io.multihead.compute.Compute;
import io.multihead.internal.layout.Positions;
import io.multihead.support.TestTensors;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** In inference, a stack has the same bits as its layers, and makes no copies for layers that only copy. */
class SequenceInferenceTest {
    private static final Compute CPU = Compute.serial();

    private final Tensor x = TestTensors.random(new Random(1), 3, 4);
    private final Tensor y = TestTensors.zeros(DType.F32, 3, 4);

    /** Dropout that counts its calls. */
    private static final class Counted extends SameShapeLayer {
        private final Layer dropout = Dropout.of(0.5);
        private int copies;
        private int passes;
        private int slicings;

        @Override
        public int independentAxes(Shape input) {
            slicings++;
            return input.rank();
        }

        @Override
        public boolean isIdentityInInference() {
            return dropout.isIdentityInInference();
        }

        @Override
        public void forward(Compute cpu, Tensor from, Tensor to) {
            copies++;
            dropout.forward(cpu, from, to);
        }

        @Override
        public Pass record(Compute cpu, Tensor from, Tensor to, long seed) {
            passes++;
            return dropout.record(cpu, from, to, seed);
        }
    }

    @Test
    void layersThatOnlyCopyAreLeftOut() {
        Counted dropout = new Counted();
        Layer nested = Sequence.of("", List.of(dropout));
        for (List<Layer> stack : List.of(
                List.<Layer>of(dropout, Relu.of()),
                List.<Layer>of(Relu.of(), dropout),
                List.<Layer>of(Relu.of(), nested, dropout))) {
            Sequence.of("", stack).forward(CPU, x, y);
            Tensor expected = TestTensors.zeros(DType.F32, 3, 4);
            Relu.of().forward(CPU, x, expected);
            assertArrayEquals(expected.toArray(), y.toArray());
        }
        assertEquals(0, dropout.copies);
        Sequence.of("", List.of(Relu.of(), dropout)).record(CPU, x, y).close();
        assertEquals(1, dropout.passes);
    }

    @Test
    void aStackOfNothingElseCopiesOnce() {
        Counted dropout = new Counted();
        Sequence stack = Sequence.of("", List.of(dropout, dropout, dropout));
        stack.forward(CPU, x, y);
        assertArrayEquals(x.toArray(), y.toArray());
        assertEquals(1, dropout.copies);
        assertTrue(stack.isIdentityInInference());
        assertFalse(Sequence.of("", List.of(dropout, Relu.of())).isIdentityInInference());
    }

    /** Only large inputs are divided, so that layers need not compute slices for small inputs. */
    @Test
    void smallInputsAreNotAskedForTheirSlices() {
        Counted dropout = new Counted();
        Sequence.of("", List.of(dropout, Relu.of())).forward(CPU, x, y);
        assertEquals(0, dropout.slicings);
    }

    /** A layer of a type that a stack does not know. It halves every element. */
    private static final class Halving extends SameShapeLayer {
        @Override
        public void forward(Compute cpu, Tensor from, Tensor to) {
            for (long at = 0; at < from.shape().elements(); at++) {
                Positions.set(to, Positions.get(from, at) / 2, at);
            }
        }

        @Override
        public Pass record(Compute cpu, Tensor from, Tensor to, long seed) {
            throw new UnsupportedOperationException("inference only");
        }
    }

    static List<Arguments> stacks() {
        Layer first = linear(24, 40, true, 1);
        Layer square = linear(40, 40, false, 2);
        return List.of(
                arguments("linear, relu", List.of(first, Relu.of())),
                arguments("linear, gelu erf", List.of(first, Gelu.erf())),
                arguments("linear, gelu tanh", List.of(first, Gelu.tanh())),
                arguments("linear, dropout, gelu", List.of(first, Dropout.of(0.5), Gelu.erf())),
                arguments("linear, linear, gelu", List.of(first, square, Gelu.tanh())),
                arguments("gelu, linear", List.of(Gelu.erf(), first)),
                arguments("linear, gelu, relu, linear", List.of(first, Gelu.erf(), Relu.of(), square)),
                arguments("linear, custom, relu", List.of(first, new Halving(), Relu.of())));
    }

    private static Layer linear(long inputs, long outputs, boolean bias, long seed) {
        return Linear.initialize(Arena.ofAuto(), inputs, outputs, bias, seed);
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("stacks")
    void sameBitsAsItsLayersOneByOne(String name, List<Layer> layers) {
        Tensor input = TestTensors.random(new Random(2), 3, 7, 24);
        Tensor expected = input;
        for (Layer layer : layers) {
            Tensor next = TestTensors.zeros(
                    DType.F32, layer.outputShape(expected.shape()).toArray());
            layer.forward(CPU, expected, next);
            expected = next;
        }
        Tensor actual = TestTensors.zeros(DType.F32, expected.shape().toArray());
        Sequence.of("", layers).forward(CPU, input, actual);
        assertArrayEquals(expected.toArray(), actual.toArray());
    }
}
