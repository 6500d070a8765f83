package io.multihead.model;

import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.internal.call.RowLoop;
import io.multihead.internal.exec.FloatsKey;
import io.multihead.internal.exec.Workspace;
import io.multihead.internal.kernel.ActivationOps;
import io.multihead.internal.kernel.Silu;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Multiplies the context of each head of attention by the sigmoids of its gates, and by a factor for each head, in place. Factor 0 drops a
 * head, even if its values are NaN or infinite.
 */
final class ContextPass extends RowLoop {
    private static final FloatsKey GATES = new FloatsKey();
    private static final FloatsKey BUFFER = new FloatsKey();

    private float[] rows = new float[0];
    private float @Nullable [] factors;
    private @Nullable AttentionLayout layout;
    /** The index of the first row in the buffer. */
    private int start;

    /** Changes rows. Without factors, it applies only the gates. */
    void run(Compute cpu, float[] buffer, AttentionLayout newLayout, float @Nullable [] newFactors, int tokens) {
        rows = buffer;
        factors = newFactors;
        layout = newLayout;
        start = tokens * newLayout.stride();
        try {
            run(cpu, tokens, newLayout.contextWidth());
        } finally {
            layout = null;
        }
    }

    @Override
    protected void rows(long first, long end, Workspace scratch) {
        AttentionLayout of = Checks.notNull(layout, "layout");
        int stride = PartLayout.stride(of.contextWidth());
        for (int token = (int) first; token < end; token++) {
            int at = start + token * stride;
            for (int head = 0; head < of.heads(); head++) {
                int context = at + head * of.valueDim();
                if (of.gated()) {
                    int gates = token * of.stride() + head * of.queryStep() + of.headDim();
                    gate(scratch, context, gates, of.valueDim());
                }
                if (factors != null) {
                    multiply(context, of.valueDim(), factors[head]);
                }
            }
        }
    }

    private void gate(Workspace scratch, int at, int gates, int count) {
        int padded = PartLayout.stride(count);
        float[] row = scratch.floats(GATES, padded);
        System.arraycopy(rows, gates, row, 0, count);
        Arrays.fill(row, count, padded, 0f);
        Silu.sigmoid(row, 0, padded, scratch.floats(BUFFER, ActivationOps.bufferLength(padded)));
        for (int i = 0; i < count; i++) {
            rows[at + i] *= row[i];
        }
    }

    private void multiply(int at, int count, float factor) {
        if (factor == 0f) {
            Arrays.fill(rows, at, at + count, 0f);
            return;
        }
        for (int i = at; i < at + count; i++) {
            rows[i] *= factor;
        }
    }
}
