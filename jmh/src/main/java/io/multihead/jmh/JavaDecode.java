package io.multihead.jmh;

import java.nio.FloatBuffer;
import java.util.stream.IntStream;

/** Decode as Java engines have it today: each query head by itself, heads over threads. */
final class JavaDecode {
    private static final int DIM = AttentionDecode.DIM;

    private final String impl;
    private final int group;
    private final int keys;
    private final int threads;
    private final float[][] scores;

    JavaDecode(String impl, int keyHeads, int keys, int threads) {
        this.impl = impl;
        group = AttentionDecode.HEADS / keyHeads;
        this.keys = keys;
        this.threads = threads;
        scores = new float[AttentionDecode.HEADS][keys];
    }

    Runnable on(FloatBuffer q, FloatBuffer k, FloatBuffer v, FloatBuffer out) {
        JavaRow row = new JavaRow(impl, DIM, q, k, v);
        return () -> {
            IntStream heads = IntStream.range(0, AttentionDecode.HEADS);
            (threads > 1 ? heads.parallel() : heads)
                    .forEach(head -> row.attend(scores[head], head * DIM, head / group * keys * DIM, DIM, keys));
            out.put(0, row.output());
        };
    }
}
