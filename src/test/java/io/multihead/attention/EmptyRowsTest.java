package io.multihead.attention;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.multihead.compute.Compute;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.Arrays;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Rows without elements are neither read nor written, and the other requested outputs are computed. */
class EmptyRowsTest {
    private static final Compute CPU = Compute.serial();

    private static Tensor of(DType dtype, double value, long... sizes) {
        Tensor tensor = Tensor.zeros(Arena.ofAuto(), dtype, sizes);
        tensor.fill(value);
        return tensor;
    }

    @ParameterizedTest
    @EnumSource(names = {"F32", "BF16", "F64"})
    void theSoftmaxOfNoScoresHasNoElement(DType dtype) {
        Tensor scores = of(dtype, 0, 3, 0);
        Tensor logSumExp = of(DType.F32, 77, 3);
        Softmax.forward(CPU, scores, of(dtype, 0, 3, 0), logSumExp, AttentionOptions.DEFAULT);
        assertEquals(Double.NEGATIVE_INFINITY, logSumExp.get(2));
        logSumExp.fill(77);
        Softmax.logForward(CPU, scores, of(dtype, 0, 3, 0), logSumExp, AttentionOptions.DEFAULT);
        assertEquals(Double.NEGATIVE_INFINITY, logSumExp.get(0));
        Softmax.backward(CPU, scores, of(dtype, 0, 3, 0), of(dtype, 0, 3, 0), AttentionOptions.DEFAULT);
    }

    /** Values without elements do not stop the call: log-sum-exp and weights of all queries are written. */
    @ParameterizedTest
    @EnumSource(names = {"F32", "BF16", "F64"})
    void valuesOfNoDimsLeaveLogSumExpAndWeights(DType dtype) {
        Tensor query = of(dtype, 1, 1, 2, 3, 4);
        Tensor key = of(dtype, 0, 1, 2, 5, 4);
        Tensor logSumExp = of(DType.F64, 77, 1, 2, 3);
        Tensor weights = of(DType.F32, 77, 1, 2, 3, 5);
        AttentionOutputs outputs = new AttentionOutputs(of(dtype, 0, 1, 2, 3, 0), logSumExp, weights);
        Attention.forward(CPU, query, key, of(dtype, 0, 1, 2, 5, 0), outputs, AttentionOptions.DEFAULT);
        double[] expected = new double[6];
        Arrays.fill(expected, Math.log(5));
        assertArrayEquals(expected, doubles(logSumExp), 1e-6);
        assertEquals(0.2, weights.get(0, 1, 2, 4), 1e-7);
    }

    @ParameterizedTest
    @EnumSource(names = {"F32", "BF16"})
    void backwardOfNoDimsWritesTheOtherGradients(DType dtype) {
        for (long valueDim : new long[] {0, 4}) {
            long headDim = 4 - valueDim;
            Tensor query = of(dtype, 1, 1, 2, 3, headDim);
            Tensor key = of(dtype, 1, 1, 2, 5, headDim);
            Tensor value = of(dtype, 1, 1, 2, 5, valueDim);
            AttentionOutputs outputs =
                    new AttentionOutputs(of(dtype, 0, 1, 2, 3, valueDim), of(DType.F32, 0, 1, 2, 3), null);
            AttentionOptions options = AttentionOptions.DEFAULT.withScale(1);
            Attention.forward(CPU, query, key, value, outputs, options);
            Tensor valueGradient = of(DType.F32, 77, 1, 2, 5, valueDim);
            Tensor keyGradient = of(DType.F32, 77, 1, 2, 5, headDim);
            Attention.backward(
                    CPU,
                    new AttentionPass(query, key, value, outputs, options),
                    of(dtype, 1, 1, 2, 3, valueDim),
                    AttentionGradients.of(of(DType.F32, 77, 1, 2, 3, headDim), keyGradient, valueGradient));
            if (valueDim > 0) {
                // each of three queries gives each of five equal keys the weight 0.2
                assertEquals(0.6, valueGradient.get(0, 1, 4, 3), 1e-6);
            } else {
                assertEquals(0.0, keyGradient.get(0, 1, 4, 3));
            }
        }
    }

    private static double[] doubles(Tensor tensor) {
        float[] values = tensor.toArray();
        double[] doubles = new double[values.length];
        Arrays.setAll(doubles, i -> values[i]);
        return doubles;
    }
}
