package io.multihead.jmh.rival;

import java.nio.FloatBuffer;
import java.util.stream.IntStream;

/** Attention in Java code without a library: query by query, with heads divided among threads. */
public record JavaAttention(String impl, int[] sizes, boolean causal, int threads) {
    public Runnable on(FloatBuffer q, FloatBuffer k, FloatBuffer v, FloatBuffer out) {
        JavaRow row = new JavaRow(impl, sizes[3], q, k, v);
        int heads = sizes[0] * sizes[1];
        float[][] scores = new float[heads][sizes[2]];
        return () -> {
            IntStream all = IntStream.range(0, heads);
            (threads > 1 ? all.parallel() : all).forEach(head -> head(row, scores[head], head));
            out.put(0, row.output());
        };
    }

    private void head(JavaRow row, float[] scores, int head) {
        int tokens = sizes[2];
        int stride = sizes[1] * sizes[3];
        int base = head / sizes[1] * tokens * stride + head % sizes[1] * sizes[3];
        for (int i = 0; i < tokens; i++) {
            row.attend(scores, base + i * stride, base, stride, causal ? i + 1 : tokens);
        }
    }
}
