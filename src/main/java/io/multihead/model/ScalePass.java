package io.multihead.model;

import io.multihead.compute.Compute;
import io.multihead.internal.call.RowLoop;
import io.multihead.internal.exec.Workspace;
import io.multihead.internal.kernel.RowOps;

/** Computes {@code state = scale state} for all rows. */
final class ScalePass extends RowLoop {
    private final float[] states;
    private final int stride;
    private float scale;

    ScalePass(float[] states, int stride) {
        this.states = states;
        this.stride = stride;
    }

    void scale(Compute cpu, int tokens, float newScale) {
        scale = newScale;
        run(cpu, tokens, stride);
    }

    @Override
    protected void rows(long first, long end, Workspace scratch) {
        RowOps.scale(states, (int) first * stride, (int) (end - first) * stride, scale);
    }
}
