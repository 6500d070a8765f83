package io.multihead.attention;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.multihead.compute.Compute;
import io.multihead.support.Tokens;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A key that one part of a mask hides is hidden for any value of a bias, and for any order of the parts. */
class HiddenKeysStayHiddenTest {
    private static final Compute CPU = Compute.serial();
    private static final int KEYS = 3;
    private static final int DIM = 4;

    private final Tensor query = Tokens.gaussian(1, 1, 2, DIM, 1);
    private final Tensor key = Tokens.gaussian(1, 1, KEYS, DIM, 2);
    private final Tensor value = Tokens.gaussian(1, 1, KEYS, DIM, 3);

    private static Tensor zeros(long... sizes) {
        return Tensor.zeros(Arena.ofAuto(), DType.F32, sizes);
    }

    private static Mask bias(float ofLastKey) {
        return Mask.bias(Tensor.of(new float[] {0.5f, 0, ofLastKey}, KEYS));
    }

    /** Returns masks that hide the last key and also have a bias for it. */
    private static List<Mask> masks(float ofLastKey) {
        Mask bias = bias(ofLastKey);
        Mask drop = Mask.drop(Tensor.of(new boolean[] {false, false, true}, KEYS));
        Mask keep = Mask.keep(Tensor.of(new boolean[] {true, true, false}, KEYS));
        Mask low = Mask.bias(Tensor.of(new float[] {0, 0, Float.NEGATIVE_INFINITY}, KEYS));
        return List.of(bias.and(drop), drop.and(bias), keep.and(bias), bias.and(keep), low.and(bias), bias.and(low));
    }

    @ParameterizedTest
    @ValueSource(floats = {1, Float.NaN, Float.POSITIVE_INFINITY, Float.NEGATIVE_INFINITY})
    void inForwardAndBackward(float ofLastKey) {
        float[] expected = forwardAndBackward(bias(0).and(Mask.keyLengths(2)).and(Mask.queryOffset(0)));
        for (Mask mask : masks(ofLastKey)) {
            assertArrayEquals(expected, forwardAndBackward(mask), mask::toString);
        }
    }

    @ParameterizedTest
    @ValueSource(floats = {1, Float.NaN, Float.POSITIVE_INFINITY, Float.NEGATIVE_INFINITY})
    void inTheSoftmax(float ofLastKey) {
        Tensor scores = Tensor.of(new float[] {1, 2, 3}, 1, KEYS);
        for (Mask mask : masks(ofLastKey)) {
            Tensor output = zeros(1, KEYS);
            Softmax.forward(CPU, scores, output, null, AttentionOptions.DEFAULT.withMask(mask));
            assertEquals(0, output.get(0, 2), mask::toString);
            // the errors are two exponentials of at most 1 ulp and one quotient
            assertEquals(1 / (1 + Math.exp(-0.5)), output.get(0, 1), 4 * 0x1p-24, mask::toString);
        }
    }

    /** Returns the output, then the gradients. */
    private float[] forwardAndBackward(Mask mask) {
        AttentionOptions options = AttentionOptions.DEFAULT.withMask(mask);
        AttentionOutputs outputs = AttentionOutputs.of(zeros(1, 1, 2, DIM)).withLogSumExp(zeros(1, 1, 2));
        Attention.forward(CPU, query, key, value, outputs, options);
        Tensor queryGradient = zeros(1, 1, 2, DIM);
        Tensor keyGradient = zeros(1, 1, KEYS, DIM);
        Tensor valueGradient = zeros(1, 1, KEYS, DIM);
        Attention.backward(
                CPU,
                new AttentionPass(query, key, value, outputs, options),
                Tokens.gaussian(1, 1, 2, DIM, 4),
                AttentionGradients.of(queryGradient, keyGradient, valueGradient));
        Tensor all = zeros(4 + 2 * KEYS, DIM);
        Tensor.concat(
                0,
                all,
                outputs.output().reshape(2, DIM),
                queryGradient.reshape(2, DIM),
                keyGradient.reshape(KEYS, DIM),
                valueGradient.reshape(KEYS, DIM));
        return all.toArray();
    }
}
