package io.multihead.nn;

import static io.multihead.internal.kernel.Lanes.PANEL;

import io.multihead.internal.exec.FloatsKey;
import io.multihead.internal.exec.LoopBody;
import io.multihead.internal.exec.Workspace;
import io.multihead.internal.kernel.Lanes;
import io.multihead.internal.kernel.Norm;
import io.multihead.tensor.Tensor;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** One forward call of a normalisation, its rows divided into units. */
final class NormForward implements LoopBody {
    private static final int UNITS_PER_THREAD = 4;
    private static final FloatsKey ROW = new FloatsKey();
    static final FloatsKey PARTIAL = new FloatsKey();
    static final FloatsKey WEIGHT = new FloatsKey();
    private static final FloatsKey BIAS = new FloatsKey();

    private final NormLayer layer;
    private final Rows x;
    private final Rows y;
    private final int length;
    private final long rowsPerUnit;

    NormForward(NormLayer layer, Tensor x, Tensor y, int threads) {
        this.layer = layer;
        this.x = layer.rows(x);
        this.y = layer.rows(y);
        this.length = (int) this.x.length();
        this.rowsPerUnit =
                Math.max(1, Math.ceilDiv(this.x.count(), threads == 1 ? 1 : (long) threads * UNITS_PER_THREAD));
    }

    long units() {
        return Math.ceilDiv(x.count(), rowsPerUnit);
    }

    @Override
    public void run(long unit, Workspace scratch) {
        int padded = Lanes.roundUp(length, PANEL);
        float[] row = scratch.floats(ROW, Rows.room(length));
        float[] partial = scratch.floats(PARTIAL, PANEL);
        float[] weight = parameter(layer, NormLayer.WEIGHT, 1f, scratch, WEIGHT);
        float[] bias = parameter(layer, NormLayer.BIAS, 0f, scratch, BIAS);
        for (long r = unit * rowsPerUnit; r < Math.min(x.count(), (unit + 1) * rowsPerUnit); r++) {
            x.read(scratch.packer(), r, row);
            float factor = normalise(layer, row, length, partial);
            Norm.affine(row, padded, factor, weight, bias);
            y.write(scratch.packer(), r, row);
        }
    }

    /** A parameter as one row, or a constant where there is none. */
    static float[] parameter(NormLayer layer, String name, float otherwise, Workspace scratch, FloatsKey key) {
        int length = (int) layer.normalized.elements();
        float[] row = scratch.floats(key, Rows.room(length));
        @Nullable Tensor tensor = layer.parameters.get(name);
        if (tensor == null) {
            Arrays.fill(row, 0, length, otherwise);
            Arrays.fill(row, length, Rows.room(length), 0f);
        } else {
            layer.rows(tensor).read(scratch.packer(), 0, row);
        }
        return row;
    }

    /** Subtracts the mean if the layer does, and returns what the row is still to be multiplied with. */
    static float normalise(NormLayer layer, float[] row, int length, float[] partial) {
        return Norm.standardize(row, length, layer.centred, layer.epsilon, partial);
    }
}
