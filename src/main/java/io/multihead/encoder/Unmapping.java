package io.multihead.encoder;

import java.lang.foreign.Arena;

/** Unmaps the files of a model. Another time it does nothing, whichever thread closes first. */
final class Unmapping implements AutoCloseable {
    private final Arena arena;

    Unmapping(Arena arena) {
        this.arena = arena;
    }

    @Override
    public synchronized void close() {
        if (arena.scope().isAlive()) {
            arena.close();
        }
    }
}
