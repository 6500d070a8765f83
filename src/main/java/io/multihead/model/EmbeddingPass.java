package io.multihead.model;

import static io.multihead.internal.kernel.Lanes.PANEL;

import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.internal.call.RowLoop;
import io.multihead.internal.exec.FloatsKey;
import io.multihead.internal.exec.Workspace;
import org.jspecify.annotations.Nullable;

/** Writes the embeddings of tokens to the states. */
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
            run(cpu, tokens.tokens(), stride);
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
            from.read(scratch.packer(), of.id(token), of.type(token), of.position(token), row, second);
            Norm norm = from.norm();
            if (norm != null) {
                norm.row().apply(row, partial);
            }
            System.arraycopy(row, 0, states, token * stride, dim);
        }
    }
}
