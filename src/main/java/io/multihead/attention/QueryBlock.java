package io.multihead.attention;

import static io.multihead.internal.kernel.Lanes.DEPTH;
import static io.multihead.internal.kernel.Lanes.PANEL;
import static io.multihead.internal.kernel.Lanes.ROW;

import io.multihead.internal.kernel.Lanes;
import io.multihead.internal.kernel.Packer;
import io.multihead.internal.kernel.Panels;
import io.multihead.internal.kernel.RowOps;
import io.multihead.internal.kernel.ScoreGradient;
import io.multihead.internal.kernel.Scratch;
import io.multihead.tensor.Tensor;
import java.util.Arrays;

/**
 * Up to 256 query rows of one group, packed for backward: Q and dO in panels both ways, and per row log-sum-exp, the mean
 * {@code D}, and how many keys it sees. Also the sum of dQ. Belongs to one thread.
 *
 * <p>Elements that are not finite would spoil, as {@code 0 * NaN}, keys that their row does not see. They are taken out of the
 * panels that the sums dK and dV read; those of dO are kept aside as strays.
 */
final class QueryBlock {
    /** Rows of one block. */
    static final int MOST = 256;

    /** Floats from row to row of {@link #sum}: sums, then what rounding lost of them; not a power of two. */
    static final int SUM_ROW = 2 * MOST + PANEL;

    private static final int MEAN = 2 * MOST;

    private static final long NOTHING = -1;

    private final Scratch memory;

    /** {@code [chunk of headDim][panel of queries][d][32]}. */
    float[] turnedQuery = new float[0];
    /** {@code [chunk of valueDim][panel of queries][d][32]}. */
    float[] turnedGradient = new float[0];
    /** {@code [panel of headDim][query][32]}. */
    float[] queries = new float[0];
    /** {@code [panel of valueDim][query][32]}. */
    float[] gradients = new float[0];
    /** dQ turned: {@code [headDim][SUM_ROW]}. */
    float[] sum = new float[0];

    /** Per row: log-sum-exp, from {@link #MOST} what rounding it lost, from {@link #MEAN} the mean D. */
    final float[] rows = new float[3 * MOST];

    final long[] limits = new long[MOST];
    final int[] strays = new int[MOST];
    float[] strayValues = new float[0];
    int strayCount;
    int count;
    long firstRow;
    private long leastLimit;
    private long tag = NOTHING;
    private long tagRow = NOTHING;

    QueryBlock(Scratch memory) {
        this.memory = memory;
    }

    /** Packs {@code newCount} rows of a group from {@code row} on, unless they still are. */
    void pack(GradientCall call, GradientScratch scratch, long group, long row, int newCount) {
        long newTag = call.forward.tag(group);
        if (tag == newTag && tagRow == row && count == newCount) {
            return;
        }
        count = newCount;
        firstRow = row;
        Arrays.fill(rows, 0f);
        packQuery(call, scratch, group);
        packGradient(call, scratch, group);
        packRows(call, scratch, group);
        tag = newTag;
        tagRow = row;
    }

    /** Zeros dQ. */
    void clearSum(GradientCall call) {
        int size = Lanes.roundUp(call.forward.headDim, Lanes.ROW_STEP) * SUM_ROW;
        sum = memory.atLeast(sum, size);
        Arrays.fill(sum, 0, size, 0f);
    }

    /** The first column, rounded down to a whole panel, that sees a key; {@link #count} or more if none does. */
    int firstSeeing(long key) {
        int column = 0;
        while (column < count && limits[column] <= key) {
            column++;
        }
        return column == count ? MOST : column / PANEL * PANEL;
    }

    /** Whether every row sees the keys up to this one. */
    boolean allSee(long key) {
        return leastLimit > key;
    }

    private void packQuery(GradientCall call, GradientScratch scratch, long group) {
        AttentionCall forward = call.forward;
        int headDim = forward.headDim;
        turnedQuery = memory.atLeast(turnedQuery, Panels.size(MOST, Math.max(1, headDim)));
        queries = memory.atLeast(queries, Panels.size(Math.max(1, headDim), MOST));
        for (int d = 0; d < headDim; d += DEPTH) {
            int depth = Math.min(DEPTH, headDim - d);
            read(call, scratch.packer, forward.query(), group, d, depth, scratch.rows);
            for (int r = 0; forward.queryFactor != 1f && r < count; r++) {
                RowOps.scale(scratch.rows, r * ROW, Lanes.roundUp(depth, PANEL), forward.queryFactor);
            }
            Panels.fromColumns(scratch.rows, depth, count, turnedQuery, d * MOST);
            if (!Panels.fromRows(scratch.rows, ROW, count, depth, queries, d * count, count)) {
                for (int r = 0; r < count; r++) {
                    ScoreGradient.dropStrays(scratch.rows, r * ROW, Lanes.roundUp(depth, PANEL));
                }
                Panels.fromRows(scratch.rows, ROW, count, depth, queries, d * count, count);
            }
        }
    }

    private void packGradient(GradientCall call, GradientScratch scratch, long group) {
        int valueDim = call.forward.valueDim;
        turnedGradient = memory.atLeast(turnedGradient, Panels.size(MOST, Math.max(1, valueDim)));
        gradients = memory.atLeast(gradients, Panels.size(Math.max(1, valueDim), MOST));
        strayCount = 0;
        for (int d = 0; d < valueDim; d += DEPTH) {
            int depth = Math.min(DEPTH, valueDim - d);
            int padded = Lanes.roundUp(depth, PANEL);
            read(call, scratch.packer, call.forward.output(), group, d, depth, scratch.other);
            read(call, scratch.packer, call.outputGradient(), group, d, depth, scratch.rows);
            for (int r = 0; r < count; r++) {
                rows[MEAN + r] +=
                        ScoreGradient.dot(scratch.rows, r * ROW, scratch.other, r * ROW, padded, scratch.partial);
            }
            Panels.fromColumns(scratch.rows, depth, count, turnedGradient, d * MOST);
            if (!Panels.fromRows(scratch.rows, ROW, count, depth, gradients, d * count, count)) {
                takeStrays(scratch, valueDim, d, depth);
                Panels.fromRows(scratch.rows, ROW, count, depth, gradients, d * count, count);
            }
        }
    }

    /** Moves what is not finite from the rows to {@link #strayValues}. */
    private void takeStrays(GradientScratch scratch, int valueDim, int d, int depth) {
        strayValues = memory.atLeast(strayValues, MOST * valueDim);
        for (int r = 0; r < count; r++) {
            System.arraycopy(scratch.rows, r * ROW, scratch.other, 0, depth);
            if (ScoreGradient.dropStrays(scratch.rows, r * ROW, Lanes.roundUp(depth, PANEL))) {
                int stray = strayOf(r, valueDim);
                for (int i = 0; i < depth; i++) {
                    float v = scratch.other[i];
                    strayValues[stray * valueDim + d + i] = Float.isFinite(v) ? 0f : v;
                }
            }
        }
    }

    /** The index of a stray row, a new one unless an earlier chunk made it. */
    private int strayOf(int row, int valueDim) {
        for (int i = 0; i < strayCount; i++) {
            if (strays[i] == row) {
                return i;
            }
        }
        strays[strayCount] = row;
        Arrays.fill(strayValues, strayCount * valueDim, (strayCount + 1) * valueDim, 0f);
        return strayCount++;
    }

    /** Log-sum-exp, limits, and what the gradients of log-sum-exp and weights add to the mean. */
    private void packRows(GradientCall call, GradientScratch scratch, long group) {
        AttentionCall forward = call.forward;
        Tensor upstream = call.logSumExpGradient();
        leastLimit = Long.MAX_VALUE;
        long batch = group / forward.kvHeads;
        long end = forward.mask.end(batch, forward.keys);
        long offset = forward.mask.offset(batch, forward.queries, end);
        for (int r = 0; r < count; r++) {
            long row = firstRow + r;
            splitLogSumExp(call.logSumExp().getAt(call.start(call.logSumExp(), group, row)), r);
            if (upstream != null) {
                rows[MEAN + r] -= (float) upstream.getAt(call.start(upstream, group, row));
            }
            if (call.weightsGradient() != null) {
                rows[MEAN + r] += weightsMean(call, scratch, group, row);
            }
            limits[r] = forward.mask.visibleKeys(call.queryOf(row), offset, end);
            leastLimit = Math.min(leastLimit, limits[r]);
        }
        Arrays.fill(rows, count, MOST, ScoreGradient.NO_KEYS);
    }

    /** As f32 and what that loses. */
    private void splitLogSumExp(double logSumExp, int r) {
        rows[r] = logSumExp == Double.NEGATIVE_INFINITY ? ScoreGradient.NO_KEYS : (float) logSumExp;
        rows[MOST + r] = Double.isInfinite(logSumExp) ? 0f : (float) (logSumExp - rows[r]);
    }

    /** {@code sum_j W_ij dW_ij} of one row. */
    private static float weightsMean(GradientCall call, GradientScratch scratch, long group, long row) {
        Tensor weights = call.weights();
        Tensor upstream = call.weightsGradient();
        float result = 0f;
        for (long key = 0; key < call.forward.keys; key += DEPTH) {
            int wide = (int) Math.min(DEPTH, call.forward.keys - key);
            int padded = Lanes.roundUp(wide, PANEL);
            long from = call.start(weights, group, row) + key * weights.stride(3);
            scratch.packer.read(weights, from, 0, weights.stride(3), 1, wide, scratch.rows, 0, ROW);
            from = call.start(upstream, group, row) + key * upstream.stride(3);
            scratch.packer.read(upstream, from, 0, upstream.stride(3), 1, wide, scratch.other, 0, ROW);
            result += ScoreGradient.dot(scratch.rows, 0, scratch.other, 0, padded, scratch.partial);
        }
        return result;
    }

    /** Reads a chunk of every row of {@code [batch, queryHeads, queries, dim]}. */
    private void read(GradientCall call, Packer packer, Tensor tensor, long group, int d, int depth, float[] rows) {
        for (int row = 0; row < count; ) {
            int run = runOf(call, row);
            long at = call.start(tensor, group, firstRow + row) + d * tensor.stride(3);
            packer.read(tensor, at, tensor.stride(2), tensor.stride(3), run, depth, rows, row * ROW, ROW);
            row += run;
        }
    }

    /** How many rows from this one on belong to the same query head. */
    int runOf(GradientCall call, int row) {
        return (int) Math.min(count - row, call.forward.queries - call.queryOf(firstRow + row));
    }
}
