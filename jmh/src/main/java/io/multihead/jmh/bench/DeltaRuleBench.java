package io.multihead.jmh.bench;

import io.multihead.compute.Compute;
import io.multihead.internal.kernel.DeltaRule;
import io.multihead.jmh.data.Data;
import io.multihead.jmh.peer.Peer;
import java.nio.FloatBuffer;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Setup;

/** The gated delta rule of 32 columns of a head of 128 elements, in one thread, beside the same steps as scalar loops. */
public class DeltaRuleBench extends Comparison {
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
        return Work.operations(7.0 * tokens * DEPTH * COLUMNS);
    }

    @Setup(Level.Trial)
    public void open() {
        cpu = Compute.serial();
        rows = array(Data.gaussian(tokens * STRIDE, 1), 1 / Math.sqrt(DEPTH));
        values = array(Data.gaussian(tokens * COLUMNS, 2), 1);
        gates = array(Data.gaussian(tokens * DeltaRule.GATES, 3), 0);
        for (int i = 0; i < gates.length; i++) {
            gates[i] = i % DeltaRule.GATES == 0 ? 0.9f : 0.5f;
        }
        float[] expected = values.clone();
        scalar(new float[DEPTH * COLUMNS], expected);
        float[] buffer = new float[values.length];
        load(impl, () -> make(buffer));
        // 2048 steps that forget a tenth each: ten steps of two sums of 128 products in another order
        Data.requireClose(impl, FloatBuffer.wrap(expected), FloatBuffer.wrap(buffer), 1e-4);
    }

    private Runnable make(float[] buffer) {
        float[] state = new float[DEPTH * COLUMNS];
        return switch (impl) {
            case "multihead" ->
                () -> {
                    System.arraycopy(values, 0, buffer, 0, buffer.length);
                    DeltaRule.panel(tokens, state, 0, DEPTH, rows, 0, DEPTH, STRIDE, buffer, gates);
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
        float[] change = new float[COLUMNS];
        float[] output = new float[COLUMNS];
        for (int token = 0; token < tokens; token++) {
            float decay = gates[token * DeltaRule.GATES];
            float rate = gates[token * DeltaRule.GATES + 1];
            for (int j = 0; j < COLUMNS; j++) {
                change[j] = 0;
                output[j] = 0;
            }
            for (int i = 0; i < DEPTH; i++) {
                float k = rows[token * STRIDE + DEPTH + i];
                for (int j = 0; j < COLUMNS; j++) {
                    state[i * COLUMNS + j] *= decay;
                    change[j] += k * state[i * COLUMNS + j];
                }
            }
            for (int j = 0; j < COLUMNS; j++) {
                change[j] = rate * (outputs[token * COLUMNS + j] - change[j]);
            }
            for (int i = 0; i < DEPTH; i++) {
                float k = rows[token * STRIDE + DEPTH + i];
                float q = rows[token * STRIDE + i];
                for (int j = 0; j < COLUMNS; j++) {
                    state[i * COLUMNS + j] += k * change[j];
                    output[j] += q * state[i * COLUMNS + j];
                }
            }
            System.arraycopy(output, 0, outputs, token * COLUMNS, COLUMNS);
        }
    }

    private static float[] array(FloatBuffer from, double factor) {
        float[] to = new float[from.capacity()];
        for (int i = 0; i < to.length; i++) {
            to[i] = (float) (factor * from.get(i));
        }
        return to;
    }
}
