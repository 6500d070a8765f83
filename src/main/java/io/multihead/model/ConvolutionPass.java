package io.multihead.model;

import static io.multihead.internal.kernel.Lanes.PANEL;

import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.internal.call.RowLoop;
import io.multihead.internal.exec.FloatsKey;
import io.multihead.internal.exec.Workspace;
import io.multihead.internal.kernel.ActivationOps;
import io.multihead.internal.kernel.CausalConvolution;
import io.multihead.internal.kernel.Lanes;
import io.multihead.internal.kernel.RowOps;
import io.multihead.internal.kernel.Silu;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * A causal convolution over the rows of a batch, in place: {@code x = gate2 conv(gate1 x)}, or {@code x = silu(conv(x))}. A task computes some
 * channels of one sequence, in the order of its tokens. The last inputs of a sequence are its state.
 */
final class ConvolutionPass extends RowLoop {
    /** Channels of a task: its window, factors and gates stay in L1. */
    private static final int CHUNK = 8 * PANEL;

    private static final FloatsKey WINDOW = new FloatsKey();
    private static final FloatsKey ROW = new FloatsKey();
    private static final FloatsKey GATE = new FloatsKey();
    private static final FloatsKey BUFFER = new FloatsKey();

    private @Nullable Convolution of;
    private @Nullable TokenBatch batch;
    private float[] rows = new float[0];
    private float[][] states = {};
    private int at;
    private int stride;
    private int before = -1;
    private int after = -1;
    private boolean silu;
    private int chunks;

    /** Sets the location of the rows: the first channel of the first row, and the number of floats from one row to the next. */
    ConvolutionPass rows(float[] buffer, int newAt, int newStride) {
        rows = buffer;
        at = newAt;
        stride = newStride;
        before = -1;
        after = -1;
        silu = false;
        return this;
    }

    /** Sets the location of the gates of inputs and of results in a row. */
    ConvolutionPass gated(int newBefore, int newAfter) {
        before = newBefore;
        after = newAfter;
        return this;
    }

    /** Applies SiLU after the convolution. */
    ConvolutionPass withSilu() {
        silu = true;
        return this;
    }

    /** Changes the rows of a batch, and the states of its sequences, which {@link Buffers#takeStates} returned. */
    void run(Compute cpu, Convolution convolution, TokenBatch newBatch, float[][] newStates) {
        of = convolution;
        batch = newBatch;
        states = newStates;
        chunks = Math.ceilDiv(convolution.channels, CHUNK);
        try {
            run(cpu, (long) newBatch.sequences() * chunks, CHUNK * (long) newBatch.tokens());
        } finally {
            of = null;
            batch = null;
        }
    }

    @Override
    protected void rows(long first, long end, Workspace scratch) {
        for (long task = first; task < end; task++) {
            sequence((int) (task / chunks), (int) (task % chunks) * CHUNK, scratch);
        }
    }

    private void sequence(int sequence, int channel, Workspace scratch) {
        Convolution convolution = Checks.notNull(of, "of");
        TokenBatch tokens = Checks.notNull(batch, "batch");
        int taps = convolution.taps;
        int columns = Math.min(CHUNK, convolution.channels - channel);
        int padded = Lanes.roundUp(columns, PANEL);
        float[] window = scratch.floats(WINDOW, taps * CHUNK);
        float[] row = scratch.floats(ROW, CHUNK);
        float[] state = states[sequence];
        // scratch has arbitrary contents, such as subnormal numbers, whose sums in the padding would be slow
        Arrays.fill(window, 0, taps * CHUNK, 0f);
        for (int k = 0; k + 1 < taps; k++) {
            System.arraycopy(state, k * convolution.channels + channel, window, k * CHUNK, columns);
        }
        int newest = taps - 1;
        for (int token = tokens.start(sequence); token < tokens.start(sequence + 1); token++) {
            int from = token * stride;
            System.arraycopy(rows, from + at + channel, window, newest * CHUNK, columns);
            if (before >= 0) {
                multiply(window, newest * CHUNK, padded, from + before + channel, columns, scratch);
            }
            int oldest = newest + 1 == taps ? 0 : newest + 1;
            CausalConvolution.row(
                    window, CHUNK, oldest, taps, convolution.factors, channel, convolution.stride, padded, row, 0);
            if (convolution.bias != null) {
                RowOps.add(row, 0, padded, convolution.bias, channel);
            }
            if (silu) {
                Silu.apply(row, 0, padded, scratch.floats(BUFFER, ActivationOps.bufferLength(CHUNK)));
            }
            if (after >= 0) {
                multiply(row, 0, padded, from + after + channel, columns, scratch);
            }
            System.arraycopy(row, 0, rows, from + at + channel, columns);
            newest = oldest;
        }
        for (int k = 0; k + 1 < taps; k++) { // the next token takes the slot of the oldest token
            int slot = (newest + 1 + k) % taps;
            System.arraycopy(window, slot * CHUNK, state, k * convolution.channels + channel, columns);
        }
    }

    private void multiply(float[] to, int toAt, int padded, int gateAt, int columns, Workspace scratch) {
        float[] gate = scratch.floats(GATE, CHUNK);
        System.arraycopy(rows, gateAt, gate, 0, columns);
        Arrays.fill(gate, columns, padded, 0f);
        RowOps.multiply(to, toAt, padded, gate, 0);
    }
}
