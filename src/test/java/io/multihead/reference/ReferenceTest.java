package io.multihead.reference;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.support.Golden;
import io.multihead.support.Numbers;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/**
 * The specification is compared with PyTorch's f64 results, and with its definitions. {@code AttentionGoldenTest}
 * compares its attention with the {@code sdpa} vectors.
 */
class ReferenceTest {
    private static final double NONE = Double.NEGATIVE_INFINITY;

    @TestFactory
    Stream<DynamicTest> gemmEqualsPyTorch() {
        return Golden.names("gemm/")
                .map(name -> DynamicTest.dynamicTest(name, () -> {
                    Golden golden = Golden.open(name);
                    Tensor a = transposed(golden.tensor("A"), golden.meta("transA"));
                    Tensor b = transposed(golden.tensor("B"), golden.meta("transB"));
                    Tensor expected = golden.tensor("expected.out");
                    Tensor old = golden.find("C");
                    double alpha = Double.parseDouble(golden.meta("alpha"));
                    double beta = Double.parseDouble(golden.meta("beta"));
                    for (int i = 0; i < (expected.rank() == 3 ? expected.dim(0) : 1); i++) {
                        Tensor want = part(expected, i);
                        Tensor c = old == null ? want : old;
                        ReferenceGemm.Result result =
                                ReferenceGemm.multiply(part(a, i), part(b, i), c, alpha, beta, null);
                        assertClose(Numbers.of(want), result.values());
                    }
                }));
    }

    @TestFactory
    Stream<DynamicTest> softmaxEqualsPyTorch() {
        return Golden.names("softmax/")
                .map(name -> DynamicTest.dynamicTest(name, () -> {
                    Golden golden = Golden.open(name);
                    boolean logarithm = golden.meta("kind").equals("log_softmax");
                    double[] x = Numbers.of(golden.tensor("x"));
                    double[] expected = Numbers.of(golden.tensor("expected.out"));
                    double[] lse = Numbers.of(golden.tensor("expected.lse"));
                    int width = x.length / lse.length;
                    for (int row = 0; row < lse.length; row++) {
                        double[] scores = Arrays.copyOfRange(x, row * width, (row + 1) * width);
                        double[] want = Arrays.copyOfRange(expected, row * width, (row + 1) * width);
                        boolean dead = lse[row] == NONE; // NaN in PyTorch, and intentionally 0 here
                        assertClose(
                                dead ? new double[width] : want,
                                logarithm ? ReferenceSoftmax.logRow(scores) : ReferenceSoftmax.row(scores));
                        assertClose(new double[] {lse[row]}, new double[] {ReferenceSoftmax.logSumExp(scores)});
                    }
                }));
    }

    @Test
    void softmaxSumsToOneAtAnyMagnitude() {
        for (double big : new double[] {0, 1e4, 1e10, 1e30, -1e30, Double.MAX_VALUE}) {
            assertArrayEquals(new double[] {0.25, 0, 0.25, 0.25, 0.25}, ReferenceSoftmax.row(big, NONE, big, big, big));
        }
        assertArrayEquals(new double[] {0.5, 0.5}, ReferenceSoftmax.row(1e10, 1e10));
    }

    @Test
    void softmaxOfNothingIsNothingAndNanSpreads() {
        assertArrayEquals(new double[0], ReferenceSoftmax.row());
        assertArrayEquals(new double[2], ReferenceSoftmax.row(NONE, NONE));
        assertArrayEquals(new double[] {NONE, NONE}, ReferenceSoftmax.logRow(NONE, NONE));
        assertEquals(NONE, ReferenceSoftmax.logSumExp());
        assertArrayEquals(new double[] {Double.NaN, 0, Double.NaN}, ReferenceSoftmax.row(Double.NaN, NONE, 1));
        assertTrue(Double.isNaN(ReferenceSoftmax.logSumExp(Double.NaN, 1)));
        assertTrue(Double.isNaN(ReferenceSoftmax.row(Double.POSITIVE_INFINITY, 1)[0]));
    }

    @Test
    void gemmReadsCOnlyWithBetaAndAddsTheBias() {
        Tensor a = Tensor.of(new float[] {1, 2}, 1, 2);
        Tensor b = Tensor.of(new float[] {3, -4, 5, 6}, 2, 2);
        Tensor nan = Tensor.of(new float[] {Float.NaN, Float.NaN}, 1, 2);
        Tensor bias = Tensor.of(new float[] {0.5f, -1});
        assertArrayEquals(
                new double[] {26.5, 15},
                ReferenceGemm.multiply(a, b, nan, 2, 0, bias).values());
        assertArrayEquals(
                new double[] {16, 11},
                ReferenceGemm.multiply(a, b, Tensor.of(new float[] {1, 1}, 1, 2), 1, 3, null)
                        .values());
        ReferenceGemm.Result empty =
                ReferenceGemm.multiply(Tensor.of(new float[0], 1, 0), Tensor.of(new float[0], 0, 2), nan, 1, 0, bias);
        assertArrayEquals(new double[] {0.5, -1}, empty.values());
    }

    @Test
    void maskedKeysDoNotExist() {
        Tensor q = Tensor.of(new float[] {1, 2, 3, 4}, 1, 1, 2, 2);
        float[] keys = {1, 0, Float.NaN, Float.POSITIVE_INFINITY, 0, 1};
        float[] values = {1, Float.NaN, 5};
        Tensor k = Tensor.of(keys, 1, 1, 3, 2);
        Tensor v = Tensor.of(values, 1, 1, 3, 1);
        Tensor drop = Tensor.view(MemorySegment.ofArray(new byte[] {0, 1, 0}), DType.I8, Shape.of(3));
        ReferenceAttention.Result masked = ReferenceAttention.forward(q, k, v, 0.5, ScoreRule.drop(drop));
        Tensor kLeft = Tensor.of(new float[] {1, 0, 0, 1}, 1, 1, 2, 2);
        Tensor vLeft = Tensor.of(new float[] {1, 5}, 1, 1, 2, 1);
        ReferenceAttention.Result removed = ReferenceAttention.forward(q, kLeft, vLeft, 0.5, ScoreRule.NONE);
        assertArrayEquals(removed.output(), masked.output());
        assertArrayEquals(removed.logSumExp(), masked.logSumExp());
        assertEquals(removed.maxScore(), masked.maxScore());
        for (double bound : masked.errorScale()) {
            assertTrue(bound > 0 && bound < 1e-5, "bound " + bound);
        }
        assertEquals(0, masked.weights()[1]);
        Tensor bias = Tensor.of(new float[] {0, Float.NEGATIVE_INFINITY, 0});
        assertArrayEquals(
                removed.output(),
                ReferenceAttention.forward(q, k, v, 0.5, ScoreRule.bias(bias)).output());
    }

    @Test
    void aRowWithoutKeysIsEmptyAndANanIsSeenByItsRowsOnly() {
        Tensor q = Tensor.of(new float[] {1, 2, 3}, 1, 1, 3, 1);
        Tensor k = Tensor.of(new float[] {1, Float.NaN}, 1, 1, 2, 1);
        Tensor v = Tensor.of(new float[] {7, 8}, 1, 1, 2, 1);
        // alignment is bottom-right: the first query sees no key, the second sees one key, the third sees both
        ReferenceAttention.Result result = ReferenceAttention.forward(q, k, v, 1, ScoreRule.causal(3, 2));
        assertArrayEquals(new double[] {0, 7, Double.NaN}, result.output());
        assertArrayEquals(new double[] {NONE, 2, Double.NaN}, result.logSumExp());
        assertArrayEquals(new double[] {0, 0, 1, 0, Double.NaN, Double.NaN}, result.weights());
    }

    @Test
    void scoresAreThoseAfterTheRule() {
        Tensor q = Tensor.of(new float[] {1, 2, 3, 4}, 1, 2, 2, 1);
        Tensor k = Tensor.of(new float[] {1, -2, 3}, 1, 1, 3, 1);
        ReferenceAttention.Call call = new ReferenceAttention.Call(q, k, k, 0.5, ScoreRule.NONE, ReferenceDropout.NONE);
        assertArrayEquals(
                new double[] {0.5, -1, 1.5, 1, -2, 3, 1.5, -3, 4.5, 2, -4, 6},
                call.scores().scores());
        ReferenceAttention.Call causal =
                new ReferenceAttention.Call(q, k, k, 0.5, ScoreRule.causal(2, 3), ReferenceDropout.NONE);
        assertArrayEquals(
                new double[] {0.5, -1, NONE, 1, -2, 3, 1.5, -3, NONE, 2, -4, 6},
                causal.scores().scores());
        double[] errors = call.scores().errors();
        // the chain of one product and the product itself: two roundings
        assertEquals(2 * 0x1p-24 * 0.5, errors[0]);
        assertEquals(2 * 0x1p-24 * 6, errors[11]);
    }

    @Test
    void rulesCombineAndBroadcast() {
        Tensor keep = Tensor.view(MemorySegment.ofArray(new byte[] {1, 0, 1}), DType.I8, Shape.of(3));
        Tensor bias = Tensor.of(new float[] {10, 20}, 2, 1, 1, 1);
        ScoreRule rule = ScoreRule.keep(keep).and(ScoreRule.bias(bias)).and(ScoreRule.keyLengths(3, 2));
        assertEquals(11, rule.apply(0, 4, 5, 2, 1));
        assertEquals(21, rule.apply(1, 4, 5, 0, 1));
        assertEquals(NONE, rule.apply(1, 4, 5, 2, 1));
        assertEquals(NONE, rule.apply(0, 4, 5, 1, Double.NaN));
        ScoreRule both = ScoreRule.causal(2, 4).and(ScoreRule.causalTopLeft());
        assertEquals(1, both.apply(0, 0, 1, 1, 1));
        assertEquals(NONE, both.apply(0, 0, 1, 2, 1));
    }

    @Test
    void positionsFollowTheOffsetsOfEachBatch() {
        long[] offsets = ScoreRule.bottomRight(2, 4, 1);
        assertArrayEquals(new long[] {2, -1}, offsets);
        ScoreRule causal = ScoreRule.causalFrom(offsets);
        ScoreRule window = ScoreRule.windowFrom(1, 0, offsets);
        ScoreRule alibi = ScoreRule.alibiFrom(new double[] {0.5}, offsets);
        for (int i = 0; i < 2; i++) {
            for (int j = 0; j < 6; j++) {
                assertEquals(j <= i + 2 ? 7 : NONE, causal.apply(0, 0, i, j, 7));
                assertEquals(j <= i - 1 ? 7 : NONE, causal.apply(1, 0, i, j, 7));
                assertEquals(j == i + 1 || j == i + 2 ? 7 : NONE, window.apply(0, 0, i, j, 7));
                assertEquals(7 + 0.5 * (j - i + 1), alibi.apply(1, 0, i, j, 7));
            }
        }
    }

    private static Tensor transposed(Tensor matrix, String transposed) {
        boolean batched = matrix.rank() == 3;
        return !transposed.equals("true") ? matrix : batched ? matrix.permute(0, 2, 1) : matrix.permute(1, 0);
    }

    private static Tensor part(Tensor tensor, int batch) {
        return tensor.rank() == 3 ? tensor.select(0, batch) : tensor;
    }

    /** The tolerance is 1e-12 of each value, or 1e-12 if sums cancel. */
    private static void assertClose(double[] expected, double[] actual) {
        assertEquals(expected.length, actual.length);
        for (int i = 0; i < expected.length; i++) {
            double tolerance = 1e-12 * Math.max(1, Math.abs(expected[i]));
            boolean close = expected[i] == actual[i] || Math.abs(expected[i] - actual[i]) <= tolerance;
            assertTrue(close, "element " + i + ": " + actual[i] + " for " + expected[i]);
        }
    }
}
