package io.multihead.decoder;

import io.multihead.cache.CacheFormat;
import java.util.ArrayDeque;
import java.util.Deque;

/**
 * Keeps the samplers of finished calls for later calls. There are as many samplers as calls have run at the same time. Each sampler serves
 * all sessions of its call. Thread-safe.
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
