package io.multihead.faults;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * An arena that refuses more than a MiB in the JDK's words: sizes at random would otherwise spend the suite's time on filling
 * gigabytes of parameters.
 */
record SmallArena(Arena arena) implements Arena {
    private static final long CAPACITY = 1 << 20;

    @Override
    public MemorySegment allocate(long byteSize, long byteAlignment) {
        if (byteSize > CAPACITY) {
            throw new OutOfMemoryError("Cannot reserve " + byteSize + " bytes: a test's arena holds " + CAPACITY);
        }
        return arena.allocate(byteSize, byteAlignment);
    }

    @Override
    public MemorySegment.Scope scope() {
        return arena.scope();
    }

    @Override
    public void close() {
        arena.close();
    }
}
