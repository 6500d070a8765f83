package io.multihead.attention;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import io.multihead.compute.Compute;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Heads that follow each other within a token, {@code (batch, tokens, heads, dim)}, are read several at once; heads that are matrices of
 * their own, one by one. Both have the same bits.
 */
class AdjacentHeadsTest {
    private static final int BATCH = 2;

    @ParameterizedTest
    @CsvSource({
        "12, 12, 16, 16, 32, 32",
        "9, 9, 50, 50, 32, 64",
        "5, 5, 7, 256, 64, 20",
        "3, 3, 193, 257, 32, 32",
        "8, 2, 6, 40, 32, 32",
        "3, 3, 1, 130, 96, 128",
        "2, 2, 5, 5, 256, 288"
    })
    void sameBitsAsHeadsApart(int heads, int keyHeads, int queries, int keys, int headDim, int valueDim) {
        SplittableRandom random = new SplittableRandom(heads * 1000 + keys);
        for (int threads = 1; threads <= 3; threads++) {
            try (Arena arena = Arena.ofShared();
                    Compute cpu = Compute.threads(threads)) {
                for (DType dtype : new DType[] {DType.F32, DType.BF16}) {
                    Tensor query = random(arena, dtype, random, queries, heads, headDim);
                    Tensor key = random(arena, dtype, random, keys, keyHeads, headDim);
                    Tensor value = random(arena, dtype, random, keys, keyHeads, valueDim);
                    assertSameBits(arena, cpu, query, key, value, AttentionOptions.DEFAULT);
                    assertSameBits(arena, cpu, query, key, value, AttentionOptions.CAUSAL.withScale(-0.3));
                }
            }
        }
    }

    /** One call after the other on the same thread, whose buffers still hold the heads of the first. */
    @Test
    void secondCallReadsItsOwnTensors() {
        SplittableRandom random = new SplittableRandom(7);
        try (Arena arena = Arena.ofShared();
                Compute cpu = Compute.serial()) {
            for (int call = 0; call < 3; call++) {
                Tensor tokens = random(arena, DType.F32, random, 12, 6, 32);
                assertSameBits(arena, cpu, tokens, tokens, tokens, AttentionOptions.DEFAULT);
            }
        }
    }

    private static Tensor random(Arena arena, DType dtype, SplittableRandom random, int tokens, int heads, int dim) {
        Tensor tensor = Tensor.allocate(arena, dtype, Shape.of(BATCH, tokens, heads, dim));
        for (long at = 0; at < tensor.shape().elements(); at++) {
            tensor.setAt(at, random.nextGaussian());
        }
        return tensor.permute(0, 2, 1, 3);
    }

    private static void assertSameBits(
            Arena arena, Compute cpu, Tensor query, Tensor key, Tensor value, AttentionOptions options) {
        Shape shape = Shape.of(BATCH, query.dim(1), query.dim(2), value.dim(3));
        Tensor apart = Tensor.allocate(arena, DType.F32, shape);
        Attention.forward(
                cpu,
                query.copy(arena, query.dtype()),
                key.copy(arena, key.dtype()),
                value.copy(arena, value.dtype()),
                apart,
                options);
        Tensor adjacent = Tensor.allocate(arena, DType.F32, shape);
        Attention.forward(cpu, query, key, value, adjacent, options);
        assertArrayEquals(apart.toArray(), adjacent.toArray());
    }
}
