package io.multihead.model;

import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.internal.call.RowLoop;
import io.multihead.internal.exec.FloatsKey;
import io.multihead.internal.exec.Workspace;
import io.multihead.internal.layout.Positions;
import io.multihead.tensor.Tensor;
import org.jspecify.annotations.Nullable;

/** Multiplies the inner elements of each token by the sigmoid of a weighted sum of the layer's input, which is computed in double. */
final class TokenGatePass extends RowLoop {
    private static final FloatsKey ROW = new FloatsKey();

    private float[] rows = new float[0];
    private float[] weights = new float[0];
    private int stride;
    private int inner;
    private @Nullable Tensor read;

    void run(Compute cpu, Tensor x, float[] newWeights, float[] buffer, FeedForwardLayout layout) {
        rows = buffer;
        weights = newWeights;
        stride = layout.floats();
        inner = layout.inner();
        read = x;
        try {
            run(cpu, x.dim(0), (long) weights.length + inner);
        } finally {
            read = null;
        }
    }

    @Override
    protected void rows(long first, long end, Workspace scratch) {
        Tensor x = Checks.notNull(read, "x");
        float[] row = scratch.floats(ROW, PartLayout.stride(weights.length));
        for (int token = (int) first; token < end; token++) {
            scratch.packer().read(x, Positions.of(x, token, 0), 0, x.stride(1), 1, weights.length, row, 0, 0);
            double sum = 0;
            for (int i = 0; i < weights.length; i++) {
                sum += (double) weights[i] * row[i];
            }
            float factor = (float) (1 / (1 + StrictMath.exp(-sum)));
            for (int i = token * stride; i < token * stride + inner; i++) {
                rows[i] *= factor;
            }
        }
    }
}
