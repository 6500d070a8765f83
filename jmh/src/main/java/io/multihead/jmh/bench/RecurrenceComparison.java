package io.multihead.jmh.bench;

import io.multihead.internal.kernel.DeltaRule;
import io.multihead.jmh.data.Data;
import java.nio.FloatBuffer;
import org.openjdk.jmh.annotations.Param;

/**
 * A recurrence of 32 columns of a state of 128 rows, in one thread, is compared with the same steps in scalar loops.
 */
public abstract class RecurrenceComparison extends Comparison {
    static final int DEPTH = 128;
    static final int COLUMNS = 32;
    static final int STRIDE = 2 * DEPTH;
    static final int GATES = DeltaRule.GATES;

    @Param({"multihead", "scalar"})
    public String impl;

    @Param({"1", "64", "2048"})
    public int tokens;

    float[] rows;
    float[] gates;

    @Override
    void open() {
        rows = Data.array(Data.gaussian(tokens * STRIDE, 1, scale(), 0));
        gates = new float[tokens * GATES];
        for (int i = 0; i < gates.length; i++) {
            gates[i] = i % GATES == 0 ? 0.9f : 0.5f;
        }
        float[] values = Data.array(Data.gaussian(tokens * COLUMNS, 2));
        float[] expected = values.clone();
        scalar(new float[DEPTH * COLUMNS], expected);
        float[] buffer = new float[values.length];
        load(impl, () -> make(values, buffer));
        // a state depends on about ten tokens, since each token reduces it by a tenth; sums of 128 products have
        // another order
        Data.requireClose(impl, FloatBuffer.wrap(expected), FloatBuffer.wrap(buffer), 1e-4);
    }

    private Runnable make(float[] values, float[] buffer) {
        float[] state = new float[DEPTH * COLUMNS];
        Runnable steps =
                switch (impl) {
                    case "multihead" -> () -> kernel(state, buffer);
                    case "scalar" -> () -> scalar(state, buffer);
                    default -> throw unknown(impl);
                };
        return () -> {
            System.arraycopy(values, 0, buffer, 0, buffer.length);
            steps.run();
        };
    }

    abstract float scale();

    /** Runs the kernel, which replaces the values by the outputs. */
    abstract void kernel(float[] state, float[] values);

    /** Runs loops. The inner loop is along a row of the state, so that the JVM vectorizes it. */
    abstract void scalar(float[] state, float[] values);
}
