package io.multihead.position;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.attention.Attention;
import io.multihead.attention.AttentionOptions;
import io.multihead.attention.ScoreOptions;
import io.multihead.compute.Compute;
import io.multihead.reference.ReferenceAttention;
import io.multihead.reference.ScoreRule;
import io.multihead.reference.Tolerance;
import io.multihead.support.Golden;
import io.multihead.support.Numbers;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** Slopes and the specification of linear biases are compared with PyTorch's vectors and the paper. */
class AlibiTest {
    @Test
    void allFilesAreHere() {
        assertEquals(2, Golden.names("alibi/").count());
    }

    @TestFactory
    Stream<DynamicTest> equalsPyTorch() {
        return Golden.names("alibi/")
                .map(name -> DynamicTest.dynamicTest(name, () -> {
                    Golden golden = Golden.open(name);
                    double[] slopes = Numbers.of(golden.tensor("expected.slopes"));
                    float[] actual = Alibi.slopes(slopes.length);
                    for (int h = 0; h < slopes.length; h++) {
                        // the f64 slopes of the vectors have an error of an ulp, which can change the nearest f32 at a
                        // tie
                        assertTrue(Math.abs(actual[h] - slopes[h]) <= 0x1p-24 * slopes[h] * (1 + 0x1p-20), "head " + h);
                    }
                    Tensor q = golden.tensor("q");
                    Tensor k = golden.tensor("k");
                    ScoreRule rule =
                            ScoreRule.causal(q.dim(2), k.dim(2)).and(ScoreRule.alibi(slopes, q.dim(2), k.dim(2)));
                    ReferenceAttention.Result result = ReferenceAttention.forward(
                            q, k, golden.tensor("v"), Double.parseDouble(golden.meta("scale_value")), rule);
                    // a few dozen f64 roundings of numbers below 16
                    assertArrayEquals(Numbers.of(golden.tensor("expected.out")), result.output(), 1e-13);
                    assertArrayEquals(Numbers.of(golden.tensor("expected.lse")), result.logSumExp(), 1e-13);
                    Tensor output = Tensor.of(
                            new float[result.output().length], q.shape().toArray());
                    AttentionOptions options = AttentionOptions.CAUSAL
                            .withScale(Double.parseDouble(golden.meta("scale_value")))
                            .withScores(ScoreOptions.NONE.withSlopes(actual));
                    Attention.forward(Compute.serial(), q, k, golden.tensor("v"), output, options);
                    double ratio = Tolerance.ratio(Numbers.of(output), result.output(), result.errorScale(), DType.F32);
                    assertTrue(ratio <= Tolerance.FORWARD, "R = " + ratio);
                }));
    }

    @Test
    void powersOfTwoAreAGeometricSequence() {
        assertArrayEquals(new float[] {0x1p-8f}, Alibi.slopes(1));
        assertArrayEquals(new float[] {0x1p-4f, 0x1p-8f}, Alibi.slopes(2));
        float[] eight = {0.5f, 0.25f, 0.125f, 0x1p-4f, 0x1p-5f, 0x1p-6f, 0x1p-7f, 0x1p-8f};
        assertArrayEquals(eight, Alibi.slopes(8));
    }

    /**
     * The paper's rule: the slopes of the next lower power of two, then every second slope of the next higher power of
     * two.
     */
    @Test
    void otherNumbersTakeEveryOtherSlopeOfTheNextPower() {
        for (int heads = 1; heads <= 300; heads++) {
            int power = Integer.highestOneBit(heads);
            float[] low = Alibi.slopes(power);
            float[] high = Alibi.slopes(2 * power);
            float[] slopes = Alibi.slopes(heads);
            assertEquals(heads, slopes.length);
            for (int h = 0; h < heads; h++) {
                assertEquals(h < power ? low[h] : high[2 * (h - power)], slopes[h], "head " + h + " of " + heads);
            }
        }
    }

    @Test
    void noHeadIsRefused() {
        var error = assertThrows(IllegalArgumentException.class, () -> Alibi.slopes(0));
        assertEquals("heads: 0; expected at least 1", error.getMessage());
    }

    /**
     * Alignment is bottom-right: the last query has the position of the last key, and the score of this key does not
     * change.
     */
    @Test
    void theRuleIsAlignedAtTheEnd() {
        ScoreRule rule = ScoreRule.alibi(new double[] {0.5, 0.25}, 2, 5);
        assertEquals(7, rule.apply(0, 0, 1, 4, 7));
        assertEquals(7 - 0.25 * 4, rule.apply(0, 1, 1, 0, 7));
        assertEquals(7 + 0.5, rule.apply(0, 0, 0, 4, 7));
    }
}
