package io.multihead.jmh.rival;

import java.nio.FloatBuffer;
import java.util.stream.IntStream;

/** Decode as in current Java engines: each query head is computed separately, with heads divided among threads. */
public record JavaDecode(String impl, int heads, int keyValueHeads, int keys, int dim, int threads) {
    public Runnable on(FloatBuffer q, FloatBuffer k, FloatBuffer v, FloatBuffer out) {
        int group = heads / keyValueHeads;
        float[][] scores = new float[heads][keys];
        JavaRow row = new JavaRow(impl, dim, q, k, v);
        return () -> {
            IntStream each = IntStream.range(0, heads);
            (threads > 1 ? each.parallel() : each)
                    .forEach(head -> row.attend(scores[head], head * dim, head / group * keys * dim, dim, keys));
            out.put(0, row.output());
        };
    }
}
