package io.multihead.internal.nn;

import static io.multihead.internal.kernel.Lanes.PANEL;

import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.internal.call.RowLoop;
import io.multihead.internal.call.SingleCall;
import io.multihead.internal.exec.FloatsKey;
import io.multihead.internal.exec.ScratchKey;
import io.multihead.internal.exec.Workspace;
import io.multihead.internal.kernel.Lanes;
import io.multihead.internal.kernel.Norm;
import io.multihead.tensor.Tensor;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** A forward call of a normalization. */
public final class NormForward extends RowLoop {
    private static final ScratchKey<NormForward> CALL = ScratchKey.of(NormForward::new);
    private static final FloatsKey ROW = new FloatsKey();
    static final FloatsKey PARTIAL = new FloatsKey();
    static final FloatsKey WEIGHT = new FloatsKey();
    private static final FloatsKey BIAS = new FloatsKey();

    private final RowView x = new RowView();
    private final RowView y = new RowView();
    private final RowView weight = new RowView();
    private final RowView bias = new RowView();
    private @Nullable Normalization norm;
    private int length;

    private NormForward() {}

    /** Normalizes the rows of x into y; everything has been checked. */
    public static void run(Compute cpu, Normalization norm, Tensor x, Tensor y) {
        try (SingleCall running = SingleCall.open(cpu)) {
            NormForward call = running.workspace().get(CALL);
            try {
                call.bind(norm, x, y);
                call.run(running, cpu, call.x.count());
            } finally {
                call.clear();
            }
        }
    }

    private void bind(Normalization by, Tensor from, Tensor to) {
        norm = by;
        int axes = by.shape().rank();
        x.bind(from, axes);
        y.bind(to, axes);
        bind(weight, by.weight(), axes);
        bind(bias, by.bias(), axes);
        length = (int) x.length();
    }

    private static void bind(RowView view, @Nullable Tensor parameter, int axes) {
        if (parameter != null) {
            view.bind(parameter, axes);
        }
    }

    private void clear() {
        norm = null;
        x.clear();
        y.clear();
        weight.clear();
        bias.clear();
    }

    @Override
    protected void rows(long first, long end, Workspace scratch) {
        Normalization by = Checks.notNull(norm, "norm");
        int padded = Lanes.roundUp(length, PANEL);
        float[] row = scratch.floats(ROW, RowView.bufferLength(length));
        float[] partial = scratch.floats(PARTIAL, PANEL);
        float[] factors = parameter(by.weight() == null ? null : weight, length, 1f, scratch, WEIGHT);
        float[] addends = parameter(by.bias() == null ? null : bias, length, 0f, scratch, BIAS);
        for (long r = first; r < end; r++) {
            x.read(scratch.packer(), r, row);
            float factor = normalize(by, row, length, partial);
            Norm.affine(row, padded, factor, factors, addends);
            y.write(scratch.packer(), r, row);
        }
    }

    /** Returns a parameter as one row, or a constant if there is none. */
    static float[] parameter(
            @Nullable RowView parameter, int length, float otherwise, Workspace scratch, FloatsKey key) {
        float[] row = scratch.floats(key, RowView.bufferLength(length));
        if (parameter == null) {
            Arrays.fill(row, 0, length, otherwise);
            Arrays.fill(row, length, RowView.bufferLength(length), 0f);
        } else {
            parameter.read(scratch.packer(), 0, row);
        }
        return row;
    }

    /** Subtracts the mean if the layer subtracts it, and returns the remaining factor of the row. */
    static float normalize(Normalization norm, float[] row, int length, float[] partial) {
        return Norm.standardize(row, length, norm.centered(), norm.epsilon(), partial);
    }
}
