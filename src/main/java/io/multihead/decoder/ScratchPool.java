package io.multihead.decoder;

import io.multihead.cache.CacheFormat;
import io.multihead.compute.Compute;
import java.util.ArrayDeque;
import java.util.Deque;

/** Keeps the scratch of calls for others: as many as ran at the same time. Thread-safe. */
final class ScratchPool {
    private final Compute cpu;
    private final int vocabulary;
    private final String source;
    private final Deque<Scratch> idle = new ArrayDeque<>();

    ScratchPool(Compute cpu, int vocabulary, CacheFormat format) {
        this.cpu = cpu;
        this.vocabulary = vocabulary;
        source = "the model's weights"
                + (format == CacheFormat.F16 ? " and a cache in F16, whose numbers end at 65504," : "");
    }

    Scratch take() {
        synchronized (idle) {
            Scratch last = idle.pollLast();
            if (last != null) {
                return last;
            }
        }
        return new Scratch(cpu, new Sampler(vocabulary, source));
    }

    void giveBack(Scratch scratch) {
        synchronized (idle) {
            idle.addLast(scratch);
        }
    }
}
