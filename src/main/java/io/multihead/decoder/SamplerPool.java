package io.multihead.decoder;

import io.multihead.cache.CacheFormat;
import java.util.ArrayDeque;
import java.util.Deque;

/**
 * Keeps the samplers of finished calls for later calls. There are as many samplers as were in use at the same time. One sampler serves all
 * sessions of its call, except for choices in parallel ({@link ParallelChoice}). Thread-safe.
 */
final class SamplerPool {
    private final int vocabulary;
    private final String source;
    private final Deque<Sampler> idle = new ArrayDeque<>();

    SamplerPool(int vocabulary, CacheFormat format) {
        this.vocabulary = vocabulary;
        source = "the model's weights"
                + (format == CacheFormat.F16 ? " and a cache in F16, whose numbers end at 65504," : "");
    }

    Sampler take() {
        synchronized (idle) {
            Sampler last = idle.pollLast();
            if (last != null) {
                return last;
            }
        }
        return new Sampler(vocabulary, source);
    }

    void giveBack(Sampler sampler) {
        synchronized (idle) {
            idle.addLast(sampler);
        }
    }
}
