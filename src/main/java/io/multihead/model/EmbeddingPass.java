package io.multihead.model;

import static io.multihead.internal.kernel.Lanes.PANEL;

import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.internal.call.RowLoop;
import io.multihead.internal.exec.FloatsKey;
import io.multihead.internal.exec.Workspace;
import io.multihead.internal.kernel.RowOps;
import io.multihead.internal.layout.Packer;
import io.multihead.internal.layout.Positions;
import io.multihead.tensor.Tensor;
import org.jspecify.annotations.Nullable;

/** States become the embeddings of tokens. */
final class EmbeddingPass extends RowLoop {
    private static final FloatsKey ROW = new FloatsKey();
    private static final FloatsKey SECOND = new FloatsKey();
    private static final FloatsKey PARTIAL = new FloatsKey();

    private final float[] states;
    private final int dim;
    private final int stride;
    private @Nullable EmbeddingTables tables;
    private @Nullable TokenBatch batch;

    EmbeddingPass(float[] states, StateLayout layout) {
        this.states = states;
        dim = layout.dim();
        stride = layout.floats();
    }

    void run(Compute cpu, EmbeddingTables from, TokenBatch tokens) {
        tables = from;
        batch = tokens;
        try {
            run(cpu, tokens.tokens());
        } finally {
            tables = null;
            batch = null;
        }
    }

    @Override
    protected void rows(long first, long end, Workspace scratch) {
        EmbeddingTables from = Checks.notNull(tables, "tables");
        TokenBatch of = Checks.notNull(batch, "batch");
        float[] row = scratch.floats(ROW, stride);
        float[] second = scratch.floats(SECOND, stride);
        float[] partial = scratch.floats(PARTIAL, PANEL);
        for (int token = (int) first; token < end; token++) {
            read(scratch.packer(), from.words(), of.id(token), row);
            if (from.scale() != 1f) {
                RowOps.scale(row, 0, stride, from.scale());
            }
            add(scratch.packer(), from.types(), 0, row, second);
            add(scratch.packer(), from.positions(), of.position(token), row, second);
            Norm norm = from.norm();
            if (norm != null) {
                norm.row().apply(row, partial);
            }
            System.arraycopy(row, 0, states, token * stride, dim);
        }
    }

    private void add(Packer packer, @Nullable Tensor table, long index, float[] row, float[] second) {
        if (table != null) {
            read(packer, table, index, second);
            RowOps.add(row, 0, stride, second, 0);
        }
    }

    private void read(Packer packer, Tensor table, long index, float[] row) {
        packer.read(table, Positions.of(table, index), 0, table.stride(1), 1, dim, row, 0, 0);
    }
}
