package io.multihead.jmh.bench;

import io.multihead.compute.Compute;
import io.multihead.internal.kernel.StateSpace;
import io.multihead.jmh.data.Data;
import io.multihead.jmh.peer.Peer;
import java.nio.FloatBuffer;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Setup;

/** The recurrence of Mamba-2 of 32 columns of a state of 128 rows, in one thread, beside the same steps as scalar loops. */
public class StateSpaceBench extends Comparison {
    private static final int DEPTH = 128;
    private static final int COLUMNS = 32;
    private static final int STRIDE = 2 * DEPTH;

    @Param({"multihead", "scalar"})
    public String impl;

    @Param({"1", "64", "2048"})
    public int tokens;

    private float[] rows;
    private float[] values;
    private float[] gates;

    @Override
    public Work work() {
        return Work.operations(5.0 * tokens * DEPTH * COLUMNS);
    }

    @Setup(Level.Trial)
    public void open() {
        cpu = Compute.serial();
        rows = array(Data.gaussian(tokens * STRIDE, 1));
        values = array(Data.gaussian(tokens * COLUMNS, 2));
        gates = new float[tokens * StateSpace.GATES];
        for (int i = 0; i < gates.length; i++) {
            gates[i] = i % StateSpace.GATES == 0 ? 0.9f : 0.5f;
        }
        float[] expected = values.clone();
        scalar(new float[DEPTH * COLUMNS], expected);
        float[] buffer = new float[values.length];
        load(impl, () -> make(buffer));
        // states of some ten tokens that count, and sums of 128 products in another order
        Data.requireClose(impl, FloatBuffer.wrap(expected), FloatBuffer.wrap(buffer), 1e-4);
    }

    private Runnable make(float[] buffer) {
        float[] state = new float[DEPTH * COLUMNS];
        return switch (impl) {
            case "multihead" ->
                () -> {
                    System.arraycopy(values, 0, buffer, 0, buffer.length);
                    StateSpace.panel(tokens, state, 0, DEPTH, rows, 0, DEPTH, STRIDE, buffer, gates);
                };
            case "scalar" ->
                () -> {
                    System.arraycopy(values, 0, buffer, 0, buffer.length);
                    scalar(state, buffer);
                };
            default -> throw Peer.unknown(impl);
        };
    }

    /** Loops whose inner one runs along a row of the state, which the JVM makes vectors of. */
    private void scalar(float[] state, float[] outputs) {
        float[] output = new float[COLUMNS];
        for (int token = 0; token < tokens; token++) {
            float decay = gates[token * StateSpace.GATES];
            float rate = gates[token * StateSpace.GATES + 1];
            for (int j = 0; j < COLUMNS; j++) {
                output[j] = 0;
            }
            for (int i = 0; i < DEPTH; i++) {
                float b = rate * rows[token * STRIDE + DEPTH + i];
                float c = rows[token * STRIDE + i];
                for (int j = 0; j < COLUMNS; j++) {
                    float s = decay * state[i * COLUMNS + j] + b * outputs[token * COLUMNS + j];
                    state[i * COLUMNS + j] = s;
                    output[j] += c * s;
                }
            }
            System.arraycopy(output, 0, outputs, token * COLUMNS, COLUMNS);
        }
    }

    private static float[] array(FloatBuffer from) {
        float[] to = new float[from.capacity()];
        from.get(0, to);
        return to;
    }
}
