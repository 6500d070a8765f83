package io.multihead.model;

import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.internal.call.RowLoop;
import io.multihead.internal.exec.Workspace;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** Multiplies what each head of attention makes with a factor of its own, in place; 0 drops a head, whatever its values are. */
final class ContextPass extends RowLoop {
    private float[] rows = new float[0];
    private float[] factors = new float[0];
    private @Nullable AttentionLayout layout;
    /** Where the first row begins. */
    private int start;

    void run(Compute cpu, float[] buffer, AttentionLayout newLayout, float[] newFactors, int tokens) {
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
                multiply(at + head * of.valueDim(), of.valueDim(), factors[head]);
            }
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
