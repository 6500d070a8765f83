package io.multihead.internal.nn;

import static io.multihead.internal.kernel.Lanes.PANEL;

import io.multihead.compute.Compute;
import io.multihead.internal.call.RowLoop;
import io.multihead.internal.exec.FloatsKey;
import io.multihead.internal.exec.Workspace;
import io.multihead.internal.kernel.Exp;
import io.multihead.internal.kernel.Lanes;
import io.multihead.internal.kernel.RowOps;
import io.multihead.tensor.Tensor;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** One call of the cross-entropy, whose rows are divided into tasks. */
public final class CrossEntropyCall extends RowLoop {
    private static final FloatsKey ROW = new FloatsKey();
    private static final FloatsKey SUM = new FloatsKey();

    private final RowView logits;
    private final @Nullable RowView gradient;
    private final int[] targets;
    private final int ignored;
    private final int counted;
    private final double[] losses;

    /**
     * Binds a call to checked tensors.
     *
     * @param gradient written; null if not needed
     * @param targets the target class of every row
     * @param ignored the target of ignored rows
     * @param counted the number of rows that are not ignored
     */
    public CrossEntropyCall(Tensor logits, @Nullable Tensor gradient, int[] targets, int ignored, int counted) {
        this.logits = RowView.of(logits, 1);
        this.gradient = gradient == null ? null : RowView.of(gradient, 1);
        this.targets = targets;
        this.ignored = ignored;
        this.counted = counted;
        this.losses = new double[targets.length];
    }

    public void run(Compute cpu) {
        run(cpu, targets.length);
    }

    @Override
    protected void rows(long first, long end, Workspace scratch) {
        int classes = (int) logits.length();
        int padded = Lanes.roundUp(classes, PANEL);
        float[] row = scratch.floats(ROW, RowView.bufferLength(classes));
        float[] sum = scratch.floats(SUM, PANEL);
        for (int r = (int) first; r < end; r++) {
            int target = targets[r];
            if (target == ignored) {
                Arrays.fill(row, 0, padded, 0f);
            } else {
                logits.read(scratch.packer(), r, row);
                Arrays.fill(row, classes, padded, Float.NEGATIVE_INFINITY);
                float max = RowOps.max(row, 0, padded);
                double right = (double) row[target] - max;
                Arrays.fill(sum, 0, PANEL, 0f);
                Exp.shifted(row, 0, padded, 1f, max, sum, 0, 0f);
                float total = RowOps.total(sum, 0);
                // StrictMath gives the same bits on every machine
                losses[r] = StrictMath.log(total) - right;
                if (gradient != null) {
                    RowOps.normalize(row, 0, padded, total);
                    row[target] -= 1f;
                    RowOps.divide(row, 0, padded, counted);
                }
            }
            if (gradient != null) {
                gradient.write(scratch.packer(), r, row);
            }
        }
    }

    /** Returns the sum of all rows' losses, in row order. */
    public double sum() {
        double sum = 0;
        for (double loss : losses) {
            sum += loss;
        }
        return sum;
    }
}
