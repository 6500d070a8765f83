package io.multihead.support;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * An arena with a limited amount of another arena's memory. When it is exhausted, it throws the JDK's error. Not safe
 * for several threads.
 */
public final class SmallArena implements Arena {
    private final Arena arena;
    private final long largest;
    private long left;
    private int refusals;

    /** Creates an arena that refuses more than {@code largest} bytes at a time, and more than {@code all} bytes in total. */
    public SmallArena(Arena arena, long largest, long all) {
        this.arena = arena;
        this.largest = largest;
        left = all;
    }

    /** Returns the number of bytes that are left. */
    public long left() {
        return left;
    }

    /** Returns the number of refused allocations. */
    public int refusals() {
        return refusals;
    }

    @Override
    public MemorySegment allocate(long byteSize, long byteAlignment) {
        if (byteSize > Math.min(largest, left)) {
            refusals++;
            throw new OutOfMemoryError("Cannot reserve " + byteSize + " bytes: a test's arena has " + left
                    + ", at most " + largest + " at a time");
        }
        MemorySegment memory = arena.allocate(byteSize, byteAlignment);
        left -= byteSize;
        return memory;
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
