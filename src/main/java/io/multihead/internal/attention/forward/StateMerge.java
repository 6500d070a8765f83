package io.multihead.internal.attention.forward;

import io.multihead.internal.attention.QueryTensors;
import io.multihead.internal.base.Checks;
import io.multihead.internal.base.WideRows;
import io.multihead.internal.call.Operation;
import io.multihead.internal.exec.FloatsKey;
import io.multihead.internal.exec.LoopBody;
import io.multihead.internal.exec.ScratchKey;
import io.multihead.internal.exec.Workspace;
import io.multihead.internal.kernel.Lanes;
import io.multihead.internal.layout.Positions;
import io.multihead.tensor.Tensor;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Merges two states, each the output and log-sum-exp over some keys, into one state over all these keys (Milakov and Gimelshein 2018): each
 * output is weighted by the share of its keys in all weights. Products and their sum are computed in {@code double} and rounded once.
 *
 * <p>A state that saw no key is omitted, and its output is ignored. A state that saw a key is never omitted: NaN and infinity affect every
 * row that sees them, even with a share of 0.
 *
 * <p>A task is up to 64 queries of one head.
 */
public final class StateMerge extends Operation implements LoopBody {
    /** The merge object that each thread keeps. */
    public static final ScratchKey<StateMerge> CALL = ScratchKey.of(StateMerge::new);

    private static final FloatsKey ROW = new FloatsKey();
    private static final FloatsKey OTHER = new FloatsKey();
    private static final FloatsKey WEIGHTS = new FloatsKey();
    private static final int QUERIES_PER_TASK = 64;

    private final QueryTensors left = new QueryTensors();
    private final QueryTensors right = new QueryTensors();
    private final QueryTensors merged = new QueryTensors();

    private StateMerge() {}

    /**
     * Sets the checked tensors of one state.
     *
     * @param output {@code [batch, heads, queries, valueDim]}
     * @param logSumExp {@code [batch, heads, queries]}; minus infinity where no key was seen
     * @param weights {@code [batch, heads, queries, keys]} over the keys of this state, which are changed in place to weights over all
     *     keys; null for none
     */
    public void bindLeft(Tensor output, Tensor logSumExp, @Nullable Tensor weights) {
        left.bind(null, output, logSumExp, weights);
    }

    /** Sets the other state. */
    public void bindRight(Tensor output, Tensor logSumExp, @Nullable Tensor weights) {
        right.bind(null, output, logSumExp, weights);
    }

    /** Sets the state to write, which may be one of the two. */
    public void bindMerged(Tensor output, Tensor logSumExp) {
        merged.bind(null, output, logSumExp, null);
    }

    public void run() {
        Tensor output = merged.output();
        run(this, output.dim(0) * output.dim(1) * Math.ceilDiv(output.dim(2), QUERIES_PER_TASK));
    }

    @Override
    public void run(long task, Workspace scratch) {
        Tensor output = merged.output();
        long tasksPerHead = Math.ceilDiv(output.dim(2), QUERIES_PER_TASK);
        long batch = task / tasksPerHead / output.dim(1);
        long head = task / tasksPerHead % output.dim(1);
        long first = task % tasksPerHead * QUERIES_PER_TASK;
        long end = Math.min(output.dim(2), first + QUERIES_PER_TASK);
        for (long query = first; query < end; query++) {
            mergeRow(scratch, batch, head, query);
        }
    }

    private void mergeRow(Workspace scratch, long batch, long head, long query) {
        double l1 = logSumExp(left, batch, head, query);
        double l2 = logSumExp(right, batch, head, query);
        Tensor output = merged.output();
        int width = (int) output.dim(3);
        float[] row = scratch.floats(ROW, padded(width));
        double sum;
        if (l1 == Double.NEGATIVE_INFINITY && l2 == Double.NEGATIVE_INFINITY) {
            Arrays.fill(row, 0, width, 0f);
            sum = l1;
        } else if (l1 == Double.NEGATIVE_INFINITY) {
            read(scratch, right.output(), batch, head, query, row);
            sum = l2;
        } else if (l2 == Double.NEGATIVE_INFINITY) {
            read(scratch, left.output(), batch, head, query, row);
            sum = l1;
        } else {
            double most = Math.max(l1, l2);
            double e1 = StrictMath.exp(l1 - most);
            double e2 = StrictMath.exp(l2 - most);
            mix(scratch, batch, head, query, e1 / (e1 + e2), e2 / (e1 + e2), row);
            sum = most + StrictMath.log(e1 + e2);
        }
        write(scratch, output, batch, head, query, row);
        Tensor logSumExp = Checks.notNull(merged.logSumExp(), "logSumExp");
        Positions.set(logSumExp, sum, Positions.of(logSumExp, batch, head, query));
    }

    /** Stores the sum of both outputs, weighted by their shares, in a row. */
    private void mix(
            Workspace scratch, long batch, long head, long query, double leftShare, double rightShare, float[] row) {
        int padded = padded((int) merged.output().dim(3));
        scaleWeights(scratch, left, batch, head, query, leftShare);
        scaleWeights(scratch, right, batch, head, query, rightShare);
        float[] other = scratch.floats(OTHER, padded);
        read(scratch, left.output(), batch, head, query, row);
        read(scratch, right.output(), batch, head, query, other);
        // a share that underflowed becomes the smallest double, with which infinity stays infinity and finite values
        // have no effect
        WideRows.mix(row, Math.max(leftShare, Double.MIN_VALUE), other, Math.max(rightShare, Double.MIN_VALUE), padded);
    }

    private static void scaleWeights(
            Workspace scratch, QueryTensors state, long batch, long head, long query, double share) {
        Tensor weights = state.weights();
        if (weights != null) {
            int padded = padded((int) weights.dim(3));
            float[] row = scratch.floats(WEIGHTS, padded);
            read(scratch, weights, batch, head, query, row);
            WideRows.scale(row, padded, share);
            write(scratch, weights, batch, head, query, row);
        }
    }

    private static int padded(int width) {
        return Lanes.roundUp(Math.max(1, width), Lanes.PANEL);
    }

    private static void read(Workspace scratch, Tensor from, long batch, long head, long query, float[] row) {
        long at = Positions.of(from, batch, head, query);
        scratch.packer().read(from, at, 0, from.stride(3), 1, (int) from.dim(3), row, 0, 0);
    }

    private static void write(Workspace scratch, Tensor to, long batch, long head, long query, float[] row) {
        long at = Positions.of(to, batch, head, query);
        scratch.packer().write(row, 0, 0, 1, (int) to.dim(3), to, at, 0, to.stride(3));
    }

    private static double logSumExp(QueryTensors state, long batch, long head, long query) {
        Tensor tensor = Checks.notNull(state.logSumExp(), "logSumExp");
        return Positions.get(tensor, Positions.of(tensor, batch, head, query));
    }

    /** Drops every reference to the caller's memory. */
    @Override
    protected void clear() {
        left.clear();
        right.clear();
        merged.clear();
    }
}
