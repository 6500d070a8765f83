package io.multihead.attention;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.internal.layout.Positions;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.SplittableRandom;
import java.util.stream.DoubleStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Several heads are read at once if they are adjacent within a token, as in {@code (batch, tokens, heads, dim)}. Heads that are separate
 * matrices are read one by one. Both have the same bits.
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

    /** Calls run one after the other on the same thread, whose buffers still hold the heads of the previous call. */
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

    /** A value that is not finite affects only its head and the queries that see it. */
    @ParameterizedTest
    @CsvSource({"9, 9, 50, 50, 32, 64", "12, 4, 70, 70, 32, 32", "3, 3, 193, 257, 32, 32", "4, 4, 1, 30, 64, 64"})
    void sameBitsWithNonFiniteValues(int heads, int keyHeads, int queries, int keys, int headDim, int valueDim) {
        SplittableRandom random = new SplittableRandom(3);
        double[] specials = {Double.NaN, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY};
        for (int threads = 1; threads <= 2; threads++) {
            try (Arena arena = Arena.ofShared();
                    Compute cpu = Compute.threads(threads)) {
                Tensor query = random(arena, DType.F32, random, queries, heads, headDim);
                Tensor key = random(arena, DType.F32, random, keys, keyHeads, headDim);
                Tensor value = random(arena, DType.F32, random, keys, keyHeads, valueDim);
                for (int i = 0; i < specials.length; i++) {
                    value.set(specials[i], i % BATCH, 1, keys - 1 - i * 7, i * 13);
                }
                AttentionOutputs all = assertSameBits(arena, cpu, query, key, value, AttentionOptions.DEFAULT);
                assertTrue(holdsNonFinite(all.output().select(1, heads / keyHeads)), "all outputs are finite");
                assertFalse(holdsNonFinite(all.output().select(1, 0)), "the head before it has non-finite values");
                assertFalse(holdsNonFinite(all.output().select(1, heads - 1)), "the last head has non-finite values");
                assertSameBits(arena, cpu, query, key, value, AttentionOptions.CAUSAL);
            }
        }
    }

    /** A call reads some heads of a larger tensor. The other heads, before and after them, are NaN and are not read. */
    @ParameterizedTest
    @CsvSource({"5, 50, 50, 32", "4, 1, 130, 64", "2, 30, 300, 96"})
    void sameBitsForSomeOfTheHeads(int heads, int queries, int keys, int dim) {
        SplittableRandom random = new SplittableRandom(5);
        for (int threads = 1; threads <= 2; threads++) {
            try (Arena arena = Arena.ofShared();
                    Compute cpu = Compute.threads(threads)) {
                for (DType dtype : new DType[] {DType.F32, DType.BF16}) {
                    Tensor query = someHeads(arena, dtype, random, queries, heads, dim);
                    Tensor key = someHeads(arena, dtype, random, keys, heads, dim);
                    Tensor value = someHeads(arena, dtype, random, keys, heads, dim);
                    AttentionOutputs all = assertSameBits(arena, cpu, query, key, value, AttentionOptions.DEFAULT);
                    assertFalse(holdsNonFinite(all.output()), "another head was read");
                    assertSameBits(arena, cpu, query, key, value, AttentionOptions.CAUSAL);
                }
            }
        }
    }

    /**
     * Backward sets elements that are not finite to 0 in the rows that it has read. The gradients of a bias and of sinks read the rows
     * again. NaN is written to Q after forward, so that only rows of Q contain NaN.
     */
    @ParameterizedTest
    @CsvSource({"1, 40, 40", "2, 40, 40", "1, 70, 128", "1, 300, 200"})
    void sameGradientsWithNonFiniteElements(int batch, int queries, int keys) {
        SplittableRandom random = new SplittableRandom(queries + keys);
        for (int threads = 1; threads <= 3; threads++) {
            try (Arena arena = Arena.ofShared();
                    Compute cpu = Compute.threads(threads)) {
                for (DType dtype : new DType[] {DType.F32, DType.BF16}) {
                    assertSameGradients(arena, cpu, dtype, random, batch, queries, keys, true);
                    assertSameGradients(arena, cpu, dtype, random, batch, queries, keys, false);
                }
            }
        }
    }

    private static void assertSameGradients(
            Arena arena,
            Compute cpu,
            DType dtype,
            SplittableRandom random,
            int batch,
            int queries,
            int keys,
            boolean inQuery) {
        int heads = 4;
        int dim = 32;
        Tensor query = random(arena, dtype, random, queries, heads, dim).slice(0, 0, batch);
        Tensor key = random(arena, dtype, random, keys, heads, dim).slice(0, 0, batch);
        Tensor value = random(arena, dtype, random, keys, heads, dim).slice(0, 0, batch);
        Tensor upstream = random(arena, dtype, random, queries, heads, dim).slice(0, 0, batch);
        Tensor bias = random(arena, DType.F32, random, queries, heads, keys).slice(0, 0, batch);
        AttentionOptions options = AttentionOptions.DEFAULT
                .withMask(Mask.bias(bias))
                .withScores(ScoreOptions.NONE.withSinks(0.3f, -1f, 2f, 0f));
        Tensor output = random(arena, dtype, random, queries, heads, dim).slice(0, 0, batch);
        Tensor logSumExp = Tensor.allocate(arena, DType.F64, Shape.of(batch, heads, queries));
        AttentionOutputs outputs = AttentionOutputs.of(output).withLogSumExp(logSumExp);
        Attention.forward(cpu, query, key, value, outputs, options);
        (inQuery ? query : upstream)
                .set(inQuery ? Double.NaN : Double.POSITIVE_INFINITY, batch - 1, 1, queries / 2, dim / 2);
        AttentionGradients adjacent =
                gradients(arena, cpu, new AttentionPass(query, key, value, outputs, options), upstream);
        AttentionOutputs outputsApart =
                AttentionOutputs.of(apart(arena, output)).withLogSumExp(logSumExp);
        AttentionPass passApart =
                new AttentionPass(apart(arena, query), apart(arena, key), apart(arena, value), outputsApart, options);
        AttentionGradients expected = gradients(arena, cpu, passApart, apart(arena, upstream));
        assertSameBits(expected.query(), adjacent.query());
        assertSameBits(expected.key(), adjacent.key());
        assertSameBits(expected.value(), adjacent.value());
        assertSameBits(expected.bias(), adjacent.bias());
        assertSameBits(expected.sinks(), adjacent.sinks());
        for (int head = 0; head < heads; head++) {
            assertEquals(head == 1, holdsNonFinite(adjacent.bias().select(1, head)), "head " + head);
        }
    }

    private static AttentionGradients gradients(Arena arena, Compute cpu, AttentionPass pass, Tensor upstream) {
        Shape rows =
                Shape.of(pass.query().dim(0), pass.query().dim(1), pass.query().dim(2));
        Shape columns =
                Shape.of(pass.key().dim(0), pass.key().dim(1), pass.key().dim(2));
        AttentionGradients gradients = AttentionGradients.of(
                        f32(arena, rows, pass.query().dim(3)),
                        f32(arena, columns, pass.key().dim(3)),
                        f32(arena, columns, pass.value().dim(3)))
                .withBias(f32(arena, rows, pass.key().dim(2)))
                .withSinks(
                        Tensor.allocate(arena, DType.F32, Shape.of(pass.query().dim(1))));
        Attention.backward(cpu, pass, upstream, gradients);
        return gradients;
    }

    private static Tensor random(Arena arena, DType dtype, SplittableRandom random, int tokens, int heads, int dim) {
        return dense(arena, dtype, random, tokens, heads, dim).permute(0, 2, 1, 3);
    }

    private static Tensor someHeads(Arena arena, DType dtype, SplittableRandom random, int tokens, int heads, int dim) {
        Tensor whole = Tensor.allocate(arena, dtype, Shape.of(BATCH, tokens, heads + 4, dim));
        whole.fill(Double.NaN);
        Tensor some = whole.slice(2, 3, 3 + heads);
        dense(arena, dtype, random, tokens, heads, dim).copyTo(some);
        return some.permute(0, 2, 1, 3);
    }

    private static Tensor dense(Arena arena, DType dtype, SplittableRandom random, int tokens, int heads, int dim) {
        Tensor tensor = Tensor.allocate(arena, dtype, Shape.of(BATCH, tokens, heads, dim));
        for (long at = 0; at < tensor.shape().elements(); at++) {
            Positions.set(tensor, random.nextGaussian(), at);
        }
        return tensor;
    }

    /** Returns a copy whose heads are matrices with a row between them, so that even the heads of one token are not adjacent. */
    private static Tensor apart(Arena arena, Tensor tensor) {
        Shape padded = Shape.of(tensor.dim(0), tensor.dim(1), tensor.dim(2) + 1, tensor.dim(3));
        Tensor copy = Tensor.allocate(arena, tensor.dtype(), padded).slice(2, 0, tensor.dim(2));
        tensor.copyTo(copy);
        assertEquals(tensor.dim(3), tensor.stride(1));
        assertNotEquals(copy.dim(3), copy.stride(1));
        return copy;
    }

    /**
     * Compares a call with the output only, a call with log-sum-exp, and a call with log-sum-exp and weights. Returns the results of
     * adjacent heads.
     */
    private static AttentionOutputs assertSameBits(
            Arena arena, Compute cpu, Tensor query, Tensor key, Tensor value, AttentionOptions options) {
        Tensor queryApart = apart(arena, query);
        Tensor keyApart = apart(arena, key);
        Tensor valueApart = apart(arena, value);
        Shape rows = Shape.of(BATCH, query.dim(1), query.dim(2));
        AttentionOutputs adjacent = AttentionOutputs.of(f32(arena, rows, value.dim(3)));
        AttentionOutputs expected = AttentionOutputs.of(f32(arena, rows, value.dim(3)));
        for (int results = 1; results <= 3; results++) {
            if (results == 2) {
                adjacent = adjacent.withLogSumExp(Tensor.allocate(arena, DType.F64, rows));
                expected = expected.withLogSumExp(Tensor.allocate(arena, DType.F64, rows));
            } else if (results == 3) {
                adjacent = adjacent.withWeights(f32(arena, rows, key.dim(2)));
                expected = expected.withWeights(f32(arena, rows, key.dim(2)));
            }
            Attention.forward(cpu, queryApart, keyApart, valueApart, expected, options);
            Attention.forward(cpu, query, key, value, adjacent, options);
            assertSameBits(expected.output(), adjacent.output());
            assertSameBits(expected.logSumExp(), adjacent.logSumExp());
            assertSameBits(expected.weights(), adjacent.weights());
            adjacent.output().fill(0);
            expected.output().fill(0);
        }
        Attention.forward(cpu, query, key, value, adjacent, options);
        return adjacent;
    }

    private static Tensor f32(Arena arena, Shape rows, long width) {
        return Tensor.allocate(arena, DType.F32, Shape.of(rows.dim(0), rows.dim(1), rows.dim(2), width));
    }

    private static void assertSameBits(Tensor expected, Tensor actual) {
        assertEquals(expected == null, actual == null);
        if (expected != null) {
            assertArrayEquals(elements(expected), elements(actual));
        }
    }

    private static double[] elements(Tensor tensor) {
        Tensor dense = tensor.copy(Arena.ofAuto(), DType.F64);
        return LongStream.range(0, dense.shape().elements())
                .mapToDouble(at -> Positions.get(dense, at))
                .toArray();
    }

    private static boolean holdsNonFinite(Tensor tensor) {
        return !DoubleStream.of(elements(tensor)).allMatch(Double::isFinite);
    }
}
