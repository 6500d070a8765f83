package io.multihead.attention;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.multihead.compute.Compute;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Log-sum-exp is rounded once to its element type. With scores {@code s} and {@code s - 15} it is {@code s + log(1 + e^-15)}. The number
 * {@code s} is halfway between two numbers of 16 bits, so the upper number is nearest. Rounding to f32 first loses {@code e^-15}, and the
 * tie is then rounded to the lower number, which is even.
 */
class LogSumExpRoundingTest {
    private static final Compute CPU = Compute.serial();

    @ParameterizedTest
    @CsvSource({"BF16, 257, 258", "F16, 2049, 2050", "F32, 257, 257"})
    void attentionRoundsOnce(DType dtype, float score, double expected) {
        Tensor query = Tensor.of(new float[] {1}, 1, 1, 1, 1);
        Tensor key = Tensor.of(new float[] {score, score - 15}, 1, 1, 2, 1);
        Tensor logSumExp = empty(dtype, 1, 1, 1);
        AttentionOutputs outputs =
                AttentionOutputs.of(empty(DType.F32, 1, 1, 1, 1)).withLogSumExp(logSumExp);
        Attention.forward(CPU, query, key, key, outputs, AttentionOptions.DEFAULT);
        assertEquals(expected, logSumExp.get(0, 0, 0));
    }

    @ParameterizedTest
    @CsvSource({"BF16, 257, 258", "F16, 2049, 2050", "F32, 257, 257"})
    void mergeRoundsOnce(DType dtype, float score, double expected) {
        AttentionState merged = state(dtype, 0);
        AttentionState.merge(CPU, state(DType.F64, score), state(DType.F64, score - 15), merged);
        assertEquals(expected, merged.logSumExp().get(0, 0, 0));
    }

    @ParameterizedTest
    @CsvSource({"BF16, 257, 258", "F16, 2049, 2050", "F32, 257, 257"})
    void softmaxRoundsOnce(DType dtype, float score, double expected) {
        Tensor logSumExp = empty(dtype, 1);
        Tensor scores = Tensor.of(new float[] {score, score - 15}, 1, 2);
        Softmax.forward(CPU, scores, scores, logSumExp, AttentionOptions.DEFAULT.withScale(1));
        assertEquals(expected, logSumExp.get(0));
    }

    private static AttentionState state(DType dtype, double logSumExp) {
        AttentionState state = new AttentionState(empty(DType.F32, 1, 1, 1, 1), empty(dtype, 1, 1, 1));
        state.logSumExp().set(logSumExp, 0, 0, 0);
        return state;
    }

    private static Tensor empty(DType dtype, long... dims) {
        return Tensor.allocate(Arena.ofAuto(), dtype, Shape.of(dims));
    }
}
