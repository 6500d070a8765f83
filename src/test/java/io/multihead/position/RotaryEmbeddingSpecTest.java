package io.multihead.position;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.position.Rope.Pairing;
import io.multihead.support.Numbers;
import io.multihead.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Every mode of the ONNX operator RotaryEmbedding (opset 23) is compared with the formulas of its specification: both
 * values of {@code interleaved}, whole and partial {@code rotary_embedding_dim}, an input of 4 axes, or of 3 axes with
 * {@code num_heads}, caches by {@code position_ids} or by token.
 */
@Tag("lanes")
class RotaryEmbeddingSpecTest {
    private static final Compute SERIAL = Compute.serial();
    private static final int BATCH = 2;
    private static final int HEADS = 3;
    private static final int TOKENS = 5;
    private static final int HEAD_SIZE = 24;
    private static final int MAX_POSITIONS = 50;

    /**
     * The attributes and optional inputs of one node.
     *
     * @param rotaryDim {@code rotary_embedding_dim}; 0 is the whole head
     * @param hidden whether X is {@code [batch, sequence, hidden]} rather than {@code [batch, heads, sequence, headSize]}
     * @param positionIds whether the caches are rows by position rather than {@code [batch, sequence, dims / 2]}
     */
    record Mode(boolean interleaved, int rotaryDim, boolean hidden, boolean positionIds) {
        int rotated() {
            return rotaryDim == 0 ? HEAD_SIZE : rotaryDim;
        }
    }

    static Stream<Mode> modes() {
        List<Mode> modes = new ArrayList<>();
        for (int bits = 0; bits < 8; bits++) {
            for (int rotaryDim : new int[] {0, 2, 10, 16, HEAD_SIZE}) {
                modes.add(new Mode((bits & 1) != 0, rotaryDim, (bits & 2) != 0, (bits & 4) != 0));
            }
        }
        return modes.stream();
    }

    @ParameterizedTest
    @MethodSource("modes")
    void equalsTheSpecification(Mode mode) {
        SplittableRandom random = new SplittableRandom(11);
        int half = mode.rotated() / 2;
        Tensor x = mode.hidden
                ? gaussian(random, BATCH, TOKENS, HEADS * HEAD_SIZE)
                : gaussian(random, BATCH, HEADS, TOKENS, HEAD_SIZE);
        Tensor cos = mode.positionIds ? gaussian(random, MAX_POSITIONS, half) : gaussian(random, BATCH, TOKENS, half);
        Tensor sin = mode.positionIds ? gaussian(random, MAX_POSITIONS, half) : gaussian(random, BATCH, TOKENS, half);
        long[] ids = mode.positionIds
                ? random.longs(BATCH * TOKENS, 0, MAX_POSITIONS).toArray()
                : rows();
        double[] expected = specification(mode, Numbers.of(x), Numbers.of(cos), Numbers.of(sin), ids);

        Tensor y = Tensor.of(new float[expected.length], x.shape().toArray());
        Pairing pairing = mode.interleaved ? Pairing.INTERLEAVED : Pairing.HALF_SPLIT;
        if (mode.positionIds) {
            Rope.ofTables(cos, sin, pairing).apply(SERIAL, heads(mode, x), heads(mode, y), ids);
        } else {
            TokenAngles.of(cos, sin, pairing).apply(SERIAL, heads(mode, x), heads(mode, y));
        }
        check(expected, bounds(mode, Numbers.of(x), Numbers.of(cos), Numbers.of(sin), ids), Numbers.of(y));
    }

    /** Without position ids, row {@code b * sequence + s} of the caches belongs to token s of batch b. */
    private static long[] rows() {
        return LongStream.range(0, BATCH * TOKENS).toArray();
    }

    /**
     * Returns a view of an input of 3 axes. The last axis is split into heads, and the axis of heads precedes the axis
     * of tokens.
     */
    private static Tensor heads(Mode mode, Tensor tensor) {
        return mode.hidden ? tensor.reshape(BATCH, TOKENS, HEADS, HEAD_SIZE).transpose(1, 2) : tensor;
    }

    private static Tensor gaussian(SplittableRandom random, long... dims) {
        long size = LongStream.of(dims).reduce(1, (a, b) -> a * b);
        return Numbers.gaussian(Tensor.of(new float[(int) size], dims), random, 0, 1);
    }

    /** Returns the position in X of element {@code d} of a head's row. */
    private static int at(Mode mode, int batch, int head, int token, int d) {
        return mode.hidden
                ? ((batch * TOKENS + token) * HEADS + head) * HEAD_SIZE + d
                : ((batch * HEADS + head) * TOKENS + token) * HEAD_SIZE + d;
    }

    /** Receives one pair: positions of x1 and x2 in X, and of their cosine and sine in the caches. */
    private interface Pair {
        void at(int x1, int x2, int angle);
    }

    private static void pairs(Mode mode, long[] ids, Pair pair) {
        int half = mode.rotated() / 2;
        for (int b = 0; b < BATCH; b++) {
            for (int h = 0; h < HEADS; h++) {
                for (int s = 0; s < TOKENS; s++) {
                    for (int i = 0; i < half; i++) {
                        int first = mode.interleaved ? 2 * i : i;
                        int second = mode.interleaved ? 2 * i + 1 : i + half;
                        int angle = (int) ids[b * TOKENS + s] * half + i;
                        pair.at(at(mode, b, h, s, first), at(mode, b, h, s, second), angle);
                    }
                }
            }
        }
    }

    /** Computes {@code real = cos x1 - sin x2} and {@code imaginary = sin x1 + cos x2}, and copies other elements. */
    private static double[] specification(Mode mode, double[] x, double[] cos, double[] sin, long[] ids) {
        double[] y = x.clone();
        pairs(mode, ids, (x1, x2, angle) -> {
            y[x1] = cos[angle] * x[x1] - sin[angle] * x[x2];
            y[x2] = sin[angle] * x[x1] + cos[angle] * x[x2];
        });
        return y;
    }

    /**
     * Returns the error bounds. Two products and a sum are rounded once each in f32, which is at most two roundings of
     * each product. The bound of copied elements is 0.
     */
    private static double[] bounds(Mode mode, double[] x, double[] cos, double[] sin, long[] ids) {
        double[] bounds = new double[x.length];
        pairs(mode, ids, (x1, x2, angle) -> {
            double c = Math.abs(cos[angle]);
            double s = Math.abs(sin[angle]);
            bounds[x1] = 2 * 0x1p-24 * (1 + 0x1p-20) * (c * Math.abs(x[x1]) + s * Math.abs(x[x2])) + 3 * 0x1p-149;
            bounds[x2] = 2 * 0x1p-24 * (1 + 0x1p-20) * (s * Math.abs(x[x1]) + c * Math.abs(x[x2])) + 3 * 0x1p-149;
        });
        return bounds;
    }

    private static void check(double[] expected, double[] bounds, double[] actual) {
        assertEquals(expected.length, actual.length);
        for (int i = 0; i < expected.length; i++) {
            double error = Math.abs(actual[i] - expected[i]);
            assertTrue(error <= bounds[i], "element " + i + ": " + actual[i] + " for " + expected[i]);
        }
    }
}
