package io.multihead.demo;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.nn.Pass;
import io.multihead.nn.attention.MultiHeadAttention;
import io.multihead.nn.attention.MultiHeadConfig;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.Arrays;
import java.util.SplittableRandom;
import net.jqwik.api.EdgeCasesMode;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;

/** With one head, the layer equals plain self-attention, forward and backward, to the precision of f32. */
class PlainAttentionTest {
    @Property(tries = 60, edgeCases = EdgeCasesMode.NONE)
    void oneHeadIsPlainSelfAttention(
            @ForAll @IntRange(min = 1, max = 40) int tokens,
            @ForAll @IntRange(min = 1, max = 48) int embedDim,
            @ForAll long seed) {
        MultiHeadAttention layer = MultiHeadAttention.initialize(Arena.ofAuto(), MultiHeadConfig.of(embedDim, 1), seed);
        SplittableRandom random = new SplittableRandom(seed);
        Tensor x = random(random, tokens, embedDim);
        Tensor upstream = random(random, tokens, embedDim);
        Tensor y = Tensor.allocate(Arena.ofAuto(), DType.F32, x.shape());
        Tensor dx = Tensor.allocate(Arena.ofAuto(), DType.F32, x.shape());
        try (Pass pass = layer.record(Compute.serial(), x, y)) {
            pass.backward(upstream, dx);
        }
        PlainAttention plain = new PlainAttention(matrix(x), layer.parameters());
        assertClose(plain.output(), y);
        assertClose(plain.inputGradient(matrix(upstream)), dx);
    }

    /**
     * The bound is 64 roundings: three or six consecutive sums of up to 48 products, and a softmax of small scores
     * between them.
     */
    private static void assertClose(double[][] expected, Tensor actual) {
        double largest = Arrays.stream(expected)
                .flatMapToDouble(Arrays::stream)
                .map(Math::abs)
                .max()
                .orElse(0);
        for (int i = 0; i < expected.length; i++) {
            for (int c = 0; c < expected[i].length; c++) {
                double error = Math.abs(expected[i][c] - actual.get(0, i, c));
                assertTrue(error <= 64 * 0x1p-24 * largest + 0x1p-40, expected[i][c] + " but " + actual.get(0, i, c));
            }
        }
    }

    private static Tensor random(SplittableRandom random, int tokens, int embedDim) {
        Tensor tensor = Tensor.allocate(Arena.ofAuto(), DType.F32, Shape.of(1, tokens, embedDim));
        for (int i = 0; i < tokens; i++) {
            for (int c = 0; c < embedDim; c++) {
                tensor.set(random.nextGaussian(), 0, i, c);
            }
        }
        return tensor;
    }

    private static double[][] matrix(Tensor tensor) {
        double[][] matrix = new double[(int) tensor.dim(1)][(int) tensor.dim(2)];
        for (int i = 0; i < matrix.length; i++) {
            for (int c = 0; c < matrix[i].length; c++) {
                matrix[i][c] = tensor.get(0, i, c);
            }
        }
        return matrix;
    }
}
