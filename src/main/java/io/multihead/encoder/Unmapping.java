package io.multihead.encoder;

import java.lang.foreign.Arena;
import org.jspecify.annotations.Nullable;

/** Unmaps the files of a model. Another time it does nothing, whichever thread closes first. */
final class Unmapping implements AutoCloseable {
    /** Of no files. */
    static final Unmapping NONE = new Unmapping(null);

    private final @Nullable Arena arena;

    Unmapping(@Nullable Arena arena) {
        this.arena = arena;
    }

    @Override
    public synchronized void close() {
        if (arena != null && arena.scope().isAlive()) {
            arena.close();
        }
    }
}
