package io.multihead.internal.attention.backward;

import static io.multihead.internal.kernel.Lanes.PANEL;

import io.multihead.internal.base.Checks;
import io.multihead.internal.call.Operation;
import io.multihead.internal.call.RowLoop;
import io.multihead.internal.exec.FloatsKey;
import io.multihead.internal.exec.LoopBody;
import io.multihead.internal.exec.Workspace;
import io.multihead.internal.kernel.Lanes;
import io.multihead.internal.kernel.ScoreGradient;
import io.multihead.internal.layout.Positions;
import io.multihead.tensor.Tensor;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** One call of the gradient of a softmax; a task is a range of rows. */
public final class SoftmaxGradientCall extends Operation implements LoopBody {
    private static final FloatsKey SOFTMAX = new FloatsKey();
    private static final FloatsKey GRADIENT = new FloatsKey();
    private static final FloatsKey PARTIAL = new FloatsKey();

    private @Nullable Tensor softmax;
    private @Nullable Tensor upstream;
    private @Nullable Tensor gradient;
    private float scale;
    private long rows;
    private long rowsPerTask;

    /** Creates a call that is bound before each use. */
    public SoftmaxGradientCall() {}

    /** Sets checked tensors of one shape. */
    public void bind(Tensor newSoftmax, Tensor newUpstream, Tensor newGradient, double newScale) {
        softmax = newSoftmax;
        upstream = newUpstream;
        gradient = newGradient;
        scale = (float) newScale;
        rows = 1;
        for (int axis = 0; axis < newSoftmax.rank() - 1; axis++) {
            rows *= newSoftmax.dim(axis);
        }
    }

    public void run() {
        rowsPerTask = RowLoop.rowsPerTask(rows, parallelism());
        run(this, Math.ceilDiv(rows, rowsPerTask));
    }

    @Override
    public void run(long task, Workspace scratch) {
        Tensor from = Checks.notNull(softmax, "output");
        Tensor up = Checks.notNull(upstream, "outputGradient");
        Tensor to = Checks.notNull(gradient, "scoresGradient");
        int keys = (int) from.dim(-1);
        int padded = Lanes.roundUp(keys, PANEL);
        float[] p = scratch.floats(SOFTMAX, padded);
        float[] row = scratch.floats(GRADIENT, padded);
        float[] partial = scratch.floats(PARTIAL, PANEL);
        for (long r = task * rowsPerTask; r < Math.min(rows, (task + 1) * rowsPerTask); r++) {
            scratch.packer().read(from, Positions.ofRow(from, r), 0, from.stride(-1), 1, keys, p, 0, padded);
            scratch.packer().read(up, Positions.ofRow(up, r), 0, up.stride(-1), 1, keys, row, 0, padded);
            Arrays.fill(p, keys, padded, 0f);
            ScoreGradient.dropWhereZero(row, p, padded);
            float mean = ScoreGradient.dot(row, 0, p, 0, padded, partial);
            ScoreGradient.ofSoftmax(row, p, padded, mean, scale);
            scratch.packer().write(row, 0, 0, 1, keys, to, Positions.ofRow(to, r), 0, to.stride(-1));
        }
    }

    /** Drops every reference to the caller's memory. */
    @Override
    protected void clear() {
        softmax = null;
        upstream = null;
        gradient = null;
    }
}
