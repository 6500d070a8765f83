package io.multihead.decoder;

import io.multihead.compute.Compute;
import java.util.ArrayDeque;
import java.util.Deque;

/** Keeps the scratch of calls for others: as many as ran at the same time. Thread-safe. */
final class ScratchPool {
    private final Compute cpu;
    private final int vocabulary;
    private final Deque<Scratch> idle = new ArrayDeque<>();

    ScratchPool(Compute cpu, int vocabulary) {
        this.cpu = cpu;
        this.vocabulary = vocabulary;
    }

    Scratch take() {
        synchronized (idle) {
            Scratch last = idle.pollLast();
            if (last != null) {
                return last;
            }
        }
        return new Scratch(cpu, new Sampler(vocabulary));
    }

    void giveBack(Scratch scratch) {
        synchronized (idle) {
            idle.addLast(scratch);
        }
    }
}
