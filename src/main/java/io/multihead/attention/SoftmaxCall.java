package io.multihead.attention;

import static io.multihead.internal.kernel.Lanes.PANEL;

import io.multihead.internal.Checks;
import io.multihead.internal.call.Operation;
import io.multihead.internal.exec.FloatsKey;
import io.multihead.internal.exec.LoopBody;
import io.multihead.internal.exec.ScratchKey;
import io.multihead.internal.exec.Workspace;
import io.multihead.internal.kernel.Exp;
import io.multihead.internal.kernel.Lanes;
import io.multihead.internal.kernel.Packer;
import io.multihead.internal.kernel.RowOps;
import io.multihead.tensor.Tensor;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** One call of the softmax, its rows divided into units. */
final class SoftmaxCall extends Operation implements LoopBody {
    private static final int UNITS_PER_THREAD = 4;
    private static final FloatsKey ROW = new FloatsKey();
    private static final FloatsKey STAGING = new FloatsKey();
    private static final ScratchKey<MaskPlan.Place> PLACE = ScratchKey.of(MaskPlan.Place::new);
    private static final FloatsKey SUM = new FloatsKey();

    final MaskPlan mask = new MaskPlan();
    private final long[] sizes = new long[3];
    private @Nullable Tensor scores;
    private @Nullable Tensor output;
    private @Nullable Tensor logSumExp;
    private boolean logarithm;
    private float scale;
    private int keys;
    private long rows;
    private long rowsPerUnit;

    void bind(
            Tensor newScores,
            Tensor newOutput,
            @Nullable Tensor newLogSumExp,
            AttentionOptions options,
            boolean newLogarithm) {
        scores = newScores;
        output = newOutput;
        logSumExp = newLogSumExp;
        logarithm = newLogarithm;
        scale = (float) options.scaleFor(1);
        keys = (int) newScores.dim(-1);
        rows = 1;
        for (int axis = 0; axis < 3; axis++) {
            int own = axis - (4 - newScores.rank());
            sizes[axis] = own < 0 ? 1 : newScores.dim(own);
            rows *= sizes[axis];
        }
        mask.bind(options.mask(), sizes[0], sizes[1], sizes[2], keys);
    }

    void run() {
        run(this, divide(parallelism()));
    }

    private long divide(int threads) {
        rowsPerUnit = Math.max(1, Math.ceilDiv(rows, threads == 1 ? 1 : (long) threads * UNITS_PER_THREAD));
        return Math.ceilDiv(rows, rowsPerUnit);
    }

    @Override
    public void run(long unit, Workspace scratch) {
        int padded = Lanes.roundUp(keys, PANEL);
        float[] row = scratch.floats(ROW, padded);
        float[] staging = scratch.floats(STAGING, padded);
        float[] sum = scratch.floats(SUM, PANEL);
        MaskPlan.Place place = scratch.get(PLACE);
        for (long r = unit * rowsPerUnit; r < Math.min(rows, (unit + 1) * rowsPerUnit); r++) {
            long batch = r / sizes[2] / sizes[1];
            long head = r / sizes[2] % sizes[1];
            long query = r % sizes[2];
            place.set(batch, head, query, 0);
            long end = mask.end(batch, keys);
            long offset = mask.offset(batch, sizes[2], end);
            load(
                    scratch.packer(),
                    row,
                    staging,
                    place,
                    mask.firstKey(query, offset),
                    mask.visibleKeys(query, offset, end),
                    start(Checks.notNull(scores, "scores"), batch, head, query));
            float max = RowOps.max(row, 0, padded);
            Arrays.fill(sum, 0, PANEL, 0f);
            float shift = max == Float.NEGATIVE_INFINITY ? 0f : max;
            if (logarithm) {
                System.arraycopy(row, 0, staging, 0, padded);
            }
            Exp.shifted(row, 0, padded, 1f, shift, sum, 0, 0f);
            float total = RowOps.total(sum, 0);
            finish(row, staging, padded, shift, total);
            Tensor to = Checks.notNull(output, "output");
            scratch.packer().write(row, 0, 0, 1, keys, to, start(to, batch, head, query), 0, to.stride(-1));
            if (logSumExp != null) {
                logSumExp.setAt(start(logSumExp, batch, head, query), max + Math.log(total));
            }
        }
    }

    private void load(
            Packer packer, float[] row, float[] staging, MaskPlan.Place place, long first, long limit, long at) {
        Tensor from = Checks.notNull(scores, "scores");
        int padded = Lanes.roundUp(keys, PANEL);
        packer.read(from, at, 0, from.stride(-1), 1, keys, row, 0, padded);
        RowOps.scale(row, 0, padded, scale);
        int visible = (int) Math.min(keys, limit);
        if (visible > 0 && mask.hasTensors()) {
            mask.apply(packer, row, 0, staging, place, visible);
        }
        Arrays.fill(row, 0, (int) Math.min(first, visible), Float.NEGATIVE_INFINITY);
        Arrays.fill(row, visible, padded, Float.NEGATIVE_INFINITY);
    }

    private void finish(float[] row, float[] shifted, int padded, float shift, float total) {
        if (!logarithm) {
            if (total != 0f) {
                RowOps.divide(row, 0, padded, total);
            }
            return;
        }
        float log = total == 0f ? 0f : (float) Math.log(total);
        for (int i = 0; i < keys; i++) {
            row[i] = (shifted[i] - shift) - log;
        }
    }

    /** Position of a row; the last axis of scores and output is left out by its index 0. */
    private long start(Tensor tensor, long batch, long head, long query) {
        int axes = scores == null ? 0 : scores.rank() - 1;
        long at = tensor.offset();
        at += axes > 0 ? query * tensor.stride(axes - 1) : 0;
        at += axes > 1 ? head * tensor.stride(axes - 2) : 0;
        at += axes > 2 ? batch * tensor.stride(axes - 3) : 0;
        return at;
    }

    /** Forgets the caller's tensors. */
    @Override
    protected void clear() {
        mask.clear();
        scores = null;
        output = null;
        logSumExp = null;
    }
}
