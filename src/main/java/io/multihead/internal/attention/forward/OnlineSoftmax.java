package io.multihead.internal.attention.forward;

import static io.multihead.internal.kernel.Lanes.COUNT;
import static io.multihead.internal.kernel.Lanes.PANEL;
import static io.multihead.internal.kernel.Lanes.ROW;
import static io.multihead.internal.kernel.Lanes.ROW_STEP;

import io.multihead.internal.attention.AttentionBlocking;
import io.multihead.internal.kernel.Exp;
import io.multihead.internal.kernel.Lanes;
import io.multihead.internal.kernel.RowOps;
import io.multihead.internal.kernel.ScoreOps;
import io.multihead.internal.layout.Scratch;
import java.util.Arrays;

/**
 * Running softmax state of a block of query rows (Milakov and Gimelshein 2018; Dao et al. 2022, algorithm 1): per row the maximum
 * m, the denominator l as 32 partial sums, and the unnormalized output O with its compensation term. Belongs to one thread.
 *
 * <p>States of different keys merge: {@code m = max(m1, m2)}, {@code l = l1 e^(m1 - m) + l2 e^(m2 - m)}, and O like l. A row that has seen
 * no key does not change the bits of the other state.
 */
final class OnlineSoftmax {
    private final Scratch memory;
    private final float[] rescale = new float[Lanes.roundUp(AttentionBlocking.QUERY_TILE, PANEL)];
    private final float[] unused = new float[PANEL];
    /** In a merge: the factor of each row, then the factor of each row of the other state. */
    private float[] factors = new float[0];

    private float[] output = new float[0];
    private float[] maximum = new float[0];
    private float[] sums = new float[0];
    private int width;
    /** Floats from row to row of {@link #output}: {@code width} sums, then the compensation term of each. */
    private int stride;

    private float scale;
    /** Whether vectors are fast: queried in {@link #reset}, because a query for each row took 6 % of attention of 16 tokens. */
    private boolean isCompiled;

    OnlineSoftmax(Scratch memory) {
        this.memory = memory;
    }

    /** Returns the number of floats of one saved row. */
    static int stateFloats(int valueDim) {
        return 2 * Lanes.roundUp(valueDim, PANEL) + PANEL + 1;
    }

    /** Resets the state: no row has seen a key. */
    void reset(int rows, int valueDim, float scoreScale) {
        int padded = Lanes.roundUp(rows, ROW_STEP) + ROW_STEP;
        width = Lanes.roundUp(valueDim, PANEL);
        stride = 2 * width;
        scale = scoreScale;
        isCompiled = Exp.isCompiled() & RowOps.isCompiled();
        output = memory.atLeast(output, padded * stride);
        maximum = memory.atLeast(maximum, Lanes.roundUp(padded, PANEL));
        sums = memory.atLeast(sums, padded * PANEL);
        Arrays.fill(output, 0, rows * stride, 0f);
        Arrays.fill(maximum, 0, rows, Float.NEGATIVE_INFINITY);
        Arrays.fill(sums, 0, rows * PANEL, 0f);
    }

    /** Computes {@code m' = max(m, max S)}, and {@code e^(m - m')} for sums under the old maximum. */
    void raiseMaximum(float[] scores, int at, int tile, int count, int keys) {
        int padded = Lanes.roundUp(keys, COUNT);
        for (int r = 0; r < count; r++) {
            float before = maximum[tile + r];
            // there is no branch that depends on the row: a misprediction would wait for its whole reduction, 2 % of
            // the time of attention
            float after = Math.max(before, RowOps.max(isCompiled, scores, at + r * ROW, padded));
            // a row that has seen no key has nothing to rescale
            rescale[r] = before == Float.NEGATIVE_INFINITY ? 0f : before - after;
            maximum[tile + r] = after;
        }
        Exp.shifted(isCompiled, rescale, 0, Lanes.roundUp(count, COUNT), scale, 0f, unused, 0, 0f);
    }

    /** Sets {@code e^(m - m') = 1}, for callers that have already raised the maximum over all keys. */
    void keepMaximum() {
        Arrays.fill(rescale, 1f);
    }

    /** Computes {@code O = O e^(m - m')} for the rows of a tile, after {@link #raiseMaximum}. */
    void rescale(int tile, int count) {
        for (int r = 0; r < count; r++) {
            if (rescale[r] != 1f) {
                RowOps.scale(output, (tile + r) * stride, stride, rescale[r]);
            }
        }
    }

    /** Computes {@code P = e^(S - m')} in place and {@code l = l e^(m - m') + sum P}, after {@link #raiseMaximum}. */
    void exponentiate(float[] scores, int at, int tile, int count, int keys) {
        int padded = Lanes.roundUp(keys, COUNT);
        for (int r = 0; r < count; r++) {
            // a row that has seen no key keeps m = -inf; shifting by 0 makes its masked scores 0, and NaN stays NaN
            float shift = maximum[tile + r] == Float.NEGATIVE_INFINITY ? 0f : maximum[tile + r];
            Exp.shifted(isCompiled, scores, at + r * ROW, padded, scale, shift, sums, (tile + r) * PANEL, rescale[r]);
        }
    }

    /** Returns O: row {@code r} starts at {@link #at}, and its compensation terms are {@link #compensation} floats later. */
    float[] output() {
        return output;
    }

    int at(int row) {
        return row * stride;
    }

    int stride() {
        return stride;
    }

    /** Returns the number of elements of a row, padded to whole panels. */
    int width() {
        return width;
    }

    /** Returns the number of floats from an element to its compensation term: the compensation terms of a row follow its elements. */
    int compensation() {
        return width;
    }

    /** Merges the state of the same rows over other keys into this state; the other state becomes arbitrary. */
    void merge(OnlineSoftmax other, int rows) {
        int padded = Lanes.roundUp(rows, PANEL);
        factors = memory.atLeast(factors, 2 * padded);
        for (int row = 0; row < rows; row++) {
            float both = Math.max(maximum[row], other.maximum[row]);
            factors[row] = maximum[row] == both ? 0f : maximum[row] - both;
            factors[padded + row] = other.maximum[row] == both ? 0f : other.maximum[row] - both;
        }
        // one call for both: C2 may compile this whole method as one unit, and with two calls it reached its limit of
        // nodes and boxed vectors
        Exp.shifted(factors, 0, 2 * padded, scale, 0f, unused, 0, 0f);
        for (int row = 0; row < rows; row++) {
            if (other.hasSeen(row)) {
                mergeRow(other, row, factors[row], factors[padded + row]);
            }
        }
    }

    /** Returns whether the row has seen a key. A row whose sum is NaN has seen a key, even if its maximum is minus infinity. */
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
            ScoreOps.merge(output, row * stride, keep, other.output, row * stride, gain, width);
            ScoreOps.mergeSums(sums, row * PANEL, keep, other.sums, row * PANEL, gain);
        } else {
            System.arraycopy(other.output, row * stride, output, row * stride, stride);
            System.arraycopy(other.sums, row * PANEL, sums, row * PANEL, PANEL);
        }
        maximum[row] = Math.max(maximum[row], other.maximum[row]);
    }

    /** Saves the state, row by row, {@code pitch} floats apart. */
    void save(int rows, float[] to, int at, int pitch) {
        for (int row = 0; row < rows; row++) {
            int start = at + row * pitch;
            System.arraycopy(output, row * stride, to, start, stride);
            System.arraycopy(sums, row * PANEL, to, start + stride, PANEL);
            to[start + stride + PANEL] = maximum[row];
        }
    }

    /** Restores a saved state. */
    void load(int rows, float[] from, int at, int pitch) {
        for (int row = 0; row < rows; row++) {
            int start = at + row * pitch;
            System.arraycopy(from, start, output, row * stride, stride);
            System.arraycopy(from, start + stride, sums, row * PANEL, PANEL);
            maximum[row] = from[start + stride + PANEL];
        }
    }

    /**
     * Computes {@code O / l}; a row that saw no key becomes 0. The compensation terms are added first, so that blocks which add nothing to
     * a row do not change its bits. A sink adds its exponential to l. To be called once per {@link #reset}, since it stores l in its first
     * partial sum.
     *
     * @param sink the score of a key without value, minus infinity for none
     * @return the divisor, 0 for a row that saw no key
     */
    float normalize(int row, float sink) {
        float sum = RowOps.total(sums, row * PANEL);
        if (sum == 0f) {
            Arrays.fill(output, row * stride, row * stride + width, 0f);
            return 0f;
        }
        float divisor = sink == Float.NEGATIVE_INFINITY ? sum : (float) (sum + StrictMath.exp(sink - top(row)));
        RowOps.foldAndDivide(isCompiled, output, row * stride, width, width, divisor);
        return divisor;
    }

    /** Returns the natural logarithm of the softmax denominator, after {@link #normalize}. */
    double logSumExp(int row, float sink) {
        double sum = sums[row * PANEL];
        double top = top(row);
        if (sink == Float.NEGATIVE_INFINITY) {
            return top + StrictMath.log(sum);
        }
        if (sum == 0) {
            return sink;
        }
        return sink > top
                ? sink + StrictMath.log1p(sum * StrictMath.exp(top - sink))
                : top + StrictMath.log(sum + StrictMath.exp(sink - top));
    }

    private double top(int row) {
        return (double) scale * maximum[row];
    }
}
