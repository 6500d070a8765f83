package io.multihead.internal.attention.forward;

import static io.multihead.internal.kernel.Lanes.PANEL;

import io.multihead.internal.attention.mask.BoundMask;
import io.multihead.internal.attention.mask.MaskPart;
import io.multihead.internal.attention.mask.ScoreIndex;
import io.multihead.internal.base.Checks;
import io.multihead.internal.call.Operation;
import io.multihead.internal.call.RowLoop;
import io.multihead.internal.exec.FloatsKey;
import io.multihead.internal.exec.LoopBody;
import io.multihead.internal.exec.ScratchKey;
import io.multihead.internal.exec.Workspace;
import io.multihead.internal.kernel.Exp;
import io.multihead.internal.kernel.Lanes;
import io.multihead.internal.kernel.RowOps;
import io.multihead.internal.layout.Packer;
import io.multihead.internal.layout.Positions;
import io.multihead.tensor.Tensor;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** One call of the softmax of given scores; a task is a range of rows. */
public final class SoftmaxCall extends Operation implements LoopBody {
    private static final FloatsKey ROW = new FloatsKey();
    private static final FloatsKey STAGING = new FloatsKey();
    private static final FloatsKey SUM = new FloatsKey();
    private static final ScratchKey<ScoreIndex> INDEX = ScratchKey.of(ScoreIndex::new);
    private static final ScratchKey<NativeRows> NATIVE = ScratchKey.of(NativeRows::new);

    private final BoundMask mask = new BoundMask();
    private final long[] sizes = new long[3];
    private @Nullable Tensor scores;
    private @Nullable Tensor output;
    private @Nullable Tensor logSumExp;
    private boolean logarithm;
    private boolean masked;
    private float scale;
    private int keys;
    private long rows;
    private long rowsPerTask;

    /** Creates a call that is bound before each use. */
    public SoftmaxCall() {}

    /**
     * Sets checked tensors.
     *
     * @param newLogarithm whether the logarithm of the softmax is written
     */
    public void bind(
            Tensor newScores, Tensor newOutput, @Nullable Tensor newLogSumExp, boolean newLogarithm, double newScale) {
        scores = newScores;
        output = newOutput;
        logSumExp = newLogSumExp;
        logarithm = newLogarithm;
        scale = (float) newScale;
        keys = (int) newScores.dim(-1);
        rows = 1;
        for (int axis = 0; axis < 3; axis++) {
            int own = axis - (4 - newScores.rank());
            sizes[axis] = own < 0 ? 1 : newScores.dim(own);
            rows *= sizes[axis];
        }
    }

    /** Resolves the mask against the sizes of the scores, and returns it. */
    public BoundMask bindMask(List<MaskPart> parts) {
        masked = !parts.isEmpty();
        mask.bind(parts, sizes[0], sizes[1], sizes[2], keys);
        return mask;
    }

    public void run() {
        run(this, divide(parallelism()));
    }

    private long divide(int threads) {
        rowsPerTask = RowLoop.rowsPerTask(rows, threads);
        return Math.ceilDiv(rows, rowsPerTask);
    }

    @Override
    public void run(long task, Workspace scratch) {
        Tensor from = Checks.notNull(scores, "scores");
        Tensor to = Checks.notNull(output, "output");
        if (!masked && !logarithm && scale == 1f && NativeRows.fit(from, to)) {
            runNative(task, scratch, from, to);
        } else {
            runAny(task, scratch, from, to);
        }
    }

    private void runNative(long task, Workspace scratch, Tensor from, Tensor to) {
        NativeRows kernel = scratch.get(NATIVE);
        long first = task * rowsPerTask;
        long last = Math.min(rows, first + rowsPerTask) - 1;
        long f0 = start(from, first);
        kernel.begin(from, f0);
        for (long r = first; r <= last; r++) {
            long next = start(from, Math.min(r + 1, last));
            kernel.softmax(scratch.packer(), from, f0, to, start(to, r), next);
            f0 = next;
            if (logSumExp != null) {
                Positions.set(logSumExp, kernel.logSumExp(), start(logSumExp, r));
            }
        }
    }

    private void runAny(long task, Workspace scratch, Tensor from, Tensor to) {
        int padded = Lanes.roundUp(keys, PANEL);
        float[] row = scratch.floats(ROW, padded);
        float[] staging = scratch.floats(STAGING, padded);
        float[] sum = scratch.floats(SUM, PANEL);
        ScoreIndex index = scratch.get(INDEX);
        for (long r = task * rowsPerTask; r < Math.min(rows, (task + 1) * rowsPerTask); r++) {
            long batch = r / sizes[2] / sizes[1];
            long head = r / sizes[2] % sizes[1];
            long query = r % sizes[2];
            index.set(batch, head, query, 0);
            long end = mask.end(batch, keys);
            long offset = mask.offset(batch, sizes[2], end);
            load(
                    scratch.packer(),
                    row,
                    staging,
                    index,
                    mask.firstKey(query, offset),
                    mask.visibleKeys(query, offset, end),
                    start(from, batch, head, query));
            float max = RowOps.max(row, 0, padded);
            Arrays.fill(sum, 0, PANEL, 0f);
            float shift = max == Float.NEGATIVE_INFINITY ? 0f : max;
            if (logarithm) {
                System.arraycopy(row, 0, staging, 0, padded);
            }
            if (masked && RowOps.hasNoSoftmax(row, 0, padded)) {
                RowOps.spreadNaN(row, 0, padded);
            }
            Exp.shifted(row, 0, padded, 1f, shift, sum, 0, 0f);
            float total = RowOps.total(sum, 0);
            finish(row, staging, padded, shift, total);
            scratch.packer().write(row, 0, 0, 1, keys, to, start(to, batch, head, query), 0, to.stride(-1));
            if (logSumExp != null) {
                Positions.set(logSumExp, max + StrictMath.log(total), start(logSumExp, batch, head, query));
            }
        }
    }

    private void load(Packer packer, float[] row, float[] staging, ScoreIndex index, long first, long limit, long at) {
        Tensor from = Checks.notNull(scores, "scores");
        int padded = Lanes.roundUp(keys, PANEL);
        packer.read(from, at, 0, from.stride(-1), 1, keys, row, 0, padded);
        if (scale != 1f) {
            RowOps.scale(row, 0, padded, scale);
        }
        int visible = (int) Math.min(keys, limit);
        if (visible > 0 && mask.hasTensors()) {
            mask.apply(packer, row, 0, staging, index, visible);
        }
        Arrays.fill(row, 0, (int) Math.min(first, visible), Float.NEGATIVE_INFINITY);
        Arrays.fill(row, visible, padded, Float.NEGATIVE_INFINITY);
    }

    /** Normalizes exponentials. In a masked row without softmax, scores are NaN or hidden; hidden scores become 0 or minus infinity. */
    private void finish(float[] row, float[] shifted, int padded, float shift, float total) {
        boolean spreads = masked && Float.isNaN(total);
        if (logarithm) {
            float log = total == 0f ? 0f : (float) StrictMath.log(total);
            for (int i = 0; i < keys; i++) {
                row[i] = spreads && shifted[i] == Float.NEGATIVE_INFINITY ? shifted[i] : (shifted[i] - shift) - log;
            }
        } else if (total != 0f && !spreads) {
            RowOps.normalize(row, 0, padded, total);
        }
    }

    /** Returns the position of the first element of a row, which is counted over all batches and heads. */
    private long start(Tensor tensor, long row) {
        return start(tensor, row / sizes[2] / sizes[1], row / sizes[2] % sizes[1], row % sizes[2]);
    }

    /** Returns the position of a row's first element. */
    private long start(Tensor tensor, long batch, long head, long query) {
        int axes = scores == null ? 0 : scores.rank() - 1;
        long at = tensor.offset();
        at += axes > 0 ? query * tensor.stride(axes - 1) : 0;
        at += axes > 1 ? head * tensor.stride(axes - 2) : 0;
        at += axes > 2 ? batch * tensor.stride(axes - 3) : 0;
        return at;
    }

    /** Drops every reference to the caller's memory. */
    @Override
    protected void clear() {
        mask.clear();
        scores = null;
        output = null;
        logSumExp = null;
    }
}
