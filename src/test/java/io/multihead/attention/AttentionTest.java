package io.multihead.attention;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.reference.ReferenceAttention;
import io.multihead.reference.ScoreRule;
import io.multihead.support.AttentionCase;
import io.multihead.support.Layout;
import io.multihead.support.Numbers;
import io.multihead.support.Promises;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.BiPredicate;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Promises about attention, each tested with a few chosen calls. */
@Tag("lanes")
class AttentionTest {
    private static final Compute CPU = Compute.serial();

    /**
     * If all values are equal, the output equals them for any number of keys, up to the roundings of the sum of weights, the sum of
     * weighted values, and their quotient. The largest measured error is 3 ulp; the limit is twice that error.
     */
    @Test
    void equalValuesComeOutAsThemselves() {
        double worst = 0;
        for (int keys : new int[] {1, 3, 64, 255, 1000, 1 << 15, 1 << 20}) {
            Tensor q = random(keys, 1, 1, 1, 4);
            Tensor k = random(keys + 1, 1, 1, keys, 4);
            for (float c : new float[] {1f, 1.1f, -3.3333333f, 1.9999999f, 1e-20f, 1e20f}) {
                Tensor v = Tensor.of(new float[] {c}, 1, 1, 1, 1).broadcast(1, 1, keys, 3);
                Tensor out = Tensor.of(new float[3], 1, 1, 1, 3);
                Attention.forward(CPU, q, k, v, out, AttentionOptions.DEFAULT);
                worst = Math.max(worst, Math.abs(out.get(0, 0, 0, 0) - c) / Math.ulp(c));
            }
        }
        Promises.EQUAL_VALUES.record(worst);
        assertTrue(worst <= Promises.EQUAL_VALUES.limit(), "ulps: " + worst);
    }

    @Test
    void nanAndInfinityReachExactlyTheRowsThatSeeThem() {
        int n = 70;
        Tensor q = random(1, 1, 2, n, 8);
        for (double bad : new double[] {Double.NaN, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY}) {
            for (boolean inValue : new boolean[] {true, false}) {
                for (boolean weights : new boolean[] {true, false}) {
                    Tensor k = random(2, 1, 2, n, 8);
                    Tensor v = random(3, 1, 2, n, 8);
                    (inValue ? v : k).set(bad, 0, 1, 20, 3);
                    var built = new AttentionCase.Built(q, k, v, AttentionOptions.CAUSAL, null, 0);
                    AttentionOutputs outputs = built.outputs(Arena.ofAuto(), Layout.DENSE, DType.F32, weights);
                    built.run(CPU, outputs);
                    checkReach(outputs.output(), n, inValue, bad);
                }
            }
        }
    }

    /** An infinite key gives a score of either sign: minus infinity only removes the key, plus infinity makes the row NaN. */
    private static void checkReach(Tensor output, int n, boolean inValue, double bad) {
        for (int i = 0; i < n; i++) {
            for (int d = 0; d < 8; d++) {
                assertTrue(Double.isFinite(output.get(0, 0, i, d)), "the other head");
                boolean sees = i >= 20;
                boolean spoiled = !Double.isFinite(output.get(0, 1, i, d));
                if (!sees || (inValue && d != 3)) {
                    assertTrue(!spoiled, "row " + i + " must not see the key");
                } else if (inValue) {
                    assertEquals(bad, output.get(0, 1, i, d), "row " + i);
                } else if (Double.isNaN(bad)) {
                    assertTrue(spoiled, "row " + i + " must see the key");
                }
            }
        }
    }

    /**
     * An infinite value makes the output infinite even if more keys follow it in the same block of 256, in another block, or in another
     * split of 1024, which is merged.
     */
    @Test
    void infiniteValuesStayInfinite() {
        for (int keys : new int[] {1, 40, 300, 2500}) {
            for (int queries : new int[] {1, 40}) {
                Tensor k = random(2, 1, 1, keys, 8);
                Tensor v = random(3, 1, 1, keys, 4);
                v.set(Double.POSITIVE_INFINITY, 0, 0, 0, 0);
                v.set(Double.NEGATIVE_INFINITY, 0, 0, keys / 2, 1);
                v.set(Double.NEGATIVE_INFINITY, 0, 0, keys - 1, 1);
                v.set(Double.POSITIVE_INFINITY, 0, 0, 0, 2);
                v.set(Double.NaN, 0, 0, keys - 1, 2);
                var built =
                        new AttentionCase.Built(random(1, 1, 1, queries, 8), k, v, AttentionOptions.DEFAULT, null, 0);
                for (boolean weights : new boolean[] {true, false}) {
                    AttentionOutputs outputs = built.outputs(Arena.ofAuto(), Layout.DENSE, DType.F32, weights);
                    built.run(CPU, outputs);
                    for (int i = 0; i < queries; i++) {
                        String at = keys + " keys, query " + i + ", weights " + weights;
                        assertEquals(Double.POSITIVE_INFINITY, outputs.output().get(0, 0, i, 0), at);
                        assertEquals(Double.NEGATIVE_INFINITY, outputs.output().get(0, 0, i, 1), at);
                        assertTrue(Double.isNaN(outputs.output().get(0, 0, i, 2)), at);
                        assertTrue(Double.isFinite(outputs.output().get(0, 0, i, 3)), at);
                    }
                }
            }
        }
    }

    /**
     * Keys that a row does not see have weight 0 even if the row's other weights are NaN. This holds for all rows and keys, although they
     * are computed in tiles of rows and blocks of keys. 600 rows and keys are several tiles and blocks.
     */
    @Test
    void keysOutOfReachWeighZeroInRowsThatAreNaN() {
        int n = 600;
        int blocks = Math.ceilDiv(n, 32);
        Tensor kept = Tensor.allocate(Arena.ofAuto(), DType.I8, Shape.of(blocks, blocks));
        for (int i = 0; i < blocks; i++) {
            kept.set(1, i, i);
        }
        checkUnreached(Mask.window(30, 0), n, (query, key) -> key <= query && key >= query - 30);
        checkUnreached(Mask.CAUSAL, n, (query, key) -> key <= query);
        // 256 keys are computed together; hidden keys within them are NaN like the visible ones
        checkUnreached(Mask.blocks(kept, 32), n, (query, key) -> key / 256 == query / 256);
    }

    private static void checkUnreached(Mask mask, int n, BiPredicate<Integer, Integer> reaches) {
        Tensor q = random(1, 1, 1, n, 8);
        Tensor k = random(2, 1, 1, n, 8);
        for (int i = 0; i < n; i++) {
            q.set(Double.NaN, 0, 0, i, 5);
        }
        AttentionOptions options = AttentionOptions.DEFAULT.withMask(mask);
        var built = new AttentionCase.Built(q, k, k, options, null, 0);
        AttentionOutputs outputs = built.outputs(Arena.ofAuto(), Layout.DENSE, DType.F32, true);
        built.run(CPU, outputs);
        double[] weights = Numbers.of(outputs.weights());
        for (int query = 0; query < n; query++) {
            assertTrue(Double.isNaN(weights[query * n + query]), "query " + query);
            for (int key = 0; key < n; key++) {
                if (!reaches.test(query, key)) {
                    assertEquals(0, weights[query * n + key], "query " + query + ", key " + key);
                }
            }
        }
    }

    @Test
    void anEmptyRowIsPlusZero() {
        Tensor q = random(1, 1, 1, 3, 4);
        Tensor k = random(2, 1, 1, 5, 4);
        AttentionOptions options = AttentionOptions.DEFAULT.withMask(Mask.keyLengths(0));
        for (boolean weights : new boolean[] {true, false}) {
            var built = new AttentionCase.Built(q, k, k, options, null, 0);
            AttentionOutputs outputs = built.outputs(Arena.ofAuto(), Layout.DENSE, DType.F32, weights);
            built.run(CPU, outputs);
            assertArrayEquals(new double[12], Numbers.of(outputs.output()));
            double[] empty = new double[3];
            Arrays.fill(empty, Double.NEGATIVE_INFINITY);
            assertArrayEquals(empty, Numbers.of(outputs.logSumExp()));
            if (weights) {
                assertArrayEquals(new double[15], Numbers.of(outputs.weights()));
            }
        }
    }

    @Test
    void ninetySixCallersGetWhatOneGets() throws Exception {
        try (Compute shared = Compute.threads(2);
                ExecutorService callers = Executors.newFixedThreadPool(16)) {
            List<Callable<float[]>> calls = new ArrayList<>();
            float[][] expected = new float[6][];
            for (int shape = 0; shape < 6; shape++) {
                expected[shape] = attend(CPU, shape);
            }
            for (int round = 0; round < 16; round++) {
                for (int caller = 0; caller < 96; caller++) {
                    int shape = caller % 6;
                    calls.add(() -> attend(shared, shape));
                }
            }
            List<Future<float[]>> results = callers.invokeAll(calls);
            for (int i = 0; i < results.size(); i++) {
                assertArrayEquals(expected[i % 96 % 6], results.get(i).get());
            }
        }
    }

    private static float[] attend(Compute cpu, int shape) {
        int queries = 5 + 40 * shape;
        Tensor q = random(shape, 1, 4, queries, 16);
        Tensor k = random(shape + 1, 1, 2, 300, 16);
        Tensor out = Tensor.of(new float[4 * queries * 16], 1, 4, queries, 16);
        Attention.forward(cpu, q, k, k, out, AttentionOptions.CAUSAL);
        return out.toArray();
    }

    /** Inputs may be in read-only memory. */
    @Test
    void readOnlyInputsWork() {
        Tensor q = random(1, 1, 1, 9, 8);
        Tensor fixed = Tensor.view(q.memory().asReadOnly(), DType.F32, q.shape());
        float[] one = new float[72];
        float[] other = new float[72];
        Attention.forward(CPU, q, q, q, Tensor.of(one, 1, 1, 9, 8), AttentionOptions.DEFAULT);
        Attention.forward(CPU, fixed, fixed, fixed, Tensor.of(other, 1, 1, 9, 8), AttentionOptions.DEFAULT);
        assertArrayEquals(one, other);
    }

    /** The number of queries or of keys takes every value from 0 to 130. Red zones detect writes outside the output. */
    @Test
    void everyLengthStaysInsideItsOutput() {
        try (Arena arena = Arena.ofConfined()) {
            for (int length = 0; length <= 130; length++) {
                for (int[] sizes : new int[][] {{length, 130 - length}, {length, length}, {130 - length, length}}) {
                    Tensor q = random(1, 1, 1, sizes[0], 3);
                    Tensor k = random(2, 1, 1, sizes[1], 3);
                    Tensor out = Layout.GAPS.allocate(arena, DType.F32, 1, 1, sizes[0], 3);
                    Attention.forward(CPU, q, k, k, out, AttentionOptions.CAUSAL);
                    assertTrue(Layout.untouchedOutside(out), () -> Arrays.toString(sizes));
                    assertTrue(Arrays.stream(Numbers.of(out)).allMatch(Double::isFinite));
                }
            }
        }
    }

    @Test
    void negativeAndZeroScalesWork() {
        Tensor q = random(1, 1, 1, 4, 8);
        Tensor k = random(2, 1, 1, 6, 8);
        float[] negative = new float[32];
        float[] flipped = new float[32];
        AttentionOptions minus = AttentionOptions.DEFAULT.withScale(-0.5);
        Attention.forward(CPU, q, k, k, Tensor.of(negative, 1, 1, 4, 8), minus);
        Tensor opposite = Tensor.of(new float[32], 1, 1, 4, 8);
        double[] values = Arrays.stream(Numbers.of(q)).map(x -> -x).toArray();
        int[] at = {0};
        Numbers.fill(opposite, () -> values[at[0]++]);
        Attention.forward(CPU, opposite, k, k, Tensor.of(flipped, 1, 1, 4, 8), AttentionOptions.DEFAULT.withScale(0.5));
        assertArrayEquals(flipped, negative);
        Attention.forward(CPU, q, k, k, Tensor.of(negative, 1, 1, 4, 8), AttentionOptions.DEFAULT.withScale(0));
        double mean = IntStream.range(0, 6)
                .mapToDouble(j -> k.get(0, 0, j, 5))
                .average()
                .orElse(0);
        assertEquals(mean, negative[5], 1e-6);
    }

    /** All outputs except a few equal the exact result rounded once. */
    @Test
    void narrowOutputsAreCorrectlyRounded() {
        Tensor q = random(1, 1, 2, 60, 32);
        Tensor k = random(2, 1, 2, 90, 32);
        Tensor v = random(3, 1, 2, 90, 32);
        double[] exact = ReferenceAttention.forward(q, k, v, (float) (1 / Math.sqrt(32)), ScoreRule.NONE)
                .output();
        for (DType dtype : new DType[] {DType.BF16, DType.F16}) {
            Tensor out = Tensor.allocate(Arena.ofAuto(), dtype, q.shape());
            Tensor rounded = Tensor.allocate(Arena.ofAuto(), dtype, q.shape());
            int[] at = {0};
            Numbers.fill(rounded, () -> exact[at[0]++]);
            Attention.forward(CPU, q, k, v, out, AttentionOptions.DEFAULT);
            double[] actual = Numbers.of(out);
            double[] wanted = Numbers.of(rounded);
            long right = IntStream.range(0, wanted.length)
                    .filter(i -> actual[i] == wanted[i])
                    .count();
            double share = 100.0 * right / wanted.length;
            Promises promise = Promises.valueOf(dtype.name());
            promise.record(share);
            assertTrue(share >= promise.limit(), dtype + ": " + share);
        }
    }

    static Tensor random(int seed, long... dims) {
        Shape shape = Shape.of(dims);
        Tensor tensor = Tensor.view(MemorySegment.ofArray(new float[(int) shape.elements()]), DType.F32, shape);
        return Numbers.gaussian(tensor, new SplittableRandom(seed), 0, 1);
    }
}
