package io.multihead.model;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.multihead.compute.Compute;
import io.multihead.gemm.Activation;
import io.multihead.gemm.PackedWeights;
import io.multihead.gemm.WeightFormat;
import io.multihead.support.Numbers;
import io.multihead.support.TestTensors;
import io.multihead.support.WarmCalls;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/**
 * A group of layers with one input has the same bits as separate layers, for any formats, and writes all outputs to one
 * buffer.
 */
class LinearGroupTest {
    private static final int INPUTS = 70;
    private static final int ROWS = 7;
    private static final Compute SERIAL = Compute.serial();

    private final Random random = new Random(1);
    private final Tensor x = TestTensors.random(random, ROWS, INPUTS);

    @Test
    void layersOfSeveralFormatsHaveTheirOwnBits() {
        PackedLinear biased = PackedLinear.of(packed(40, WeightFormat.F32), TestTensors.random(random, 40))
                .withActivation(Activation.SILU);
        PackedLinear scaled = PackedLinear.of(packed(5, WeightFormat.BF16)).withScale(0.5);
        LinearGroup group = LinearGroup.of(biased, scaled, PackedLinear.of(packed(33, WeightFormat.F16)));
        assertEquals(78, group.width());
        Tensor all = TestTensors.zeros(DType.F32, ROWS, 78);
        List<Tensor> parts = List.of(all.slice(1, 0, 40), all.slice(1, 40, 45), all.slice(1, 45, 78));
        try (Compute threads = Compute.threads(3)) {
            group.forward(threads, x, all, parts);
        }
        for (int i = 0; i < parts.size(); i++) {
            Tensor alone = TestTensors.zeros(DType.F32, ROWS, group.outputs(i));
            group.layers().get(i).forward(SERIAL, x, alone);
            assertArrayEquals(Numbers.of(alone), Numbers.of(parts.get(i)), "layer " + i);
        }
        assertEquals(0, WarmCalls.allocatedBytes(() -> group.forward(SERIAL, x, all, parts)));
    }

    private PackedWeights packed(int outputs, WeightFormat format) {
        Tensor weight = TestTensors.random(random, INPUTS, outputs);
        return PackedWeights.ofInputRows(Arena.ofAuto(), weight, format);
    }

    @Test
    void addingAddsToWhatIsThere() {
        PackedLinear layer = PackedLinear.of(packed(9, WeightFormat.F32), TestTensors.random(random, 9));
        Tensor product = TestTensors.zeros(DType.F32, ROWS, 9);
        layer.forward(SERIAL, x, product);
        Tensor sum = Tensor.allocate(Arena.ofAuto(), DType.F32, Shape.of(ROWS, 9));
        sum.fill(2);
        layer.add(SERIAL, x, sum);
        double[] expected = Numbers.of(product);
        double[] actual = Numbers.of(sum);
        for (int i = 0; i < expected.length; i++) {
            // sum and bias are added in another order: two roundings in each order, of numbers below 16
            assertEquals(expected[i] + 2, actual[i], 4 * 16 * 0x1p-24);
        }
    }
}
