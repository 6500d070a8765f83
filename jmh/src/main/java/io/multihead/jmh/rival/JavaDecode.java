package io.multihead.jmh.rival;

import java.nio.FloatBuffer;
import java.util.stream.IntStream;

/** Decode as Java engines have it today: each query head by itself, heads over threads. */
public final class JavaDecode {
    private final String impl;
    private final int heads;
    private final int group;
    private final int keys;
    private final int dim;
    private final int threads;
    private final float[][] scores;

    /** Prepares a decode of {@code heads, keyValueHeads, keys, dim}. */
    public JavaDecode(String impl, int[] sizes, int threads) {
        this.impl = impl;
        this.threads = threads;
        heads = sizes[0];
        group = heads / sizes[1];
        keys = sizes[2];
        dim = sizes[3];
        scores = new float[heads][keys];
    }

    public Runnable on(FloatBuffer q, FloatBuffer k, FloatBuffer v, FloatBuffer out) {
        JavaRow row = new JavaRow(impl, dim, q, k, v);
        return () -> {
            IntStream each = IntStream.range(0, heads);
            (threads > 1 ? each.parallel() : each)
                    .forEach(head -> row.attend(scores[head], head * dim, head / group * keys * dim, dim, keys));
            out.put(0, row.output());
        };
    }
}
