package io.multihead.model;

import io.multihead.compute.Compute;
import io.multihead.gemm.Activation;
import io.multihead.internal.call.RowLoop;
import io.multihead.internal.exec.FloatsKey;
import io.multihead.internal.exec.Workspace;
import io.multihead.internal.kernel.ActivationOps;
import io.multihead.internal.kernel.RowOps;
import io.multihead.internal.kernel.Silu;
import java.util.Arrays;

/**
 * Computes {@code gate = act(gate) up}, or the function of {@link FeedForward#clamped}, a chunk of a row at a time, so that the activation's
 * result is multiplied while it is in L1.
 */
final class GatePass extends RowLoop {
    private static final int CHUNK = 1024;
    private static final FloatsKey GATE = new FloatsKey();
    private static final FloatsKey UP = new FloatsKey();
    private static final FloatsKey BUFFER = new FloatsKey();

    private float[] rows = new float[0];
    private Gate gateRule = Gate.of(Activation.NONE);
    private int start;
    private int inner;
    private int stride;
    private int chunks;

    /** Changes {@code tokens} rows, which begin at index {@code at} of the buffer. */
    void run(Compute cpu, float[] buffer, int at, FeedForwardLayout layout, Gate rule, int tokens) {
        rows = buffer;
        start = at;
        gateRule = rule;
        inner = layout.inner();
        stride = layout.floats();
        chunks = Math.ceilDiv(inner, CHUNK);
        run(cpu, (long) tokens * chunks, CHUNK);
    }

    @Override
    protected void rows(long first, long end, Workspace scratch) {
        float[] gate = scratch.floats(GATE, CHUNK);
        float[] up = scratch.floats(UP, CHUNK);
        float[] buffer = scratch.floats(BUFFER, ActivationOps.bufferLength(CHUNK));
        for (long chunk = first; chunk < end; chunk++) {
            int column = (int) (chunk % chunks) * CHUNK;
            int columns = Math.min(CHUNK, inner - column);
            int padded = PartLayout.stride(columns);
            int at = start + (int) (chunk / chunks) * stride + column;
            System.arraycopy(rows, at, gate, 0, columns);
            System.arraycopy(rows, at + inner, up, 0, columns);
            Arrays.fill(gate, columns, padded, 0f);
            Arrays.fill(up, columns, padded, 0f);
            if (gateRule.isClamped()) {
                clamp(gate, up, padded, gateRule.slope(), gateRule.limit());
            }
            apply(gate, padded, buffer);
            RowOps.multiply(gate, 0, padded, up, 0);
            System.arraycopy(gate, 0, rows, at, columns);
        }
    }

    /** Computes {@code g s(slope g)}, with the sigmoid s, as the SiLU of {@code slope g}, divided by the slope. */
    private static void clamp(float[] gate, float[] up, int length, float slope, float limit) {
        for (int i = 0; i < length; i++) {
            gate[i] = slope * Math.min(gate[i], limit);
            up[i] = (Math.max(-limit, Math.min(up[i], limit)) + 1f) / slope;
        }
    }

    private void apply(float[] row, int length, float[] buffer) {
        switch (gateRule.function()) {
            case NONE -> {}
            case RELU -> ActivationOps.relu(row, 0, length);
            case GELU -> ActivationOps.gelu(row, 0, length, buffer);
            case GELU_TANH -> ActivationOps.geluTanh(row, 0, length, buffer);
            case SILU -> Silu.apply(row, 0, length, buffer);
        }
    }
}
