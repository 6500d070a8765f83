package io.multihead.internal.attention.backward;

import static io.multihead.internal.attention.AttentionBlocking.DIM_CHUNK;
import static io.multihead.internal.kernel.Lanes.PANEL;
import static io.multihead.internal.kernel.Lanes.ROW;

import io.multihead.internal.attention.AttentionBlocking;
import io.multihead.internal.attention.AttentionProblem;
import io.multihead.internal.attention.HeadGroup;
import io.multihead.internal.attention.HeadRows;
import io.multihead.internal.base.Checks;
import io.multihead.internal.kernel.F32Panels;
import io.multihead.internal.kernel.Lanes;
import io.multihead.internal.kernel.RowOps;
import io.multihead.internal.kernel.ScoreGradient;
import io.multihead.internal.layout.Packer;
import io.multihead.internal.layout.PanelMemory;
import io.multihead.internal.layout.Positions;
import io.multihead.internal.layout.Scratch;
import io.multihead.tensor.Tensor;
import java.util.Arrays;

/**
 * Up to 256 query rows of one group: Q and dO in panels in both layouts, and for each row log-sum-exp, {@code D = rowsum(dO o O)}, its
 * position and the range of keys that it sees. It also holds the sum of dQ. Belongs to one thread.
 *
 * <p>Non-finite elements would contaminate keys that their row does not see, since {@code 0 * NaN} is NaN. They are zeroed in the panels
 * that the sums dK and dV read; non-finite elements of dO are kept separately, and added to exactly the keys that their row sees.
 */
final class PackedQueries {
    private static final int MAX_ROWS = AttentionBlocking.BACKWARD_QUERIES;

    /** Floats from row to row of {@link #queryGradient}: sums, then their compensation terms; not a power of two. */
    static final int SUM_ROW = 2 * MAX_ROWS + PANEL;

    /** Index of D in {@link #statistics}. */
    private static final int MEAN = 2 * MAX_ROWS;

    private static final long NOTHING = -1;

    private final Scratch memory;

    /** Right operand of K Q^T: {@code [chunk of headDim][panel of queries][d][32]}. */
    PanelMemory queryColumns = PanelMemory.NONE;
    /** Right operand of V dO^T: {@code [chunk of valueDim][panel of queries][d][32]}. */
    PanelMemory gradientColumns = PanelMemory.NONE;
    /** Right operand of dS^T Q: {@code [panel of headDim][query][32]}. */
    PanelMemory queryRows = PanelMemory.NONE;
    /** Right operand of P^T dO: {@code [panel of valueDim][query][32]}. */
    PanelMemory gradientRows = PanelMemory.NONE;
    /** dQ^T: {@code [headDim][SUM_ROW]}. */
    float[] queryGradient = new float[0];

    /** For each row: log-sum-exp in f32, its rounding error 256 floats later, and D another 256 floats later. */
    final float[] statistics = new float[3 * MAX_ROWS];

    /** For each row, the end of the keys that it sees, counted from key 0. */
    final long[] ends = new long[MAX_ROWS];
    /** For each row, the first key that a window lets it see. */
    final long[] firsts = new long[MAX_ROWS];
    /** For each row, the position of its query among the keys. */
    final long[] positions = new long[MAX_ROWS];
    /** The rows of dO that have non-finite elements, and these elements, with zeros between them. */
    final int[] nonFiniteRows = new int[MAX_ROWS];

    float[] nonFiniteValues = new float[0];
    int nonFiniteCount;
    int count;
    long firstRow;
    private final CommonKeys common = new CommonKeys();
    private long tag = NOTHING;
    private long tagRow = NOTHING;

    /** The keys that every row sees: from the largest first key to the smallest end. */
    private static final class CommonKeys {
        private long first;
        private long end;
    }

    PackedQueries(Scratch memory) {
        this.memory = memory;
    }

    /** Packs {@code newCount} rows of a group from {@code row} on, unless they are already packed. */
    void pack(BackwardArguments call, Staging staging, HeadGroup group, long row, int newCount) {
        long newTag = group.tag();
        if (tag == newTag && tagRow == row && count == newCount) {
            return;
        }
        tag = NOTHING;
        count = newCount;
        firstRow = row;
        Arrays.fill(statistics, 0f);
        packQuery(call, staging, group);
        packGradient(call, staging, group);
        packStatistics(call, staging, group);
        tag = newTag;
        tagRow = row;
    }

    /** Zeros dQ of the rows that are packed. */
    void clearGradient(int headDim) {
        int width = width();
        queryGradient = memory.atLeast(queryGradient, Lanes.roundUp(headDim, Lanes.ROW_STEP) * SUM_ROW);
        for (int d = 0; d < headDim; d++) {
            Arrays.fill(queryGradient, d * SUM_ROW, d * SUM_ROW + width, 0f);
            Arrays.fill(queryGradient, d * SUM_ROW + MAX_ROWS, d * SUM_ROW + MAX_ROWS + width, 0f);
        }
    }

    /** Returns the number of rows, rounded up to whole panels. */
    int width() {
        return Lanes.roundUp(count, PANEL);
    }

    /** Returns whether the keys of every row end after {@code key}. */
    boolean allSeeUpTo(long key) {
        return common.end > key;
    }

    /** Returns whether the keys of every row begin at or before {@code key}. */
    boolean allSeeFrom(long key) {
        return common.first <= key;
    }

    /** Returns D of a row: the mean of its weights' gradients, minus the gradient of log-sum-exp. */
    float mean(int row) {
        return statistics[MEAN + row];
    }

    /** Returns log-sum-exp of a row, with about the accuracy of f64. */
    double logSumExp(int row) {
        return (double) statistics[row] + statistics[MAX_ROWS + row];
    }

    private void packQuery(BackwardArguments call, Staging staging, HeadGroup group) {
        int headDim = call.problem.headDim();
        float factor = call.problem.scores().queryFactor();
        queryColumns = memory.atLeast(queryColumns, F32Panels.size(MAX_ROWS, Math.max(1, headDim)));
        queryRows = memory.atLeast(queryRows, F32Panels.size(Math.max(1, headDim), MAX_ROWS));
        HeadRows from = staging.queries;
        for (int d = 0; d < headDim; d += DIM_CHUNK) {
            int depth = Math.min(DIM_CHUNK, headDim - d);
            read(staging, call.saved.query(), group, d, headDim, factor, from);
            float[] rows = from.rows();
            int at = from.column();
            queryColumns.packColumns(rows, at, depth, count, staging.packer().panel(depth), d * MAX_ROWS);
            if (!queryRows.packRows(rows, at, ROW, count, depth, d * count, count)) {
                ScoreGradient.zeroNonFinite(rows, at, count, Lanes.roundUp(depth, PANEL));
                from.drop();
                queryRows.packRows(rows, at, ROW, count, depth, d * count, count);
            }
        }
    }

    private void packGradient(BackwardArguments call, Staging staging, HeadGroup group) {
        int valueDim = call.problem.valueDim();
        gradientColumns = memory.atLeast(gradientColumns, F32Panels.size(MAX_ROWS, Math.max(1, valueDim)));
        gradientRows = memory.atLeast(gradientRows, F32Panels.size(Math.max(1, valueDim), MAX_ROWS));
        nonFiniteCount = 0;
        HeadRows from = staging.gradients;
        for (int d = 0; d < valueDim; d += DIM_CHUNK) {
            int depth = Math.min(DIM_CHUNK, valueDim - d);
            int padded = Lanes.roundUp(depth, PANEL);
            read(staging, call.saved.output(), group, d, valueDim, 1f, staging.outputs);
            read(staging, call.gradients.output(), group, d, valueDim, 1f, from);
            float[] rows = from.rows();
            int at = from.column();
            ScoreGradient.addDots(
                    rows,
                    at,
                    staging.outputs.rows(),
                    staging.outputs.column(),
                    count,
                    padded,
                    statistics,
                    MEAN,
                    staging.partial);
            gradientColumns.packColumns(rows, at, depth, count, staging.packer().panel(depth), d * MAX_ROWS);
            if (!gradientRows.packRows(rows, at, ROW, count, depth, d * count, count)) {
                moveNonFinite(staging, valueDim, d, depth);
                from.drop();
                gradientRows.packRows(rows, at, ROW, count, depth, d * count, count);
            }
        }
    }

    /** Moves non-finite elements from the rows to {@link #nonFiniteValues}. */
    private void moveNonFinite(Staging staging, int valueDim, int d, int depth) {
        nonFiniteValues = memory.atLeast(nonFiniteValues, MAX_ROWS * valueDim);
        float[] rows = staging.gradients.rows();
        for (int r = 0; r < count; r++) {
            int at = staging.gradients.column() + r * ROW;
            System.arraycopy(rows, at, staging.other, 0, depth);
            if (ScoreGradient.zeroNonFinite(rows, at, 1, Lanes.roundUp(depth, PANEL))) {
                int index = nonFiniteRow(r, valueDim);
                for (int i = 0; i < depth; i++) {
                    float v = staging.other[i];
                    nonFiniteValues[index * valueDim + d + i] = Float.isFinite(v) ? 0f : v;
                }
            }
        }
    }

    /** Returns the index of a row with non-finite elements, a new index unless an earlier chunk of the row had such elements. */
    private int nonFiniteRow(int row, int valueDim) {
        for (int i = 0; i < nonFiniteCount; i++) {
            if (nonFiniteRows[i] == row) {
                return i;
            }
        }
        nonFiniteRows[nonFiniteCount] = row;
        Arrays.fill(nonFiniteValues, nonFiniteCount * valueDim, (nonFiniteCount + 1) * valueDim, 0f);
        return nonFiniteCount++;
    }

    /** Computes log-sum-exp, the ends of keys, and the addends of D from the gradients of log-sum-exp and weights. */
    private void packStatistics(BackwardArguments call, Staging staging, HeadGroup group) {
        AttentionProblem problem = call.problem;
        Tensor logSumExp = call.logSumExp();
        Tensor upstream = call.gradients.logSumExp();
        Tensor weightsGradient = call.gradients.weights();
        common.first = Long.MIN_VALUE;
        common.end = Long.MAX_VALUE;
        long end = call.mask.end(group.sequence(), problem.keys());
        long offset = call.mask.offset(group.sequence(), problem.queries(), end);
        for (int r = 0; r < count; r++) {
            long row = firstRow + r;
            long query = group.query(row);
            splitLogSumExp(Positions.get(logSumExp, group.position(logSumExp, row)), r);
            if (upstream != null) {
                statistics[MEAN + r] -= (float) Positions.get(upstream, group.position(upstream, row));
            }
            if (weightsGradient != null) {
                Tensor weights = Checks.notNull(call.saved.weights(), "weights");
                statistics[MEAN + r] += weightsMean(weights, weightsGradient, staging, group, row);
            }
            positions[r] = query + offset;
            firsts[r] = call.mask.firstKey(query, offset);
            ends[r] = call.mask.visibleKeys(query, offset, end);
            common.end = Math.min(common.end, ends[r]);
            common.first = Math.max(common.first, firsts[r]);
        }
        Arrays.fill(statistics, count, MAX_ROWS, ScoreGradient.NO_KEYS);
    }

    /** Stores log-sum-exp as f32 and its rounding error. */
    private void splitLogSumExp(double logSumExp, int r) {
        statistics[r] = logSumExp == Double.NEGATIVE_INFINITY ? ScoreGradient.NO_KEYS : (float) logSumExp;
        statistics[MAX_ROWS + r] = Double.isInfinite(logSumExp) ? 0f : (float) (logSumExp - statistics[r]);
    }

    /**
     * Returns {@code sum_j W_ij dW_ij} of one row over the keys whose weight is not 0. The gradient dW of the other keys, including hidden
     * keys, is arbitrary.
     */
    private static float weightsMean(Tensor weights, Tensor gradient, Staging staging, HeadGroup group, long row) {
        Packer packer = staging.packer();
        long keys = group.problem().keys();
        float result = 0f;
        for (long key = 0; key < keys; key += DIM_CHUNK) {
            int width = (int) Math.min(DIM_CHUNK, keys - key);
            long from = group.position(weights, row) + key * weights.stride(3);
            packer.read(weights, from, 0, weights.stride(3), 1, width, staging.rows, 0, ROW);
            from = group.position(gradient, row) + key * gradient.stride(3);
            packer.read(gradient, from, 0, gradient.stride(3), 1, width, staging.other, 0, ROW);
            int padded = Lanes.roundUp(width, PANEL);
            ScoreGradient.dropWhereZero(staging.other, staging.rows, padded);
            result += ScoreGradient.dot(staging.rows, 0, staging.other, 0, padded, staging.partial);
        }
        return result;
    }

    /**
     * Reads a chunk of every row of {@code [batch, queryHeads, queries, dim]} and of the adjacent heads, and multiplies it by a factor,
     * unless it was read with the rows of another head.
     */
    private void read(Staging staging, Tensor tensor, HeadGroup group, int d, int dim, float factor, HeadRows to) {
        if (to.moveTo(group.tag(), dim)) {
            return;
        }
        boolean isWhole = count == group.rows() && count == group.queries();
        int heads = staging.heads(isWhole, tensor, group.keyValueHead());
        int width = Math.min(DIM_CHUNK, heads * dim - d);
        float[] rows = to.reserve(Lanes.roundUp(count, Lanes.ROW_STEP));
        for (int row = 0; row < count; ) {
            int run = rowsOfHead(group, row);
            long at = group.position(tensor, firstRow + row) + d * tensor.stride(3);
            staging.packer().read(tensor, at, tensor.stride(2), tensor.stride(3), run, width, rows, row * ROW, ROW);
            row += run;
        }
        for (int r = 0; factor != 1f && r < count; r++) {
            RowOps.scale(rows, r * ROW, Lanes.roundUp(width, PANEL), factor);
        }
        to.hold(group.tag(), heads);
    }

    /** Returns the number of rows, from this one on, that belong to the same query head. */
    int rowsOfHead(HeadGroup group, int row) {
        return group.rowsOfHead(firstRow + row, count - row);
    }
}
