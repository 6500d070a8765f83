package io.multihead.attention;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import io.multihead.cache.KeyValueCache;
import io.multihead.compute.Compute;
import io.multihead.support.Numbers;
import io.multihead.support.Tokens;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Options of FlashAttention and FlexAttention, written as in docs/reference/layer-options.md, are compared with their formulas in double.
 */
@Tag("lanes")
class FlashAndFlexOptionsTest {
    private static final Compute CPU = Compute.serial();
    private static final int HEADS = 2;
    private static final int QUERIES = 3;
    private static final int KEYS = 5;
    private static final int DIM = 4;

    /**
     * The error of a score below 20 is the roundings of a chain of DIM products and of a few operations. It counts twice, because a weight
     * is divided by the sum of weights. The sum of KEYS weighted values below 5 is rounded, too.
     */
    private static final float APART = (2 * (DIM + 6) * 20 + 2 * KEYS + 8) * 0x1p-24f * 5;

    private final SplittableRandom random = new SplittableRandom(5);
    private final Tensor query = Numbers.gaussian(Tokens.zeros(2, HEADS, QUERIES, DIM), random, 0, 1);
    private final Tensor key = Numbers.gaussian(Tokens.zeros(2, HEADS, KEYS, DIM), random, 0, 1);
    private final Tensor value = Numbers.gaussian(Tokens.zeros(2, HEADS, KEYS, DIM), random, 0, 1);

    /** Changes a scaled score; minus infinity hides its key. */
    private interface Formula {
        double apply(int b, int h, int i, int j, double score);
    }

    @Test
    void scoreModIsAModifier() {
        ScoreModifier modifier = (b, h, i, j, score) -> h == 1 && j == 2 ? Float.NEGATIVE_INFINITY : score * 0.5f + b;
        check(
                AttentionOptions.DEFAULT.withScores(ScoreOptions.NONE.withModifier(modifier)),
                (b, h, i, j, score) -> h == 1 && j == 2 ? Double.NEGATIVE_INFINITY : score * 0.5 + b);
    }

    @Test
    void maskModIsAMask() {
        Tensor kept = Tensor.allocate(Arena.ofAuto(), DType.I8, Shape.of(QUERIES, KEYS));
        for (int i = 0; i < QUERIES; i++) {
            for (int j = 0; j < KEYS; j++) {
                kept.set((i + j) % 3 == 2 ? 0 : 1, i, j);
            }
        }
        check(
                AttentionOptions.DEFAULT.withMask(Mask.keep(kept).and(Mask.CAUSAL_TOP_LEFT)),
                (b, h, i, j, score) -> (i + j) % 3 != 2 && j <= i ? score : Double.NEGATIVE_INFINITY);
    }

    /**
     * The bias {@code -slope |i + keys - queries - j|} is given by slopes under a causal mask, and by a bias tensor without a causal mask.
     */
    @Test
    void alibiSlopes() {
        float[] slopes = {0.5f, 0.25f};
        int offset = KEYS - QUERIES;
        check(
                AttentionOptions.CAUSAL.withScores(ScoreOptions.NONE.withSlopes(slopes)),
                (b, h, i, j, score) ->
                        j <= i + offset ? score - slopes[h] * Math.abs(i + offset - j) : Double.NEGATIVE_INFINITY);
        Tensor bias = Tensor.of(new float[HEADS * QUERIES * KEYS], HEADS, QUERIES, KEYS);
        for (int at = 0; at < HEADS * QUERIES * KEYS; at++) {
            int i = at / KEYS % QUERIES;
            int distance = Math.abs(i + offset - at % KEYS);
            bias.set(-slopes[at / KEYS / QUERIES] * distance, at / KEYS / QUERIES, i, at % KEYS);
        }
        check(
                AttentionOptions.DEFAULT.withMask(Mask.bias(bias)),
                (b, h, i, j, score) -> score - slopes[h] * Math.abs(i + offset - j));
    }

    @Test
    void leftPaddingIsDropped() {
        Tensor padding = Tensor.allocate(Arena.ofAuto(), DType.I8, Shape.of(2, 1, 1, KEYS));
        padding.set(1, 1, 0, 0, 0);
        padding.set(1, 1, 0, 0, 1);
        check(
                AttentionOptions.DEFAULT.withMask(Mask.drop(padding).and(Mask.CAUSAL)),
                (b, h, i, j, score) -> j >= 2 * b && j <= i + KEYS - QUERIES ? score : Double.NEGATIVE_INFINITY);
    }

    /** Keys and values are in one tensor {@code (batch, tokens, 2, heads, size)}. */
    @Test
    void packedTensorsAreViews() {
        Tensor packed = Tensor.of(new float[2 * KEYS * 2 * HEADS * DIM], 2, KEYS, 2, HEADS, DIM);
        Tensor keys = packed.select(2, 0).permute(0, 2, 1, 3);
        Tensor values = packed.select(2, 1).permute(0, 2, 1, 3);
        key.copyTo(keys);
        value.copyTo(values);
        assertArrayEquals(
                attend(KeyValueView.of(key, value), AttentionOptions.CAUSAL),
                attend(KeyValueView.of(keys, values), AttentionOptions.CAUSAL));
    }

    @Test
    void cacheBatchIdx() {
        KeyValueCache cache = KeyValueCache.contiguous(KeyValueCache.Config.of(1, HEADS, DIM), 3, KEYS);
        cache.append(CPU, 0, new int[] {2, 0}, key, value);
        assertArrayEquals(
                attend(KeyValueView.of(key, value), AttentionOptions.CAUSAL),
                attend(cache.view(0, 2, 0), AttentionOptions.CAUSAL));
    }

    private float[] attend(KeyValueView view, AttentionOptions options) {
        Tensor output = Tensor.of(new float[2 * HEADS * QUERIES * DIM], 2, HEADS, QUERIES, DIM);
        Attention.forward(CPU, query, view, AttentionOutputs.of(output), options);
        return output.toArray();
    }

    private void check(AttentionOptions options, Formula formula) {
        float[] expected = new float[2 * HEADS * QUERIES * DIM];
        for (int row = 0; row < 2 * HEADS * QUERIES; row++) {
            double[] weights = new double[KEYS];
            double sum = 0;
            for (int j = 0; j < KEYS; j++) {
                weights[j] = Math.exp(score(row / HEADS / QUERIES, row / QUERIES % HEADS, row % QUERIES, j, formula));
                sum += weights[j];
            }
            for (int at = 0; at < KEYS * DIM; at++) {
                double v = value.get(row / HEADS / QUERIES, row / QUERIES % HEADS, at / DIM, at % DIM);
                expected[row * DIM + at % DIM] += (float) (weights[at / DIM] / sum * v);
            }
        }
        assertArrayEquals(expected, attend(KeyValueView.of(key, value), options), APART);
    }

    private double score(int b, int h, int i, int j, Formula formula) {
        double dot = 0;
        for (int d = 0; d < DIM; d++) {
            dot += query.get(b, h, i, d) * key.get(b, h, j, d);
        }
        return formula.apply(b, h, i, j, dot / Math.sqrt(DIM));
    }
}
