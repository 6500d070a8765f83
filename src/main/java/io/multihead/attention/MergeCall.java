package io.multihead.attention;

import io.multihead.internal.Checks;
import io.multihead.internal.call.Operation;
import io.multihead.internal.exec.FloatsKey;
import io.multihead.internal.exec.LoopBody;
import io.multihead.internal.exec.Workspace;
import io.multihead.internal.kernel.Lanes;
import io.multihead.internal.kernel.RowOps;
import io.multihead.tensor.Tensor;
import org.jspecify.annotations.Nullable;

/** Merges two states; a unit is one head of one batch. */
final class MergeCall extends Operation implements LoopBody {
    private static final FloatsKey ROW = new FloatsKey();
    private static final FloatsKey OTHER = new FloatsKey();

    private @Nullable AttentionState left;
    private @Nullable AttentionState right;
    private @Nullable AttentionState merged;

    void bind(AttentionState newLeft, AttentionState newRight, AttentionState newMerged) {
        left = newLeft;
        right = newRight;
        merged = newMerged;
    }

    void run() {
        AttentionState to = Checks.notNull(merged, "merged");
        run(this, to.output().dim(0) * to.output().dim(1));
    }

    @Override
    public void run(long unit, Workspace scratch) {
        AttentionState to = Checks.notNull(merged, "merged");
        long batch = unit / to.output().dim(1);
        long head = unit % to.output().dim(1);
        int wide = (int) to.output().dim(3);
        int padded = Lanes.roundUp(Math.max(1, wide), Lanes.PANEL);
        float[] row = scratch.floats(ROW, padded);
        float[] other = scratch.floats(OTHER, padded);
        for (long query = 0; query < to.output().dim(2); query++) {
            double l1 = logSumExp(Checks.notNull(left, "left"), batch, head, query);
            double l2 = logSumExp(Checks.notNull(right, "right"), batch, head, query);
            double most = Math.max(l1, l2);
            boolean none = most == Double.NEGATIVE_INFINITY;
            double e1 = none ? 0 : Math.exp(l1 - most);
            double e2 = none ? 0 : Math.exp(l2 - most);
            read(scratch, Checks.notNull(left, "left"), batch, head, query, e1, e1 + e2, row, padded);
            read(scratch, Checks.notNull(right, "right"), batch, head, query, e2, e1 + e2, other, padded);
            RowOps.add(row, 0, padded, other, 0);
            Tensor output = to.output();
            scratch.packer().write(row, 0, 0, 1, wide, output, start(output, batch, head, query), 0, output.stride(3));
            double sum = none ? most : most + Math.log(e1 + e2);
            to.logSumExp().setAt(start(to.logSumExp(), batch, head, query), sum);
        }
    }

    /** A state's output times its share; a share of 0 takes nothing of it, not even NaN. */
    private static void read(
            Workspace scratch,
            AttentionState from,
            long batch,
            long head,
            long query,
            double share,
            double all,
            float[] row,
            int padded) {
        Tensor output = from.output();
        if (share == 0) {
            java.util.Arrays.fill(row, 0, padded, 0f);
            return;
        }
        long at = start(output, batch, head, query);
        scratch.packer().read(output, at, 0, output.stride(3), 1, (int) output.dim(3), row, 0, padded);
        if (share != all) {
            RowOps.scale(row, 0, padded, (float) (share / all));
        }
    }

    private static double logSumExp(AttentionState state, long batch, long head, long query) {
        return state.logSumExp().getAt(start(state.logSumExp(), batch, head, query));
    }

    private static long start(Tensor tensor, long batch, long head, long query) {
        return tensor.offset() + batch * tensor.stride(0) + head * tensor.stride(1) + query * tensor.stride(2);
    }

    /** Forgets the caller's tensors. */
    @Override
    protected void clear() {
        left = null;
        right = null;
        merged = null;
    }
}
