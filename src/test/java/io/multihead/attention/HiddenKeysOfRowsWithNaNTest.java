package io.multihead.attention;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.multihead.compute.Compute;
import io.multihead.reference.ReferenceAttention;
import io.multihead.reference.ReferenceAttentionGradient;
import io.multihead.reference.ReferenceDropout;
import io.multihead.reference.ScoreRule;
import io.multihead.support.Numbers;
import io.multihead.support.Tokens;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * A NaN that a row sees does not reach its weights of hidden keys, and a NaN in hidden keys does not reach the gradients of visible keys.
 */
class HiddenKeysOfRowsWithNaNTest {
    private static final Compute CPU = Compute.serial();
    private static final float NAN = Float.NaN;
    private static final boolean[] KEEP = {false, true, true, true, false, true};

    private final Tensor query = Tokens.gaussian(1, 1, 1, 8, 1);
    private final Tensor key = Tokens.gaussian(1, 1, 6, 8, 2);
    private final Tensor value = Tokens.gaussian(1, 1, 6, 8, 3);

    private static Tensor zeros(long... sizes) {
        return Tensor.zeros(Arena.ofAuto(), DType.F32, sizes);
    }

    private float[] weights(Mask mask) {
        Tensor weights = zeros(1, 1, 1, 6);
        AttentionOutputs outputs = new AttentionOutputs(zeros(1, 1, 1, 8), null, weights);
        Attention.forward(CPU, query, key, value, outputs, AttentionOptions.DEFAULT.withMask(mask));
        return weights.toArray();
    }

    @Test
    void weightsOfHiddenKeysAreZero() {
        key.set(Double.NaN, 0, 0, 2, 0);
        Tensor keep = Tensor.of(KEEP);
        float[] weights = weights(Mask.keep(keep));
        assertArrayEquals(new float[] {0, NAN, NAN, NAN, 0, NAN}, weights);
        double[] reference = ReferenceAttention.forward(query, key, value, 1, ScoreRule.keep(keep))
                .weights();
        for (int i = 0; i < weights.length; i++) {
            assertEquals(reference[i], weights[i]);
        }
        Tensor bias = zeros(6);
        bias.set(Double.NEGATIVE_INFINITY, 0);
        assertArrayEquals(new float[] {0, NAN, NAN, NAN, NAN, NAN}, weights(Mask.bias(bias)));
        assertArrayEquals(
                new float[] {0, NAN, NAN, NAN, NAN, 0},
                weights(Mask.window(3, 0).and(Mask.keyLengths(5))));
    }

    @Test
    void theSoftmaxOfHiddenScoresIsZero() {
        Tensor scores = Tensor.of(new float[] {1, 2, NAN, 3, 4, 5});
        Tensor output = zeros(6);
        AttentionOptions kept = AttentionOptions.DEFAULT.withMask(Mask.keep(Tensor.of(KEEP)));
        Softmax.forward(CPU, scores, output, null, kept);
        assertArrayEquals(new float[] {0, NAN, NAN, NAN, 0, NAN}, output.toArray());
        AttentionOptions four = AttentionOptions.DEFAULT.withMask(Mask.keyLengths(4));
        Softmax.forward(CPU, scores, output, null, four);
        assertArrayEquals(new float[] {NAN, NAN, NAN, NAN, 0, 0}, output.toArray());
        float low = Float.NEGATIVE_INFINITY;
        Softmax.logForward(CPU, scores, output, null, four);
        assertArrayEquals(new float[] {NAN, NAN, NAN, NAN, low, low}, output.toArray());
    }

    /** A mask that hides nothing does not change the weights. The third key is visible, but its score is 300 below the second. */
    @Test
    void weightsOfSeenKeysAreNotANumberHoweverSmall() {
        Tensor scores = Tensor.of(new float[] {NAN, 300, 0}, 1, 3);
        Tensor one = Tensor.of(new float[] {1}, 1, 1, 1, 1);
        Tensor keys = Tensor.of(new float[] {NAN, 300, 0}, 1, 1, 3, 1);
        List<Mask> masks = List.of(
                Mask.NONE,
                Mask.keyLengths(3),
                Mask.bias(zeros(1)),
                Mask.keep(Tensor.of(new boolean[] {true}, 1)),
                Mask.blocks(Tensor.of(new boolean[] {true}, 1, 1), 32));
        for (Mask mask : masks) {
            AttentionOptions options = AttentionOptions.DEFAULT.withMask(mask);
            Tensor weights = zeros(1, 1, 1, 3);
            Attention.forward(CPU, one, keys, keys, new AttentionOutputs(zeros(1, 1, 1, 1), null, weights), options);
            assertArrayEquals(new float[] {NAN, NAN, NAN}, weights.toArray(), mask::toString);
            if (mask != masks.getLast()) {
                Tensor softmax = zeros(1, 3);
                Softmax.forward(CPU, scores, softmax, null, options);
                assertArrayEquals(new float[] {NAN, NAN, NAN}, softmax.toArray(), mask::toString);
            }
        }
    }

    /** No part of these masks hides a key. The softmax of a row with infinity is NaN by definition, because it is infinity / infinity. */
    @Test
    void aVisibleInfinityMakesTheRowNaNUnderAnyMask() {
        float[] row = {0, 1, Float.POSITIVE_INFINITY, 3};
        Tensor scores = Tensor.of(row, 1, 4);
        Tensor one = Tensor.of(new float[] {1}, 1, 1, 1, 1);
        Tensor keys = Tensor.of(row, 1, 1, 4, 1);
        Tensor values = Tensor.of(new float[] {1, 2, 3, 4}, 1, 1, 4, 1);
        for (Mask mask : List.of(
                Mask.NONE,
                Mask.CAUSAL,
                Mask.window(3, 0),
                Mask.keyLengths(4),
                Mask.bias(zeros(1)),
                Mask.keep(Tensor.of(new boolean[] {true}, 1)))) {
            AttentionOptions options = AttentionOptions.DEFAULT.withMask(mask).withScale(1);
            Tensor softmax = zeros(1, 4);
            Softmax.forward(CPU, scores, softmax, null, options);
            assertArrayEquals(new float[] {NAN, NAN, NAN, NAN}, softmax.toArray(), mask::toString);
            Tensor gradient = zeros(1, 4);
            Softmax.backward(CPU, softmax, Tensor.of(new float[] {1, 2, 3, 4}, 1, 4), gradient, options);
            assertArrayEquals(new float[] {NAN, NAN, NAN, NAN}, gradient.toArray(), mask::toString);
            Softmax.logForward(CPU, scores, softmax, null, options);
            assertArrayEquals(new float[] {NAN, NAN, NAN, NAN}, softmax.toArray(), mask::toString);
            AttentionOutputs outputs = new AttentionOutputs(zeros(1, 1, 1, 1), zeros(1, 1, 1), zeros(1, 1, 1, 4));
            Attention.forward(CPU, one, keys, values, outputs, options);
            assertArrayEquals(
                    new float[] {NAN, NAN, NAN, NAN}, outputs.weights().toArray(), mask::toString);
            assertEquals(NAN, (float) outputs.logSumExp().get(0, 0, 0), mask::toString);
            assertEquals(NAN, (float) outputs.output().get(0, 0, 0, 0), mask::toString);
        }
    }

    @Test
    void whatAMaskHidesFromARowWithInfinityIsZero() {
        Tensor scores = Tensor.of(new float[] {0, Float.POSITIVE_INFINITY, 3, 4}, 1, 4);
        Tensor softmax = zeros(1, 4);
        Mask first = Mask.keep(Tensor.of(new boolean[] {true, true, false, false}));
        Softmax.forward(CPU, scores, softmax, null, AttentionOptions.DEFAULT.withMask(first));
        assertArrayEquals(new float[] {NAN, NAN, 0, 0}, softmax.toArray());
        Mask others = Mask.keep(Tensor.of(new boolean[] {true, false, true, false}));
        Softmax.forward(CPU, scores, softmax, null, AttentionOptions.DEFAULT.withMask(others));
        double small = 1 / (1 + Math.exp(3));
        // one exponential and one quotient have an error of at most 2 units of 2^-24
        assertArrayEquals(new float[] {(float) small, 0, (float) (1 - small), 0}, softmax.toArray(), 0x1p-23f);
    }

    /** The gradient of an entropy, log w + 1, is minus infinity where a weight is 0. */
    @Test
    void gradientsOfHiddenWeightsAddToNoSum() {
        Tensor queries = Tokens.gaussian(1, 1, 2, 8, 4);
        AttentionOptions options = AttentionOptions.CAUSAL.withScale(1);
        AttentionOutputs outputs = new AttentionOutputs(zeros(1, 1, 2, 8), zeros(1, 1, 2), zeros(1, 1, 2, 6));
        Attention.forward(CPU, queries, key, value, outputs, options);
        Tensor weights = outputs.weights();
        Tensor weightsGradient = zeros(1, 1, 2, 6);
        for (int i = 0; i < 2; i++) {
            for (int j = 0; j < 6; j++) {
                weightsGradient.set(Math.log(weights.get(0, 0, i, j)) + 1, 0, 0, i, j);
            }
        }
        assertEquals(Double.NEGATIVE_INFINITY, weightsGradient.get(0, 0, 0, 5));
        Tensor outputGradient = Tokens.gaussian(1, 1, 2, 8, 5);
        Tensor queryGradient = zeros(1, 1, 2, 8);
        Attention.backward(
                CPU,
                new AttentionPass(queries, key, value, outputs, options),
                new AttentionOutputs(outputGradient, null, weightsGradient),
                AttentionGradients.of(queryGradient, zeros(1, 1, 6, 8), zeros(1, 1, 6, 8)));
        ScoreRule rule = ScoreRule.causal(2, 6);
        double[] expected = ReferenceAttentionGradient.of(
                        new ReferenceAttention.Call(queries, key, value, 1, rule, ReferenceDropout.NONE),
                        new ReferenceAttentionGradient.Upstream(outputGradient, null, weightsGradient))
                .query()
                .values();
        // gradients are sums of up to 6 products of numbers below 10, each rounded a few times
        assertArrayEquals(expected, Numbers.of(queryGradient), 1e-4);
    }
}
