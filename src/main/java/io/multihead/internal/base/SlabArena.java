package io.multihead.internal.base;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * A shared arena for the weights of a model, whose memory the system has back as soon as it is closed. Allocations of up to 32 MiB may
 * stay with glibc's {@code malloc} after they are freed (its {@code M_MMAP_THRESHOLD} grows up to that size), so that a model which is
 * loaded again and again leaves its own size behind. This arena divides slabs of more than that into small allocations. Thread-safe.
 */
public final class SlabArena implements Arena {
    /** More than the largest block that glibc keeps. */
    private static final long LEAST = 33L << 20;

    private static final long SLAB = 64L << 20;

    private final Arena arena = Arena.ofShared();
    private MemorySegment slab = MemorySegment.NULL;
    private long used;
    private long expected;

    /** Says that about so many bytes more, or less if negative, will be allocated: no slab is larger. */
    public synchronized void expect(long bytes) {
        expected = Math.max(0, expected + bytes);
    }

    @Override
    public synchronized MemorySegment allocate(long bytes, long alignment) {
        expected = Math.max(0, expected - bytes);
        if (bytes == 0 || !arena.scope().isAlive()) {
            return arena.allocate(bytes, alignment);
        }
        long at = Math.ceilDiv(slab.address() + used, alignment) * alignment - slab.address();
        if (slab.byteSize() - at >= bytes) {
            used = at + bytes;
            return slab.asSlice(at, bytes);
        }
        // the last slab takes in what would be too small for one of its own
        long next = bytes + expected < SLAB + LEAST ? bytes + expected : SLAB;
        if (bytes >= LEAST || next < LEAST) {
            return arena.allocate(bytes, alignment);
        }
        slab = arena.allocate(next, Math.max(64, alignment));
        used = bytes;
        return slab.asSlice(0, bytes);
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
