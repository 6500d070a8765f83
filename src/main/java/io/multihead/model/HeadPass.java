package io.multihead.model;

import static io.multihead.internal.kernel.Lanes.PANEL;

import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.internal.call.RowLoop;
import io.multihead.internal.exec.FloatsKey;
import io.multihead.internal.exec.Workspace;
import io.multihead.internal.nn.RowNorm;
import io.multihead.position.Rope;
import org.jspecify.annotations.Nullable;

/** Normalizes and rotates the queries and keys of each token, in place and in one pass, and normalizes the values, or copies of the keys. */
final class HeadPass extends RowLoop {
    private static final FloatsKey ROW = new FloatsKey();
    private static final FloatsKey PARTIAL = new FloatsKey();

    private @Nullable AttentionLayout layout;
    private @Nullable TokenBatch batch;
    private float[] rows = new float[0];
    private @Nullable RowNorm queryNorm;
    private @Nullable RowNorm keyNorm;
    private @Nullable RowNorm valueNorm;
    private @Nullable Rope rope;

    /** Sets the steps; null for omitted steps. */
    HeadPass bind(HeadNorms norms, @Nullable Rope newRope) {
        queryNorm = Norm.row(norms.queries());
        keyNorm = Norm.row(norms.keys());
        valueNorm = Norm.row(norms.values());
        rope = newRope;
        return this;
    }

    /** Changes the rows of a batch, whose positions have been computed. */
    void run(Compute cpu, float[] buffer, AttentionLayout newLayout, TokenBatch newBatch) {
        if (queryNorm == null && keyNorm == null && valueNorm == null && rope == null && !newLayout.keysAreValues()) {
            return;
        }
        rows = buffer;
        layout = newLayout;
        batch = newBatch;
        try {
            run(cpu, newBatch.tokens(), newLayout.stride());
        } finally {
            layout = null;
            batch = null;
        }
    }

    @Override
    protected void rows(long first, long end, Workspace scratch) {
        AttentionLayout of = Checks.notNull(layout, "layout");
        TokenBatch tokens = Checks.notNull(batch, "batch");
        for (int token = (int) first; token < end; token++) {
            int at = token * of.stride();
            long position = tokens.position(token);
            change(scratch, queryNorm, at, of.heads(), of.headDim(), of.queryStep(), position);
            if (!of.shared()) {
                int keys = at + of.queryWidth();
                if (of.keysAreValues()) {
                    System.arraycopy(rows, keys, rows, keys + of.keyWidth(), of.valueWidth());
                }
                change(scratch, keyNorm, keys, of.keyValueHeads(), of.headDim(), of.headDim(), position);
                normalize(scratch, valueNorm, keys + of.keyWidth(), of.keyValueHeads(), of.valueDim(), of.valueDim());
            }
        }
    }

    private void change(
            Workspace scratch, @Nullable RowNorm norm, int at, int heads, int dim, int step, long position) {
        normalize(scratch, norm, at, heads, dim, step);
        for (int head = 0; rope != null && head < heads; head++) {
            rope.apply(rows, at + head * step, position);
        }
    }

    private void normalize(Workspace scratch, @Nullable RowNorm norm, int at, int heads, int dim, int step) {
        if (norm != null) { // a norm of each head, or of all heads as one row
            int next = norm.length() == dim ? step : norm.length();
            for (int from = at; from < at + heads * step; from += next) {
                normalize(scratch, norm, from);
            }
        }
    }

    private void normalize(Workspace scratch, RowNorm norm, int at) {
        float[] row = scratch.floats(ROW, PartLayout.stride(norm.length()));
        System.arraycopy(rows, at, row, 0, norm.length());
        norm.apply(row, scratch.floats(PARTIAL, PANEL));
        System.arraycopy(row, 0, rows, at, norm.length());
    }
}
