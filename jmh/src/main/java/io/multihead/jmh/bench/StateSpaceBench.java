package io.multihead.jmh.bench;

import io.multihead.internal.kernel.StateSpace;

/**
 * The recurrence of Mamba-2 of 32 columns of a state of 128 rows, in one thread, is compared with the same steps in
 * scalar loops.
 */
public class StateSpaceBench extends RecurrenceComparison {
    @Override
    public Work work() {
        return Work.operations(5.0 * tokens * DEPTH * COLUMNS);
    }

    @Override
    float scale() {
        return 1;
    }

    @Override
    void kernel(float[] state, float[] values) {
        StateSpace.panel(tokens, state, 0, DEPTH, rows, 0, DEPTH, STRIDE, values, gates);
    }

    @Override
    void scalar(float[] state, float[] outputs) {
        float[] output = new float[COLUMNS];
        for (int token = 0; token < tokens; token++) {
            float decay = gates[token * GATES];
            float rate = gates[token * GATES + 1];
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
}
