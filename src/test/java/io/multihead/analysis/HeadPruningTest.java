package io.multihead.analysis;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.multihead.analysis.AttentionCost.Component;
import io.multihead.nn.attention.MultiHeadConfig;
import io.multihead.tensor.Tensor;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Importance, ablation and pruning of models with known results. */
class HeadPruningTest {
    /** The contribution of each head to the accuracy of an artificial model of two layers. */
    private static final double[][] WORTH = {{0.2, 0.0, 0.004}, {0.1, 0.3, 0.003}};

    private static double accuracy(boolean[][] kept) {
        double sum = 0.3;
        for (int l = 0; l < 2; l++) {
            for (int h = 0; h < 3; h++) {
                sum += kept[l][h] ? WORTH[l][h] : 0;
            }
        }
        return sum;
    }

    @Test
    void ablationTakesOneHeadAtATime() {
        double[][] lost = HeadPruning.ablation(2, 3, HeadPruningTest::accuracy);
        for (int l = 0; l < 2; l++) {
            assertArrayEquals(WORTH[l], lost[l], 1e-12);
        }
    }

    @Test
    void greedyPruningStopsWhenAHeadCostsTooMuch() {
        HeadPruning.Result result = HeadPruning.greedy(2, 3, HeadPruningTest::accuracy, kept -> WORTH, 0.01);
        assertEquals(0.907, result.before(), 1e-12);
        assertEquals(
                List.of(1, 2, 2, 0),
                result.steps().stream().map(HeadPruning.Step::head).toList());
        assertEquals(0.8, result.steps().get(3).accuracy(), 1e-12);
        assertArrayEquals(new int[] {0}, result.survivors(0));
        assertArrayEquals(new int[] {0, 1}, result.survivors(1));
    }

    @Test
    void greedyPruningStopsAtANumberOfHeads() {
        HeadPruning.Result result = HeadPruning.greedyTo(2, 3, 3, HeadPruningTest::accuracy, kept -> WORTH);
        assertEquals(0.907, result.before(), 1e-12);
        assertEquals(
                List.of(1, 2, 2),
                result.steps().stream().map(HeadPruning.Step::head).toList());
        assertEquals(0.9, result.steps().get(2).accuracy(), 1e-12);
        assertArrayEquals(new int[] {0}, result.survivors(0));
        assertArrayEquals(new int[] {0, 1}, result.survivors(1));
        // the least important head, in layer 0, is the last one of its layer, so a more important head of another layer
        // is removed
        double[][] worth = {{0.001, 0.002, 0.003}, {1, 2, 3}};
        HeadPruning.Result fewest = HeadPruning.greedyTo(2, 3, 2, kept -> 1, kept -> worth);
        assertArrayEquals(new int[] {2}, fewest.survivors(0));
        assertArrayEquals(new int[] {2}, fewest.survivors(1));
        assertEquals(
                List.of(),
                HeadPruning.greedyTo(2, 3, 6, kept -> 1, kept -> worth).steps());
    }

    @Test
    void aNumberOfHeadsThatCannotBeLeftIsNamed() {
        for (int survivors : new int[] {Integer.MIN_VALUE, 0, 1, 7, Integer.MAX_VALUE}) {
            assertEquals(
                    "survivors: " + survivors + "; expected 2, one of each layer, to 6",
                    assertThrows(
                                    IllegalArgumentException.class,
                                    () -> HeadPruning.greedyTo(2, 3, survivors, kept -> 1, kept -> WORTH))
                            .getMessage());
        }
    }

    @Test
    void everyLayerKeepsAHead() {
        HeadPruning.Result result = HeadPruning.greedy(2, 3, kept -> 1, kept -> WORTH, 0);
        assertEquals(4, result.steps().size());
        assertArrayEquals(new int[] {0}, result.survivors(0));
        assertArrayEquals(new int[] {1}, result.survivors(1));
    }

    @Test
    void whatTheModelSeesIsACopy() {
        HeadPruning.Result expected = HeadPruning.greedy(2, 3, HeadPruningTest::accuracy, kept -> WORTH, 0.01);
        HeadPruning.Result result = HeadPruning.greedy(2, 3, HeadPruningTest::spoil, kept -> WORTH, 0.01);
        assertEquals(expected.steps(), result.steps());
        assertArrayEquals(expected.kept(), result.kept());
        result = HeadPruning.greedy(
                2,
                3,
                HeadPruningTest::accuracy,
                kept -> {
                    spoil(kept);
                    return WORTH;
                },
                0.01);
        assertEquals(expected.steps(), result.steps());
        assertArrayEquals(expected.kept(), result.kept());
        assertArrayEquals(
                HeadPruning.ablation(2, 3, HeadPruningTest::accuracy),
                HeadPruning.ablation(2, 3, HeadPruningTest::spoil));
    }

    /** Returns the accuracy and silences all heads in the given array. */
    private static double spoil(boolean[][] kept) {
        double accuracy = accuracy(kept);
        for (boolean[] layer : kept) {
            Arrays.fill(layer, false);
        }
        return accuracy;
    }

    @Test
    void badNumbersAreRefused() {
        assertThrows(
                IllegalArgumentException.class, () -> HeadPruning.greedy(2, 3, kept -> 1, kept -> WORTH, Double.NaN));
        assertThrows(IllegalArgumentException.class, () -> HeadPruning.greedy(0, 3, kept -> 1, kept -> WORTH, 0));
    }

    @Test
    void anImportanceOfNoNumberIsNamed() {
        double[][] unknown = {{1, 0, 2}, {3, Double.NaN, 2}};
        assertEquals(
                "importance[1][1]: NaN; expected a number",
                assertThrows(
                                IllegalArgumentException.class,
                                () -> HeadPruning.greedy(2, 3, kept -> 1, kept -> unknown, 0))
                        .getMessage());
        // the importance of a removed head is not read
        HeadPruning.greedy(1, 2, kept -> 1, kept -> new double[][] {{kept[0][0] ? 0 : Double.NaN, 1}}, 0);
    }

    @Test
    void importanceIsTheMeanAbsoluteGradient() {
        Tensor gradients = Tensor.of(new float[] {1, -2, 0, -3, 2, 0}, 2, 3);
        assertArrayEquals(new double[] {2, 2, 0}, HeadImportance.of(gradients), 1e-12);
        assertArrayEquals(new double[] {Math.sqrt(0.5), Math.sqrt(0.5), 0}, HeadImportance.normalized(2, 2, 0), 1e-12);
        assertArrayEquals(new double[] {0, 0}, HeadImportance.normalized(0, 0));
        assertArrayEquals(new double[] {0.6, 0.8}, HeadImportance.normalized(3e-170, 4e-170), 1e-15);
        assertArrayEquals(new double[] {1, 0}, HeadImportance.normalized(1e200, 0));
        assertThrows(IllegalArgumentException.class, () -> HeadImportance.of(gradients.reshape(6)));
    }

    @Test
    void parametersAreThoseOfTheLayer() {
        for (int heads : new int[] {1, 8}) {
            AttentionCost cost = new AttentionCost(512, heads);
            MultiHeadConfig config = MultiHeadConfig.of(512, heads);
            assertEquals(config.parameterCount(), cost.parameters(true));
            assertEquals(config.withBias(false).parameterCount(), cost.parameters(false));
        }
        AttentionCost cost = new AttentionCost(64, 8);
        assertEquals(2L * 64 * 256 + 256 + 64, cost.feedForwardParameters(256, true));
        // backward has five products of 2 L^2 d operations, forward has two
        assertEquals(
                10.0 * 100 * 64,
                cost.backwardOperations(Component.SCORES, 10) + cost.backwardOperations(Component.VALUES, 10));
        assertEquals(16L * 64 * 10 + 8 * 8 * 10, cost.recordedBytes(10));
    }
}
