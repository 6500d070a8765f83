package io.multihead.attention;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.multihead.compute.Compute;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import org.junit.jupiter.api.Test;

/** The error for an illegal argument names the argument, its value and the expected value, and nothing is written. */
class AttentionBadInputTest {
    private static final Compute CPU = Compute.serial();

    private final Tensor query = zeros(2, 4, 5, 8);
    private final Tensor key = zeros(2, 2, 6, 8);
    private final Tensor value = zeros(2, 2, 6, 3);
    private final float[] result = filled(2 * 4 * 5 * 3);
    private final Tensor output = Tensor.of(result, 2, 4, 5, 3);

    @Test
    void shapes() {
        fails("query: shape [5, 8]; expected [batch, queryHeads, queries, headDim]", zeros(5, 8), key, value, output);
        fails("key: shape [6]; expected [batch, keyValueHeads, keys, headDim]", query, zeros(6), value, output);
        fails("value: shape [6]; expected [batch, keyValueHeads, keys, valueDim]", query, key, zeros(6), output);
        fails(
                "key: shape [3, 2, 6, 8]; expected batch size 2, as in query [2, 4, 5, 8]",
                query,
                zeros(3, 2, 6, 8),
                value,
                output);
        fails(
                "key: shape [2, 2, 6, 7]; expected headDim 8, as in query [2, 4, 5, 8]",
                query,
                zeros(2, 2, 6, 7),
                value,
                output);
        fails(
                "value: shape [2, 1, 6, 3]; expected keyValueHeads 2, as in key [2, 2, 6, 8]",
                query,
                key,
                zeros(2, 1, 6, 3),
                output);
        fails(
                "value: shape [2, 2, 9, 3]; expected keys 6, as in key [2, 2, 6, 8]",
                query,
                key,
                zeros(2, 2, 9, 3),
                output);
        fails(
                "query: shape [2, 4, 5, 8]; expected a multiple of the 3 heads of key [2, 3, 6, 8]",
                query,
                zeros(2, 3, 6, 8),
                zeros(2, 3, 6, 3),
                output);
        fails("output: shape [2, 4, 5, 8]; expected [2, 4, 5, 3]", query, key, value, zeros(2, 4, 5, 8));
    }

    @Test
    void outputs() {
        AttentionOutputs outputs = AttentionOutputs.of(output);
        fails("logSumExp: shape [2, 4]; expected [2, 4, 5]", outputs.withLogSumExp(zeros(2, 4)));
        fails("weights: shape [2, 4, 5, 7]; expected [2, 4, 5, 6]", outputs.withWeights(zeros(2, 4, 5, 7)));
        fails(
                "output: F32 [2, 4, 5, 3] strides [160, 40, 8, 1] overlaps query; expected separate memory",
                AttentionOutputs.of(query.slice(3, 0, 3)));
        float[] both = new float[240];
        message(
                "output: F32 [2, 4, 5, 3] overlaps weights; expected separate memory",
                () -> Attention.forward(
                        CPU,
                        query,
                        key,
                        value,
                        AttentionOutputs.of(Tensor.of(both, 2, 4, 5, 3)).withWeights(Tensor.of(both, 2, 4, 5, 6)),
                        AttentionOptions.DEFAULT));
        fails(
                "output: F32 [2, 4, 5, 3] strides [0, 0, 0, 0]; expected every element to have its own storage",
                AttentionOutputs.of(zeros(1).broadcast(2, 4, 5, 3)));
        Tensor bytes = Tensor.view(MemorySegment.ofArray(new byte[120]), DType.I8, output.shape());
        fails("output: I8 [2, 4, 5, 3]; expected a floating-point element type", AttentionOutputs.of(bytes));
        Tensor fixed = Tensor.view(MemorySegment.ofArray(new float[120]).asReadOnly(), DType.F32, output.shape());
        fails("output: read-only memory; expected memory that can be written", AttentionOutputs.of(fixed));
    }

    @Test
    void scores() {
        AttentionOutputs outputs = AttentionOutputs.of(output);
        for (ScoreStage stage : ScoreStage.values()) {
            fails("scores: shape [2, 4, 5, 7]; expected [2, 4, 5, 6]", outputs.withScores(zeros(2, 4, 5, 7), stage));
            Tensor repeated = zeros(1).broadcast(2, 4, 5, 6);
            fails(
                    "scores: F32 [2, 4, 5, 6] strides [0, 0, 0, 0]; expected every element to have its own storage",
                    outputs.withScores(repeated, stage));
            Tensor bytes = Tensor.view(MemorySegment.ofArray(new byte[240]), DType.I8, Shape.of(2, 4, 5, 6));
            fails("scores: I8 [2, 4, 5, 6]; expected a floating-point element type", outputs.withScores(bytes, stage));
            float[] both = new float[240];
            Tensor scores = Tensor.of(both, 2, 4, 5, 6);
            fails(
                    "scores: F32 [2, 4, 5, 6] overlaps weights; expected separate memory",
                    outputs.withWeights(Tensor.of(both, 2, 4, 5, 6)).withScores(scores, stage));
            fails(
                    "scores: F32 [2, 4, 5, 6] overlaps logSumExp; expected separate memory",
                    outputs.withLogSumExp(Tensor.of(both, 240).slice(0, 0, 40).reshape(2, 4, 5))
                            .withScores(scores, stage));
        }
    }

    @Test
    void masks() {
        Tensor flags = Tensor.view(MemorySegment.ofArray(new byte[7]), DType.I8, Shape.of(7));
        masked(
                "mask: shape [7]; expected a shape that broadcasts to (batch, heads, queries, keys) = [2, 4, 5, 6]",
                Mask.keep(flags));
        String broadcast = "expected a shape that broadcasts to (batch, heads, queries, keys) = [2, 4, 5, 6]";
        masked(
                "mask: shape [2, 5, 6]; " + broadcast + "; if the first axis is the batch, use reshape(2, 1, 5, 6)",
                Mask.bias(zeros(2, 5, 6)));
        masked(
                "mask: shape [2, 6]; " + broadcast + "; if the first axis is the batch, use reshape(2, 1, 1, 6)",
                Mask.bias(zeros(2, 6)));
        masked("mask: shape [2, 4, 6]; " + broadcast, Mask.bias(zeros(2, 4, 6)));
        masked("mask: shape [3, 5, 6]; " + broadcast, Mask.bias(zeros(3, 5, 6)));
        masked("keyLengths: 3 lengths; expected 1 or one per batch of 2", Mask.keyLengths(1, 2, 3));
        masked("keyLengths: 7; expected at most the 6 keys", Mask.keyLengths(7));
        masked(
                "output: F32 [2, 4, 5, 3] overlaps mask; expected separate memory",
                Mask.bias(Tensor.of(result, 120).slice(0, 0, 6)));
        message("keyLengths: -1; expected at least 0", () -> Mask.keyLengths(-1));
        message("left: -1; expected at least 0, or Long.MAX_VALUE for an unbounded window", () -> Mask.window(-1, 0));
        message("right: -1; expected at least 0, or Long.MAX_VALUE for an unbounded window", () -> Mask.window(0, -1));
        message("mask: F32 [6]; expected I8, not zero for true", () -> Mask.keep(zeros(6)));
        message("mask: F32 [6]; expected I8, not zero for true", () -> Mask.drop(zeros(6)));
        message("bias: I8 [7]; expected a floating-point element type; keep or drop take I8", () -> Mask.bias(flags));
        message(
                "bias: F32 [1, 1, 1, 1, 1]; expected at most (batch, heads, queries, keys)",
                () -> Mask.bias(zeros(1, 1, 1, 1, 1)));
        message("scale: NaN; expected a finite number", () -> AttentionOptions.DEFAULT.withScale(Double.NaN));
    }

    @Test
    void memory() {
        Arena arena = Arena.ofConfined();
        Tensor gone = Tensor.allocate(arena, DType.F32, query.shape());
        try (Compute two = Compute.threads(2)) {
            assertEquals(
                    "query: memory of an arena confined to this thread; expected a shared, automatic or global arena, as this "
                            + "Compute has 2 threads",
                    assertThrows(
                                    IllegalArgumentException.class,
                                    () -> Attention.forward(two, gone, key, value, output, AttentionOptions.DEFAULT))
                            .getMessage());
        }
        arena.close();
        assertThrows(
                IllegalStateException.class,
                () -> Attention.forward(CPU, gone, key, value, output, AttentionOptions.DEFAULT));
        Compute closed = Compute.serial();
        closed.close();
        assertThrows(
                IllegalStateException.class,
                () -> Attention.forward(closed, query, key, value, output, AttentionOptions.DEFAULT));
        untouched();
    }

    private void fails(String message, Tensor q, Tensor k, Tensor v, Tensor out) {
        message(message, () -> Attention.forward(CPU, q, k, v, out, AttentionOptions.DEFAULT));
        untouched();
    }

    private void fails(String message, AttentionOutputs outputs) {
        message(message, () -> Attention.forward(CPU, query, key, value, outputs, AttentionOptions.DEFAULT));
        untouched();
    }

    private void masked(String message, Mask mask) {
        AttentionOptions options = AttentionOptions.DEFAULT.withMask(mask);
        message(message, () -> Attention.forward(CPU, query, key, value, output, options));
        untouched();
    }

    private void untouched() {
        assertArrayEquals(filled(result.length), result);
    }

    private static void message(String expected, org.junit.jupiter.api.function.Executable call) {
        assertEquals(
                expected, assertThrows(IllegalArgumentException.class, call).getMessage());
    }

    private static float[] filled(int length) {
        float[] values = new float[length];
        Arrays.fill(values, 42f);
        return values;
    }

    private static Tensor zeros(long... dims) {
        return Tensor.of(new float[(int) Shape.of(dims).elements()], dims);
    }
}
