package io.multihead.analysis;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.analysis.AttentionCost.Component;
import io.multihead.tensor.Tensor;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class AnalysisTest {
    private static final Tensor WEIGHTS =
            Tensor.of(new float[] {1, 0, 0, 1, 0.5f, 0.5f, 0.5f, 0.5f, 0, 1, 1, 0}, 3, 2, 2);

    @Test
    void headsThatLookElsewhereAreOrthogonal() {
        double[][] cosine = HeadStatistics.of(WEIGHTS).cosineSimilarity();
        assertArrayEquals(new double[] {1, Math.sqrt(0.5), 0}, cosine[0], 1e-12);
        assertArrayEquals(new double[] {Math.sqrt(0.5), 1, Math.sqrt(0.5)}, cosine[1], 1e-12);
    }

    @Test
    void cosinesAreOfAngles() {
        float[] rows = new float[2 * 6];
        SplittableRandom random = new SplittableRandom(1);
        for (int round = 0; round < 2000; round++) {
            for (int i = 0; i < 6; i++) {
                rows[i] = (float) random.nextDouble();
                rows[6 + i] = Math.nextUp(rows[i]);
            }
            double cosine = HeadStatistics.of(Tensor.of(rows, 2, 1, 6)).cosineSimilarity()[0][1];
            // elements differ by one part in 2^23, so the angle is at most 2^-22; the sums of six products and a few
            // more operations round by 2^-53 each
            assertEquals(1, cosine, 0x1p-45 + 20 * 0x1p-53);
            assertTrue(cosine <= 1, () -> String.valueOf(cosine));
        }
    }

    @Test
    void aHeadThatSeesNoKeyIsLikeNoOther() {
        double[][] cosine = HeadStatistics.of(Tensor.of(new float[] {0, 0, 1, 0, Float.NaN, 0}, 3, 1, 2))
                .cosineSimilarity();
        assertArrayEquals(new double[] {1, 0, Double.NaN}, cosine[0]);
        assertArrayEquals(new double[] {0, 1, Double.NaN}, cosine[1]);
    }

    @Test
    void entropyIsInBits() {
        assertArrayEquals(new double[] {0, 1, 0}, HeadStatistics.of(WEIGHTS).entropy(), 1e-12);
        Tensor unknown = Tensor.of(new float[] {Float.NaN, 1, 0.5f, 0.5f}, 2, 1, 2);
        assertArrayEquals(
                new double[] {Double.NaN, 1}, HeadStatistics.of(unknown).entropy(), 1e-12);
    }

    @Test
    void deviationIsAveragedOverKeys() {
        double deviation = Math.sqrt((0.25 + 0 + 0.25) / 3);
        assertArrayEquals(
                new double[] {deviation, deviation}, HeadStatistics.of(WEIGHTS).deviationAcrossHeads(), 1e-12);
    }

    @Test
    void crossoverIsTheFirstLengthAtWhichAttentionCostsMore() {
        for (AttentionCost cost :
                new AttentionCost[] {new AttentionCost(64, 8), new AttentionCost(512, 8), new AttentionCost(1, 1)}) {
            assertTrue(attention(cost, cost.crossover()) > projections(cost, cost.crossover()));
            assertTrue(attention(cost, cost.crossover() - 1) <= projections(cost, cost.crossover() - 1));
        }
        assertEquals(2.0 * 3 * 10 * 64 * 64, new AttentionCost(64, 8).operations(Component.PROJECTIONS, 10));
        assertEquals(4L * 8 * 100, new AttentionCost(64, 8).weightBytes(10));
    }

    @Test
    void badSizesAreNamed() {
        assertEquals(
                "heads: 3; expected a divisor of embedDim 64",
                assertThrows(IllegalArgumentException.class, () -> new AttentionCost(64, 3))
                        .getMessage());
        assertEquals(
                "weights: shape [12]; expected [heads, queries, keys]",
                assertThrows(IllegalArgumentException.class, () -> HeadStatistics.of(WEIGHTS.reshape(12)))
                        .getMessage());
        assertEquals(
                "weights: shape [1, 65537, 65536]; expected at most 2147483639 per head",
                assertThrows(
                                IllegalArgumentException.class,
                                () -> HeadStatistics.of(
                                        Tensor.of(new float[1], 1, 1, 1).broadcast(1, 65537, 65536)))
                        .getMessage());
    }

    private static double attention(AttentionCost cost, long length) {
        return cost.operations(Component.SCORES, length)
                + cost.operations(Component.SOFTMAX, length)
                + cost.operations(Component.VALUES, length);
    }

    private static double projections(AttentionCost cost, long length) {
        return cost.operations(Component.PROJECTIONS, length) + cost.operations(Component.OUTPUT, length);
    }
}
