package io.multihead.jmh;

import java.nio.FloatBuffer;

/** Attention as Java engines without a library write it: scalar loops over {@code float[]}, query by query. */
final class ScalarAttention {
    private final int batch;
    private final int heads;
    private final int tokens;
    private final int dim;
    private final boolean causal;

    ScalarAttention(int[] sizes, boolean causal) {
        batch = sizes[0];
        heads = sizes[1];
        tokens = sizes[2];
        dim = sizes[3];
        this.causal = causal;
    }

    Runnable on(FloatBuffer q, FloatBuffer k, FloatBuffer v, FloatBuffer out) {
        float[] query = array(q);
        float[] key = array(k);
        float[] value = array(v);
        float[] result = array(out);
        float[] scores = new float[tokens];
        return () -> {
            for (int b = 0; b < batch; b++) {
                for (int i = 0; i < tokens; i++) {
                    for (int h = 0; h < heads; h++) {
                        row(query, key, value, result, scores, ((b * tokens + i) * heads + h) * dim, b, i, h);
                    }
                }
            }
            out.duplicate().put(result);
        };
    }

    private void row(
            float[] query, float[] key, float[] value, float[] result, float[] scores, int at, int b, int i, int h) {
        int visible = causal ? i + 1 : tokens;
        float scale = (float) (1 / Math.sqrt(dim));
        float max = Float.NEGATIVE_INFINITY;
        for (int j = 0; j < visible; j++) {
            int from = ((b * tokens + j) * heads + h) * dim;
            float dot = 0;
            for (int d = 0; d < dim; d++) {
                dot += query[at + d] * key[from + d];
            }
            scores[j] = dot * scale;
            max = Math.max(max, scores[j]);
        }
        float sum = 0;
        for (int j = 0; j < visible; j++) {
            scores[j] = (float) Math.exp(scores[j] - max);
            sum += scores[j];
        }
        java.util.Arrays.fill(result, at, at + dim, 0f);
        for (int j = 0; j < visible; j++) {
            int from = ((b * tokens + j) * heads + h) * dim;
            float p = scores[j] / sum;
            for (int d = 0; d < dim; d++) {
                result[at + d] += p * value[from + d];
            }
        }
    }

    private static float[] array(FloatBuffer buffer) {
        float[] array = new float[buffer.capacity()];
        buffer.duplicate().get(array);
        return array;
    }
}
