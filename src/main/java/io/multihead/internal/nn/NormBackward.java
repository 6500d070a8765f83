package io.multihead.internal.nn;

import static io.multihead.internal.kernel.Lanes.PANEL;

import io.multihead.compute.Compute;
import io.multihead.internal.call.SingleCall;
import io.multihead.internal.exec.FloatsKey;
import io.multihead.internal.exec.LoopBody;
import io.multihead.internal.exec.Workspace;
import io.multihead.internal.kernel.Lanes;
import io.multihead.internal.kernel.Norm;
import io.multihead.internal.kernel.RowOps;
import io.multihead.tensor.Tensor;
import java.util.Arrays;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * One backward call of a normalization: with {@code z = (x - mean) / deviation} and {@code g = dy weight},
 * {@code dx = (g - mean(g) - z mean(g z)) / deviation}, {@code dweight += sum dy z}, {@code dbias += sum dy}. The terms of the mean are
 * missing if the layer subtracts no mean (Ba et al. 2016, "Layer normalization"; Zhang and Sennrich 2019).
 *
 * <p>Parameter gradients are summed in an order that depends only on the number of rows: chains of 64 rows, added up by unit of consecutive
 * rows, and units in ascending order.
 */
public final class NormBackward implements LoopBody {
    private static final int MOST_UNITS = 64;
    private static final int LEAST_ROWS = 8;
    private static final int CHAIN_ROWS = 64;
    /** The largest number of floats of the units' sums, unless a single unit needs more. */
    private static final long MOST_FLOATS = 1L << 26;

    private static final FloatsKey ROW = new FloatsKey();
    private static final FloatsKey GRADIENT = new FloatsKey();
    private static final FloatsKey CHAIN = new FloatsKey();
    private static final FloatsKey SUMS = new FloatsKey();

    private final Normalization norm;
    private final RowView x;
    private final RowView dy;
    private final @Nullable RowView dx;
    private final @Nullable RowView weightRow;
    private final @Nullable Tensor weightGradient;
    private final @Nullable Tensor biasGradient;
    private final int length;
    private final int padded;
    private final long rowsPerUnit;
    private float[] sums = new float[0];

    private NormBackward(Normalization norm, Tensor x, Tensor dy, @Nullable Tensor dx, Map<String, Tensor> gradients) {
        this.norm = norm;
        this.x = norm.rows(x);
        this.dy = norm.rows(dy);
        this.dx = dx == null ? null : norm.rows(dx);
        Tensor weight = norm.weight();
        this.weightRow = weight == null ? null : norm.rows(weight);
        this.weightGradient = weight == null ? null : gradients.get(Normalization.WEIGHT);
        this.biasGradient = norm.bias() == null ? null : gradients.get(Normalization.BIAS);
        this.length = (int) this.x.length();
        this.padded = Lanes.roundUp(length, PANEL);
        long units = Math.clamp(MOST_FLOATS / (2L * padded), 1, MOST_UNITS);
        this.rowsPerUnit = Math.max(LEAST_ROWS, Math.ceilDiv(this.x.count(), units));
    }

    /**
     * Computes the gradients; everything has been checked.
     *
     * @param dx written; null if not needed
     * @param gradients the gradients of {@link Normalization#WEIGHT} and {@link Normalization#BIAS}, which are added to if present
     */
    public static void run(
            Compute cpu, Normalization norm, Tensor x, Tensor dy, @Nullable Tensor dx, Map<String, Tensor> gradients) {
        NormBackward call = new NormBackward(norm, x, dy, dx, gradients);
        try (SingleCall running = SingleCall.open(cpu)) {
            call.bind(running.workspace());
            running.loop(call, call.units());
            call.addGradients(running.workspace());
        }
    }

    private boolean sumsParameters() {
        return weightGradient != null || biasGradient != null;
    }

    private long units() {
        return Math.ceilDiv(x.count(), rowsPerUnit);
    }

    /** Allocates the tasks' sums from the calling thread's workspace. */
    private void bind(Workspace scratch) {
        if (sumsParameters()) {
            sums = scratch.floats(SUMS, (int) (units() * 2 * padded));
        }
    }

    @Override
    public void run(long unit, Workspace scratch) {
        float[] row = scratch.floats(ROW, RowView.bufferLength(length));
        float[] gradient = scratch.floats(GRADIENT, RowView.bufferLength(length));
        float[] partial = scratch.floats(NormForward.PARTIAL, PANEL);
        float[] chain = scratch.floats(CHAIN, sumsParameters() ? 2 * padded : 0);
        float[] weight = NormForward.parameter(weightRow, length, 1f, scratch, NormForward.WEIGHT);
        int sum = (int) unit * 2 * padded;
        if (sumsParameters()) {
            Arrays.fill(sums, sum, sum + 2 * padded, 0f);
            Arrays.fill(chain, 0, 2 * padded, 0f);
        }
        long first = unit * rowsPerUnit;
        long last = Math.min(x.count(), first + rowsPerUnit) - 1;
        for (long r = first; r <= last; r++) {
            x.read(scratch.packer(), r, row);
            float factor = NormForward.normalize(norm, row, length, partial);
            RowOps.scale(row, 0, padded, factor);
            dy.read(scratch.packer(), r, gradient);
            if (sumsParameters()) {
                Norm.addProduct(chain, 0, gradient, row, padded);
                RowOps.add(chain, padded, padded, gradient, 0);
                if (r == last || (r - first) % CHAIN_ROWS == CHAIN_ROWS - 1) {
                    RowOps.add(sums, sum, 2 * padded, chain, 0);
                    Arrays.fill(chain, 0, 2 * padded, 0f);
                }
            }
            if (dx != null) {
                float slope = Norm.weigh(gradient, weight, row, padded, partial) / length;
                float mean = norm.centered() ? Norm.sum(gradient, padded, partial) / length : 0f;
                Norm.project(gradient, row, padded, factor, mean, slope);
                dx.write(scratch.packer(), r, gradient);
            }
        }
    }

    /** Adds the tasks' sums to the parameters' gradients, on the calling thread. */
    private void addGradients(Workspace scratch) {
        for (int unit = 1; sumsParameters() && unit < units(); unit++) {
            RowOps.add(sums, 0, 2 * padded, sums, unit * 2 * padded);
        }
        add(weightGradient, 0, scratch);
        add(biasGradient, padded, scratch);
    }

    private void add(@Nullable Tensor gradient, int from, Workspace scratch) {
        if (gradient != null && units() > 0) {
            float[] row = scratch.floats(ROW, RowView.bufferLength(length));
            RowView rows = norm.rows(gradient);
            rows.read(scratch.packer(), 0, row);
            RowOps.add(row, 0, padded, sums, from);
            rows.write(scratch.packer(), 0, row);
        }
    }
}
