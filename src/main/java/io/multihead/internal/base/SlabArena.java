package io.multihead.internal.base;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * A shared arena for the weights of a model, whose memory returns to the system when it is closed. Allocations of up to 32 MiB may stay
 * with glibc's {@code malloc} after they are freed (its {@code M_MMAP_THRESHOLD} grows up to that size), so a model that is loaded
 * repeatedly would leave memory of the model's size behind. This arena divides larger slabs into small allocations. Thread-safe.
 *
 * <p>Memory is zeroed when it is allocated, which takes as long as packing weights into it. Therefore an idle thread may allocate slabs in
 * advance ({@link #prepare}).
 */
public final class SlabArena implements Arena {
    /** A size above the largest block that glibc keeps. */
    private static final long LEAST = 33L << 20;

    private static final long SLAB = 128L << 20;

    private final Arena arena = Arena.ofShared();
    private final List<Slab> slabs = new ArrayList<>();
    private long expected;

    /** A piece of memory that is allocated from its beginning. */
    private static final class Slab {
        private final MemorySegment memory;
        private long used;

        Slab(MemorySegment memory) {
            this.memory = memory;
        }

        /** Returns the next bytes, or null if there are not enough. */
        @Nullable
        MemorySegment take(long bytes, long alignment) {
            long at = Math.ceilDiv(memory.address() + used, alignment) * alignment - memory.address();
            if (memory.byteSize() - at < bytes) {
                return null;
            }
            used = at + bytes;
            return memory.asSlice(at, bytes);
        }
    }

    /** Announces that about this number of bytes, or less if negative, will be allocated in addition: no slab is larger. */
    public synchronized void expect(long bytes) {
        expected = Math.max(0, expected + bytes);
    }

    /**
     * Allocates slabs in advance for later allocations.
     *
     * @param bytes the largest number of expected bytes to allocate
     * @param isEnough queried before each slab
     */
    public void prepare(long bytes, BooleanSupplier isEnough) {
        long left = bytes;
        while (left >= LEAST && !isEnough.getAsBoolean()) {
            long next = left < SLAB + LEAST ? left : SLAB;
            Slab slab = new Slab(arena.allocate(next, Long.BYTES));
            synchronized (this) {
                slabs.add(slab);
            }
            left -= next;
        }
    }

    @Override
    public synchronized MemorySegment allocate(long bytes, long alignment) {
        expected = Math.max(0, expected - bytes);
        if (bytes == 0 || !arena.scope().isAlive()) {
            return arena.allocate(bytes, alignment);
        }
        for (Slab slab : slabs) {
            MemorySegment part = slab.take(bytes, alignment);
            if (part != null) {
                return part;
            }
        }
        // the last slab includes a rest that is too small for a separate slab
        long next = bytes + expected < SLAB + LEAST ? bytes + expected : SLAB;
        if (bytes >= LEAST || next < LEAST) {
            return arena.allocate(bytes, alignment);
        }
        Slab slab = new Slab(arena.allocate(next, Math.max(64, alignment)));
        slabs.add(slab);
        slab.used = bytes;
        return slab.memory.asSlice(0, bytes);
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
