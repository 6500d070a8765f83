package io.multihead.attention;

import static io.multihead.internal.kernel.Lanes.PANEL;
import static io.multihead.internal.kernel.Lanes.ROW;
import static io.multihead.internal.kernel.Lanes.ROW_STEP;

import io.multihead.internal.kernel.Exp;
import io.multihead.internal.kernel.Lanes;
import io.multihead.internal.kernel.RowOps;
import io.multihead.internal.kernel.ScoreOps;
import io.multihead.internal.kernel.Scratch;
import java.util.Arrays;

/**
 * The state of query rows while keys pass (Milakov and Gimelshein 2018; Dao et al. 2022, algorithm 1): per row the running
 * maximum m, the sum of exponentials l as 32 partial sums, and the unnormalised output O with what rounding lost of it.
 * Belongs to one thread.
 *
 * <p>States of different keys merge: {@code m = max(m1, m2)}, {@code l = l1 e^(m1 - m) + l2 e^(m2 - m)}, and O likewise. A row
 * that saw no key leaves the other's bits alone.
 */
final class OnlineSoftmax {
    private final Scratch memory;
    private final float[] rescale = new float[Lanes.roundUp(QueryRows.TILE, PANEL)];
    private final float[] unused = new float[PANEL];
    /** What a merge multiplies each row by, then what it multiplies each row of the other state by. */
    private float[] factors = new float[0];

    private float[] output = new float[0];
    private float[] maximum = new float[0];
    private float[] sums = new float[0];
    private int wide;
    /** Floats from row to row of {@link #output}: {@code wide} sums, then what rounding lost of each. */
    private int stride;

    private float scale;

    OnlineSoftmax(Scratch memory) {
        this.memory = memory;
    }

    /** Floats of one saved row. */
    static int stateFloats(int valueDim) {
        return 2 * Lanes.roundUp(valueDim, PANEL) + PANEL + 1;
    }

    /** Starts anew. */
    void reset(int rows, int valueDim, float scoreScale) {
        int padded = Lanes.roundUp(rows, ROW_STEP) + ROW_STEP;
        wide = Lanes.roundUp(valueDim, PANEL);
        stride = 2 * wide;
        scale = scoreScale;
        output = memory.atLeast(output, padded * stride);
        maximum = memory.atLeast(maximum, Lanes.roundUp(padded, PANEL));
        sums = memory.atLeast(sums, padded * PANEL);
        Arrays.fill(output, 0, rows * stride, 0f);
        Arrays.fill(maximum, 0, rows, Float.NEGATIVE_INFINITY);
        Arrays.fill(sums, 0, rows * PANEL, 0f);
    }

    /** {@code m' = max(m, max S)}, and {@code e^(m - m')} for what was summed under the old maximum. */
    void raiseMaximum(float[] scores, int at, int tile, int count, int keys) {
        int padded = Lanes.roundUp(keys, PANEL);
        for (int r = 0; r < count; r++) {
            rescale[r] = RowOps.max(scores, at + r * ROW, padded);
        }
        // no branch per row: a wrong guess would wait for the row's whole reduction, 2 % of attention
        RowOps.raise(maximum, tile, rescale, Lanes.roundUp(count, Lanes.COUNT));
        Exp.shifted(rescale, 0, rescale.length, scale, 0f, unused, 0, 0f);
    }

    /** Nothing was summed under another maximum: for callers who have raised it to the end before. */
    void keepMaximum() {
        Arrays.fill(rescale, 1f);
    }

    /** {@code P = e^(S - m')}, {@code l = l e^(m - m') + sum P}, {@code O = O e^(m - m')}. */
    void exponentiate(KeyBlock block, float[] scores, int at, int tile, int count, int keys) {
        int padded = Lanes.roundUp(keys, PANEL);
        for (int r = 0; r < count; r++) {
            int o = (tile + r) * stride;
            if (rescale[r] != 1f) {
                RowOps.scale(output, o, stride, rescale[r]);
            }
            if (block.hasStrays()) {
                block.addStrays(scores, at + r * ROW, keys, output, o, wide);
            }
            // a row that has seen no key keeps m = -inf; shifting by 0 makes its masked scores 0, and NaN stays NaN
            float shift = maximum[tile + r] == Float.NEGATIVE_INFINITY ? 0f : maximum[tile + r];
            Exp.shifted(scores, at + r * ROW, padded, scale, shift, sums, (tile + r) * PANEL, rescale[r]);
        }
    }

    float[] output() {
        return output;
    }

    int at(int row) {
        return row * stride;
    }

    int stride() {
        return stride;
    }

    int lost() {
        return wide;
    }

    /** Adds what other keys gave to the same rows; the other state is used up. */
    void merge(OnlineSoftmax other, int rows) {
        int padded = Lanes.roundUp(rows, PANEL);
        factors = memory.atLeast(factors, 2 * padded);
        for (int row = 0; row < rows; row++) {
            float both = Math.max(maximum[row], other.maximum[row]);
            factors[row] = maximum[row] == both ? 0f : maximum[row] - both;
            factors[padded + row] = other.maximum[row] == both ? 0f : other.maximum[row] - both;
        }
        // one call: C2 may compile all of this method as one, and with two it reached its limit of nodes and boxed
        // vectors
        Exp.shifted(factors, 0, 2 * padded, scale, 0f, unused, 0, 0f);
        for (int row = 0; row < rows; row++) {
            if (other.hasSeen(row)) {
                mergeRow(other, row, factors[row], factors[padded + row]);
            }
        }
    }

    /** Whether a key counted; a sum that is NaN came from one, even if no maximum did. */
    private boolean hasSeen(int row) {
        return maximum[row] != Float.NEGATIVE_INFINITY || sums[row * PANEL] != 0f || hasSum(row);
    }

    private boolean hasSum(int row) {
        for (int i = 1; i < PANEL; i++) {
            if (sums[row * PANEL + i] != 0f) {
                return true;
            }
        }
        return false;
    }

    private void mergeRow(OnlineSoftmax other, int row, float keep, float gain) {
        if (hasSeen(row)) {
            ScoreOps.merge(output, row * stride, keep, other.output, row * stride, gain, wide);
            ScoreOps.mergeSums(sums, row * PANEL, keep, other.sums, row * PANEL, gain);
        } else {
            System.arraycopy(other.output, row * stride, output, row * stride, stride);
            System.arraycopy(other.sums, row * PANEL, sums, row * PANEL, PANEL);
        }
        maximum[row] = Math.max(maximum[row], other.maximum[row]);
    }

    /** Writes the state, row by row. */
    void save(int rows, float[] to, int at) {
        int length = stride + PANEL + 1;
        for (int row = 0; row < rows; row++) {
            System.arraycopy(output, row * stride, to, at + row * length, stride);
            System.arraycopy(sums, row * PANEL, to, at + row * length + stride, PANEL);
            to[at + row * length + stride + PANEL] = maximum[row];
        }
    }

    /** Reads a state that was saved. */
    void load(int rows, float[] from, int at) {
        int length = stride + PANEL + 1;
        for (int row = 0; row < rows; row++) {
            System.arraycopy(from, at + row * length, output, row * stride, stride);
            System.arraycopy(from, at + row * length + stride, sums, row * PANEL, PANEL);
            maximum[row] = from[at + row * length + stride + PANEL];
        }
    }

    /**
     * {@code O / l}; a row that saw no key becomes 0. What compensation still holds is added first, so that blocks which add
     * nothing to a row leave its bits alone. A sink adds its exponential to l.
     *
     * @param sink the score of a key without value, minus infinity for none
     * @return the divisor, 0 for a row that saw no key
     */
    float normalise(int row, float sink) {
        float sum = RowOps.total(sums, row * PANEL);
        if (sum == 0f) {
            Arrays.fill(output, row * stride, row * stride + wide, 0f);
            return 0f;
        }
        float divisor = sink == Float.NEGATIVE_INFINITY ? sum : (float) (sum + Math.exp(sink - top(row)));
        RowOps.divide(output, row * stride, wide, wide, divisor);
        return divisor;
    }

    /** Natural logarithm of the softmax's denominator, after {@link #normalise}. */
    double logSumExp(int row, float sink) {
        double sum = sums[row * PANEL];
        double top = top(row);
        if (sink == Float.NEGATIVE_INFINITY) {
            return top + Math.log(sum);
        }
        if (sum == 0) {
            return sink;
        }
        return sink > top ? sink + Math.log1p(sum * Math.exp(top - sink)) : top + Math.log(sum + Math.exp(sink - top));
    }

    private double top(int row) {
        return (double) scale * maximum[row];
    }
}
