package io.multihead.internal.attention.forward;

import io.multihead.internal.attention.QueryTensors;
import io.multihead.internal.base.Checks;
import io.multihead.internal.call.Operation;
import io.multihead.internal.exec.FloatsKey;
import io.multihead.internal.exec.LoopBody;
import io.multihead.internal.exec.Workspace;
import io.multihead.internal.kernel.Lanes;
import io.multihead.internal.kernel.RowOps;
import io.multihead.internal.layout.Positions;
import io.multihead.tensor.Tensor;
import java.util.Arrays;

/** Merges two states, each the output and log-sum-exp over some keys; a task is one head of one batch. */
public final class StateMerge extends Operation implements LoopBody {
    private static final FloatsKey ROW = new FloatsKey();
    private static final FloatsKey OTHER = new FloatsKey();
    /** Log-sum-exp of a state that saw no key. */
    private static final double NO_KEYS = Double.NEGATIVE_INFINITY;

    private final QueryTensors left = new QueryTensors();
    private final QueryTensors right = new QueryTensors();
    private final QueryTensors merged = new QueryTensors();

    /** Creates a call that is bound before each use. */
    public StateMerge() {}

    /** Sets the checked tensors of one state, output {@code [batch, heads, queries, valueDim]} and log-sum-exp. */
    public void bindLeft(Tensor output, Tensor logSumExp) {
        left.bind(null, output, logSumExp, null);
    }

    /** Sets the other state. */
    public void bindRight(Tensor output, Tensor logSumExp) {
        right.bind(null, output, logSumExp, null);
    }

    /** Sets the state to write. */
    public void bindMerged(Tensor output, Tensor logSumExp) {
        merged.bind(null, output, logSumExp, null);
    }

    /** Runs all tasks. */
    public void run() {
        run(this, merged.output().dim(0) * merged.output().dim(1));
    }

    @Override
    public void run(long task, Workspace scratch) {
        Tensor output = merged.output();
        Tensor logSumExp = Checks.notNull(merged.logSumExp(), "logSumExp");
        long batch = task / output.dim(1);
        long head = task % output.dim(1);
        int width = (int) output.dim(3);
        int padded = Lanes.roundUp(Math.max(1, width), Lanes.PANEL);
        float[] row = scratch.floats(ROW, padded);
        float[] other = scratch.floats(OTHER, padded);
        for (long query = 0; query < output.dim(2); query++) {
            double l1 = logSumExp(left, batch, head, query);
            double l2 = logSumExp(right, batch, head, query);
            double most = Math.max(l1, l2);
            double e1 = l1 == NO_KEYS ? 0 : StrictMath.exp(l1 - most);
            double e2 = l2 == NO_KEYS ? 0 : StrictMath.exp(l2 - most);
            if (l1 != NO_KEYS && l2 != NO_KEYS) {
                read(scratch, left, batch, head, query, e1 / (e1 + e2), row, padded);
                read(scratch, right, batch, head, query, e2 / (e1 + e2), other, padded);
                RowOps.add(row, 0, padded, other, 0);
            } else if (most != NO_KEYS) {
                read(scratch, l1 == NO_KEYS ? right : left, batch, head, query, 1, row, padded);
            } else {
                Arrays.fill(row, 0, padded, 0f);
            }
            scratch.packer()
                    .write(row, 0, 0, 1, width, output, Positions.of(output, batch, head, query), 0, output.stride(3));
            double sum = most == NO_KEYS ? most : most + StrictMath.log(e1 + e2);
            logSumExp.setAt(Positions.of(logSumExp, batch, head, query), sum);
        }
    }

    /** Reads a state's output times its share. Infinity and NaN have no share: a row that sees them has them. */
    private static void read(
            Workspace scratch,
            QueryTensors from,
            long batch,
            long head,
            long query,
            double share,
            float[] row,
            int padded) {
        Tensor output = from.output();
        long at = Positions.of(output, batch, head, query);
        scratch.packer().read(output, at, 0, output.stride(3), 1, (int) output.dim(3), row, 0, padded);
        float factor = (float) share;
        if (factor == 0f) {
            for (int i = 0; i < padded; i++) {
                row[i] = Float.isFinite(row[i]) ? 0f : row[i];
            }
        } else if (factor != 1f) {
            RowOps.scale(row, 0, padded, factor);
        }
    }

    private static double logSumExp(QueryTensors state, long batch, long head, long query) {
        Tensor tensor = Checks.notNull(state.logSumExp(), "logSumExp");
        return tensor.getAt(Positions.of(tensor, batch, head, query));
    }

    /** Drops every reference to the caller's memory. */
    @Override
    protected void clear() {
        left.clear();
        right.clear();
        merged.clear();
    }
}
