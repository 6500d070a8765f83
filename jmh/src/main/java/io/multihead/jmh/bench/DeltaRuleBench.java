package io.multihead.jmh.bench;

import io.multihead.internal.kernel.DeltaRule;

/**
 * The gated delta rule of 32 columns of a head of 128 elements, in one thread, is compared with the same steps in
 * scalar loops.
 */
public class DeltaRuleBench extends RecurrenceComparison {
    @Override
    public Work work() {
        return Work.operations(7.0 * tokens * DEPTH * COLUMNS);
    }

    @Override
    float scale() {
        return (float) (1 / Math.sqrt(DEPTH));
    }

    @Override
    void kernel(float[] state, float[] values) {
        DeltaRule.panel(tokens, state, 0, DEPTH, rows, 0, DEPTH, STRIDE, values, gates);
    }

    @Override
    void scalar(float[] state, float[] outputs) {
        float[] change = new float[COLUMNS];
        float[] output = new float[COLUMNS];
        for (int token = 0; token < tokens; token++) {
            float decay = gates[token * GATES];
            float rate = gates[token * GATES + 1];
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
}
