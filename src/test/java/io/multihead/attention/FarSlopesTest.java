package io.multihead.attention;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Linear biases of distances that f32 cannot represent are rounded once, in forward and backward, at every lane width. */
@Tag("lanes")
class FarSlopesTest {
    private static final Compute CPU = Compute.serial();
    private static final int QUERIES = 4;
    private static final int KEYS = 100;
    /** The largest score. Its slope gives neighboring distances, rounded to f32, scores that differ by about 1e-4. */
    private static final float SCORE = 1024;

    private final Arena arena = Arena.ofAuto();

    private Tensor zeros(long... sizes) {
        return Tensor.zeros(arena, DType.F32, sizes);
    }

    @ParameterizedTest
    @ValueSource(longs = {1 << 11, (1L << 24) - 200, (1L << 24) + 1, (1L << 25) + 3, (1L << 31) + 5, (1L << 40) + 7})
    void weightsAreThoseOfRoundedDistances(long offset) {
        float slope = SCORE / offset;
        Tensor empty = zeros(1, 1, QUERIES, 1);
        Tensor keys = zeros(1, 1, KEYS, 1);
        Tensor weights = zeros(1, 1, QUERIES, KEYS);
        AttentionOptions options = AttentionOptions.DEFAULT
                .withMask(Mask.queryOffset(offset))
                .withScores(ScoreOptions.NONE.withSlopes(slope));
        AttentionOutputs outputs =
                new AttentionOutputs(zeros(1, 1, QUERIES, 1), Tensor.zeros(arena, DType.F64, 1, 1, QUERIES), weights);
        Attention.forward(CPU, empty, keys, keys, outputs, options);
        Tensor valueGradient = zeros(1, 1, KEYS, 1);
        Tensor ones = zeros(1, 1, QUERIES, 1);
        ones.fill(1);
        Attention.backward(
                CPU,
                new AttentionPass(empty, keys, keys, outputs, options),
                ones,
                AttentionGradients.of(zeros(1, 1, QUERIES, 1), zeros(1, 1, KEYS, 1), valueGradient));
        for (int j = 0; j < KEYS; j++) {
            double column = 0;
            for (int i = 0; i < QUERIES; i++) {
                double expected = weight(slope, offset, i, j);
                // the exponential has an error of 1 ulp, each of 100 terms takes part in at most 8 additions, and the
                // quotient rounds
                assertEquals(expected, weights.get(0, 0, i, j), 12 * 0x1p-24 * expected + Float.MIN_NORMAL);
                column += expected;
            }
            // backward corrects the rounding errors of its exponents; an exponential of 1 ulp, a few roundings, and
            // QUERIES additions remain
            assertEquals(column, valueGradient.get(0, 0, j, 0), 16 * 0x1p-24 * column + QUERIES * Float.MIN_NORMAL);
            assertTrue(valueGradient.get(0, 0, j, 0) >= 0);
        }
    }

    private static double weight(float slope, long offset, int query, int key) {
        float top = score(slope, KEYS - 1 - query - offset);
        double sum = 0;
        for (int j = 0; j < KEYS; j++) {
            sum += Math.exp(score(slope, j - query - offset) - top);
        }
        return Math.exp(score(slope, key - query - offset) - top) / sum;
    }

    private static float score(float slope, long distance) {
        return (float) ((double) slope * (float) distance);
    }
}
