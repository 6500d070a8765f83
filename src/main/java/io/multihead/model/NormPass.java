package io.multihead.model;

import static io.multihead.internal.kernel.Lanes.PANEL;

import io.multihead.compute.Compute;
import io.multihead.internal.call.RowLoop;
import io.multihead.internal.exec.FloatsKey;
import io.multihead.internal.exec.Workspace;
import io.multihead.internal.kernel.RowOps;
import io.multihead.internal.nn.RowNorm;
import org.jspecify.annotations.Nullable;

/** The steps between the products of a block: residual connections and normalizations, in one pass over the rows. */
final class NormPass extends RowLoop {
    private static final FloatsKey ROW = new FloatsKey();
    private static final FloatsKey PARTIAL = new FloatsKey();

    private final float[] states;
    private final float[] updates;
    private final float[] results;
    private final int dim;
    private final int stride;

    private float @Nullable [] added;
    private boolean updating;
    private int @Nullable [] from;
    private @Nullable RowNorm after;
    private @Nullable RowNorm sum;
    private @Nullable RowNorm before;

    /**
     * Creates a pass.
     *
     * @param states the states, which the pass changes
     * @param updates the inputs of parts, and the results of parts that read states
     * @param results the results of the other parts
     */
    NormPass(float[] states, float[] updates, float[] results, StateLayout layout) {
        this.states = states;
        this.updates = updates;
        this.results = results;
        dim = layout.dim();
        stride = layout.floats();
    }

    /** Sets the step {@code state = sum(state + after(result))}; norms may be null. */
    void add(boolean ofResults, @Nullable RowNorm newAfter, @Nullable RowNorm newSum) {
        added = ofResults ? results : updates;
        after = newAfter;
        sum = newSum;
    }

    /** Sets the next step {@code update = before(state)}. Without a norm, it is a copy. */
    NormPass read(@Nullable RowNorm newBefore) {
        updating = true;
        before = newBefore;
        return this;
    }

    /** Runs the steps that were set since the last run, if any. */
    void run(Compute cpu, int rows) {
        try {
            if (added != null || updating) {
                run(cpu, rows, stride);
            }
        } finally {
            added = null;
            updating = false;
        }
    }

    /** Computes {@code update[i] = norm(state[rows[i]])}. Without a norm, it is a copy. */
    void gather(Compute cpu, int[] rows, @Nullable RowNorm by) {
        from = rows;
        try {
            read(by).run(cpu, rows.length);
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
            if (added != null) {
                System.arraycopy(added, at, row, 0, dim);
                apply(after, row, partial);
                RowOps.add(row, 0, stride, states, at);
                apply(sum, row, partial);
                System.arraycopy(row, 0, states, at, dim);
            } else {
                System.arraycopy(states, at, row, 0, dim);
            }
            if (updating) {
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
