package io.multihead.model;

import static io.multihead.internal.kernel.Lanes.PANEL;

import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.internal.call.RowLoop;
import io.multihead.internal.exec.FloatsKey;
import io.multihead.internal.exec.Workspace;
import io.multihead.internal.kernel.RowOps;
import io.multihead.tensor.Tensor;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** The rows of all layers of a call's tokens, as defined by {@link LayerEmbeddings}, and products with the rows of one layer. */
final class LayerRows extends RowLoop {
    private static final FloatsKey ROW = new FloatsKey();
    private static final FloatsKey SECOND = new FloatsKey();
    private static final FloatsKey SLICE = new FloatsKey();
    private static final FloatsKey PARTIAL = new FloatsKey();
    private static final float HALF_POWER = (float) (1 / Math.sqrt(2));

    private final StateLayout layout;
    private final float[] rows;
    private final PartViews views;
    private @Nullable LayerEmbeddings from;
    private @Nullable TokenBatch batch;
    /** Rows that are multiplied by the rows of one layer. */
    private float @Nullable [] gates;

    private int gateStride;
    private int first;
    private int dim;

    LayerRows(int capacity, int width) {
        layout = new StateLayout(width);
        rows = new float[Checks.product("capacity x layers", capacity, layout.floats())];
        views = new PartViews(rows, capacity);
    }

    /** Computes the rows of a batch from its embeddings. */
    void fill(Compute cpu, LayerEmbeddings newFrom, TokenBatch newBatch, Tensor states) {
        newFrom.projection().forward(cpu, states, views.get(layout, newBatch.tokens()));
        from = newFrom;
        batch = newBatch;
        try {
            run(cpu, newBatch.tokens(), layout.floats());
        } finally {
            from = null;
            batch = null;
        }
    }

    /** Multiplies rows by the rows of a layer. */
    void multiply(Compute cpu, float[] newGates, int stride, int layer, int newDim, int tokens) {
        gates = newGates;
        gateStride = stride;
        first = layer * newDim;
        dim = newDim;
        try {
            run(cpu, tokens, newDim);
        } finally {
            gates = null;
        }
    }

    @Override
    protected void rows(long begin, long end, Workspace scratch) {
        for (int token = (int) begin; token < end; token++) {
            float[] factors = gates;
            if (factors == null) {
                fill(token, scratch);
            } else {
                float[] slice = scratch.floats(SLICE, PartLayout.stride(dim));
                System.arraycopy(rows, token * layout.floats() + first, slice, 0, dim);
                Arrays.fill(slice, dim, PartLayout.stride(dim), 0f);
                RowOps.multiply(factors, token * gateStride, PartLayout.stride(dim), slice, 0);
            }
        }
    }

    private void fill(int token, Workspace scratch) {
        LayerEmbeddings of = Checks.notNull(from, "from");
        TokenBatch tokens = Checks.notNull(batch, "batch");
        int width = layout.floats();
        float[] row = scratch.floats(ROW, width);
        of.table()
                .read(
                        scratch.packer(),
                        tokens.id(token),
                        0,
                        tokens.position(token),
                        row,
                        scratch.floats(SECOND, width));
        float[] slice = scratch.floats(SLICE, PartLayout.stride(of.dim()));
        for (int at = 0; at < of.width(); at += of.dim()) {
            int in = token * width + at;
            System.arraycopy(rows, in, slice, 0, of.dim());
            Arrays.fill(slice, of.dim(), PartLayout.stride(of.dim()), 0f);
            of.norm().row().apply(slice, scratch.floats(PARTIAL, PANEL));
            for (int i = 0; i < of.dim(); i++) {
                rows[in + i] = (slice[i] + row[at + i]) * HALF_POWER;
            }
        }
    }
}
