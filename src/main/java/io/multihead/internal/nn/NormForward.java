package io.multihead.internal.nn;

import static io.multihead.internal.kernel.Lanes.PANEL;

import io.multihead.compute.Compute;
import io.multihead.internal.call.RowLoop;
import io.multihead.internal.exec.FloatsKey;
import io.multihead.internal.exec.Workspace;
import io.multihead.internal.kernel.Lanes;
import io.multihead.internal.kernel.Norm;
import io.multihead.tensor.Tensor;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** One forward call of a normalisation, its rows divided into tasks. */
public final class NormForward extends RowLoop {
    private static final FloatsKey ROW = new FloatsKey();
    static final FloatsKey PARTIAL = new FloatsKey();
    static final FloatsKey WEIGHT = new FloatsKey();
    private static final FloatsKey BIAS = new FloatsKey();

    private final Normalisation norm;
    private final RowView x;
    private final RowView y;
    private final int length;

    private NormForward(Normalisation norm, Tensor x, Tensor y) {
        this.norm = norm;
        this.x = norm.rows(x);
        this.y = norm.rows(y);
        this.length = (int) this.x.length();
    }

    /** Normalises the rows of x into y; everything has been checked. */
    public static void run(Compute cpu, Normalisation norm, Tensor x, Tensor y) {
        NormForward call = new NormForward(norm, x, y);
        call.run(cpu, call.x.count());
    }

    @Override
    protected void rows(long first, long end, Workspace scratch) {
        int padded = Lanes.roundUp(length, PANEL);
        float[] row = scratch.floats(ROW, RowView.room(length));
        float[] partial = scratch.floats(PARTIAL, PANEL);
        float[] weight = parameter(norm, norm.weight(), 1f, scratch, WEIGHT);
        float[] bias = parameter(norm, norm.bias(), 0f, scratch, BIAS);
        for (long r = first; r < end; r++) {
            x.read(scratch.packer(), r, row);
            float factor = normalise(norm, row, length, partial);
            Norm.affine(row, padded, factor, weight, bias);
            y.write(scratch.packer(), r, row);
        }
    }

    /** Returns a parameter as one row, or a constant where there is none. */
    static float[] parameter(
            Normalisation norm, @Nullable Tensor tensor, float otherwise, Workspace scratch, FloatsKey key) {
        int length = (int) norm.shape().elements();
        float[] row = scratch.floats(key, RowView.room(length));
        if (tensor == null) {
            Arrays.fill(row, 0, length, otherwise);
            Arrays.fill(row, length, RowView.room(length), 0f);
        } else {
            norm.rows(tensor).read(scratch.packer(), 0, row);
        }
        return row;
    }

    /** Subtracts the mean if the layer does, and returns what the row is still to be multiplied with. */
    static float normalise(Normalisation norm, float[] row, int length, float[] partial) {
        return Norm.standardize(row, length, norm.centred(), norm.epsilon(), partial);
    }
}
