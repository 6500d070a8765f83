package io.multihead.model;

import static io.multihead.internal.kernel.Lanes.PANEL;

import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.internal.call.RowLoop;
import io.multihead.internal.exec.FloatsKey;
import io.multihead.internal.exec.Workspace;
import io.multihead.internal.kernel.RowOps;
import io.multihead.internal.layout.Positions;
import io.multihead.internal.nn.RowNorm;
import io.multihead.tensor.Tensor;
import org.jspecify.annotations.Nullable;

/** Computes {@code y = norm(x)} or {@code y += norm(x)} for the rows of two tensors. */
final class RowNormPass extends RowLoop {
    private static final FloatsKey ROW = new FloatsKey();
    private static final FloatsKey SUM = new FloatsKey();
    private static final FloatsKey PARTIAL = new FloatsKey();

    private @Nullable Tensor from;
    private @Nullable Tensor to;
    private @Nullable RowNorm norm;
    private boolean adds;

    void run(Compute cpu, Tensor x, Norm by, Tensor y, boolean isAdded) {
        from = x;
        to = y;
        norm = by.row();
        adds = isAdded;
        try {
            run(cpu, x.dim(0), by.dim());
        } finally {
            from = null;
            to = null;
            norm = null;
        }
    }

    /** Returns {@code norm(x)}, written to {@code buffer}, or {@code x} itself without a norm. */
    Tensor read(Compute cpu, Tensor x, @Nullable Norm by, Tensor buffer) {
        if (by == null) {
            return x;
        }
        run(cpu, x, by, buffer, false);
        return buffer;
    }

    @Override
    protected void rows(long first, long end, Workspace scratch) {
        Tensor x = Checks.notNull(from, "x");
        Tensor y = Checks.notNull(to, "y");
        RowNorm by = Checks.notNull(norm, "norm");
        int dim = by.length();
        int stride = PartLayout.stride(dim);
        float[] row = scratch.floats(ROW, stride);
        float[] partial = scratch.floats(PARTIAL, PANEL);
        for (int i = (int) first; i < end; i++) {
            scratch.packer().read(x, Positions.of(x, i, 0), 0, x.stride(1), 1, dim, row, 0, 0);
            by.apply(row, partial);
            long at = Positions.of(y, i, 0);
            if (adds) {
                float[] sum = scratch.floats(SUM, stride);
                scratch.packer().read(y, at, 0, y.stride(1), 1, dim, sum, 0, 0);
                RowOps.add(row, 0, stride, sum, 0);
            }
            scratch.packer().write(row, 0, 0, 1, dim, y, at, 0, y.stride(1));
        }
    }
}
