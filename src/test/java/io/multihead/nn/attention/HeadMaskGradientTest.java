package io.multihead.nn.attention;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.multihead.compute.Compute;
import io.multihead.faults.Named;
import io.multihead.nn.Gradients;
import io.multihead.support.TestTensors;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A layer with a head mask equals a layer with an output projection that is scaled head by head. Factors are powers of
 * two, so that both layers have the same roundings.
 */
class HeadMaskGradientTest {
    private static final Compute CPU = Compute.serial();
    private static final float[] FACTORS = {2, -0.5f, 1};
    private static final MultiHeadConfig CONFIG = MultiHeadConfig.of(12, 3).withZeroKey(true);

    private final MultiHeadAttention layer = MultiHeadAttention.initialize(Arena.ofAuto(), CONFIG, 3);
    private final Tensor x = TestTensors.random(new Random(1), 2, 5, 12);
    private final Tensor dy = TestTensors.random(new Random(2), 2, 5, 12);

    /** Multiplies the columns of each head by its factor. */
    private static Tensor scaled(Tensor outputWeight) {
        Tensor scaled = outputWeight.copy(Arena.ofAuto(), DType.F32);
        for (int row = 0; row < 12; row++) {
            for (int column = 0; column < 12; column++) {
                scaled.set(FACTORS[column / 4] * scaled.get(row, column), row, column);
            }
        }
        return scaled;
    }

    private Map<String, Tensor> gradients(MultiHeadAttention of, MultiHeadInputs inputs, MultiHeadGradients to) {
        Map<String, Tensor> gradients = Gradients.zeros(Arena.ofAuto(), of);
        Tensor y = TestTensors.zeros(DType.F32, 2, 5, 12);
        try (MultiHeadPass pass = of.record(CPU, inputs, MultiHeadOutputs.of(y), 0)) {
            pass.backward(dy, to, gradients);
        }
        return gradients;
    }

    @Test
    void gradientsAreThoseOfAScaledOutputProjection() {
        Map<String, Tensor> parameters = new LinkedHashMap<>(layer.parameters());
        Tensor weight = parameters.get("out_proj.weight");
        parameters.put("out_proj.weight", scaled(weight));
        MultiHeadAttention other = MultiHeadAttention.of(CONFIG, parameters::get);
        Tensor dx = TestTensors.zeros(DType.F32, 2, 5, 12);
        Map<String, Tensor> expected = gradients(other, MultiHeadInputs.of(x), MultiHeadGradients.of(dx));
        // the increase of the loss for each head if its factor were larger by one
        double[] gains = new double[3];
        Tensor unscaled = expected.get("out_proj.weight");
        for (int row = 0; row < 12; row++) {
            for (int column = 0; column < 12; column++) {
                gains[column / 4] += unscaled.get(row, column) * weight.get(row, column);
            }
        }
        expected = new LinkedHashMap<>(expected);
        expected.put("out_proj.weight", scaled(unscaled));
        Tensor forAll = Tensor.of(FACTORS, 3);
        for (Tensor mask : new Tensor[] {forAll, forAll.reshape(1, 3).broadcast(2, 3)}) {
            Tensor masked = TestTensors.zeros(DType.F32, 2, 5, 12);
            Tensor ofMask = TestTensors.zeros(DType.F32, mask.shape().toArray());
            Map<String, Tensor> actual = gradients(
                    layer,
                    MultiHeadInputs.of(x).withHeadMask(mask),
                    MultiHeadGradients.of(masked).withHeadMask(ofMask));
            assertArrayEquals(dx.toArray(), masked.toArray());
            expected.forEach((name, gradient) ->
                    assertArrayEquals(gradient.toArray(), actual.get(name).toArray(), name));
            for (int head = 0; head < 3; head++) {
                double sum = mask.rank() == 1 ? ofMask.get(head) : ofMask.get(0, head) + ofMask.get(1, head);
                // 40 products of attention and its gradient, which are sums of 12 numbers around 1
                assertEquals(gains[head], sum, 40 * 12 * 0x1p-24);
            }
        }
    }

    /** The number of heads of all examples may exceed an int, since heads without elements take no memory. */
    @ParameterizedTest
    @ValueSource(longs = {0, 1, 1L << 30, 1L << 31, 1L << 40})
    void withoutTokensTheGradientIsZeroWhateverTheBatch(long batch) {
        Tensor none = Tensor.of(new float[0], batch, 2, 0, 4);
        Tensor gradient = Tensor.of(new float[] {5, 6}, 2);
        HeadMask.gradient(CPU, none, none, gradient);
        assertArrayEquals(new float[2], gradient.toArray());
    }

    @Test
    void withoutTokensTheGradientOfEachExampleIsZero() {
        Tensor none = Tensor.of(new float[0], 3, 2, 0, 4);
        Tensor gradient = Tensor.of(new float[] {5, 6, 7, 8, 9, 10}, 3, 2);
        HeadMask.gradient(CPU, none, none, gradient);
        assertArrayEquals(new float[6], gradient.toArray());
    }

    /** The tensors repeat one element, since tensors with separate memory would take 8 GiB each. */
    @Test
    void sumsThatNoArrayHoldsAreRefused() {
        Tensor heads = Tensor.of(new float[1]).broadcast(1L << 30, 2, 1, 1);
        Named.message(
                "headMask gradient: sizes [1073741824, 2]; expected at least 0 each and a product of at most 2147483639",
                () -> HeadMask.gradient(CPU, heads, heads, Tensor.of(new float[2], 2)));
    }
}
