package io.multihead.model;

import static io.multihead.internal.kernel.Lanes.PANEL;

import io.multihead.compute.Compute;
import io.multihead.internal.call.RowLoop;
import io.multihead.internal.exec.FloatsKey;
import io.multihead.internal.exec.Workspace;
import io.multihead.internal.kernel.RowOps;
import io.multihead.internal.nn.RowNorm;
import org.jspecify.annotations.Nullable;

/** What stands between the products of a block: residual connections and normalisations, in one pass over the rows. */
final class NormPass extends RowLoop {
    private static final FloatsKey ROW = new FloatsKey();
    private static final FloatsKey PARTIAL = new FloatsKey();

    private final float[] states;
    private final float[] updates;
    private final int dim;
    private final int stride;

    private boolean adds;
    private int @Nullable [] from;
    private @Nullable RowNorm after;
    private @Nullable RowNorm outer;
    private @Nullable RowNorm before;

    NormPass(float[] states, float[] updates, StateLayout layout) {
        this.states = states;
        this.updates = updates;
        dim = layout.dim();
        stride = layout.floats();
    }

    /**
     * {@code state = outer(state + after(update))} where {@code newAdds}, then {@code update = before(state)}; norms may be null, and without
     * {@code before} updates are left as they are.
     */
    void run(
            Compute cpu,
            int rows,
            boolean newAdds,
            @Nullable RowNorm newAfter,
            @Nullable RowNorm newOuter,
            @Nullable RowNorm newBefore) {
        adds = newAdds;
        after = newAfter;
        outer = newOuter;
        before = newBefore;
        if (adds || before != null) {
            run(cpu, rows, stride);
        }
    }

    /** {@code update[i] = norm(state[rows[i]])}; a copy without a norm. */
    void gather(Compute cpu, int[] rows, @Nullable RowNorm by) {
        adds = false;
        before = by;
        from = rows;
        try {
            run(cpu, rows.length, stride);
        } finally {
            from = null;
        }
    }

    @Override
    protected void rows(long first, long end, Workspace scratch) {
        float[] row = scratch.floats(ROW, stride);
        float[] partial = scratch.floats(PARTIAL, PANEL);
        for (int i = (int) first; i < end; i++) {
            int at = (from == null ? i : from[i]) * stride;
            if (adds) {
                System.arraycopy(updates, at, row, 0, dim);
                apply(after, row, partial);
                RowOps.add(row, 0, stride, states, at);
                apply(outer, row, partial);
                System.arraycopy(row, 0, states, at, dim);
            } else {
                System.arraycopy(states, at, row, 0, dim);
            }
            if (before != null || from != null) {
                apply(before, row, partial);
                System.arraycopy(row, 0, updates, i * stride, dim);
            }
        }
    }

    private static void apply(@Nullable RowNorm norm, float[] row, float[] partial) {
        if (norm != null) {
            norm.apply(row, partial);
        }
    }
}
