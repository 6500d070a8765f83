package io.multihead.internal.base;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The addresses of allocations in an arena of slabs. */
class SlabArenaTest {
    private static final long MIB = 1 << 20;

    private static void assertFollows(MemorySegment before, MemorySegment after) {
        assertEquals(before.address() + before.byteSize(), after.address());
    }

    @Test
    void smallAllocationsShareSlabs() {
        try (SlabArena arena = new SlabArena()) {
            arena.expect(200 * MIB);
            List<MemorySegment> all = new ArrayList<>();
            for (int i = 0; i < 20; i++) {
                all.add(arena.allocate(10 * MIB, 64));
            }
            // the first slab has 128 MiB, which is room for twelve allocations; the second and last slab has the others
            for (int i = 1; i < 20; i++) {
                boolean first = i == 12;
                assertEquals(
                        !first,
                        all.get(i - 1).address() + 10 * MIB == all.get(i).address(),
                        "allocation " + i);
            }
        }
    }

    @Test
    void allocationsAreAlignedAndZero() {
        try (SlabArena arena = new SlabArena()) {
            arena.expect(40 * MIB);
            MemorySegment odd = arena.allocate(3, 1);
            MemorySegment next = arena.allocate(100, 64);
            assertEquals(0, next.address() % 64);
            assertEquals(odd.address() + 64, next.address());
            assertFollows(next, arena.allocate(5, 1));
            odd.fill((byte) 7);
            assertEquals(0, next.get(ValueLayout.JAVA_BYTE, 0));
            assertEquals(0, arena.allocate(0, 64).byteSize());
        }
    }

    /** For a small model, and if no more memory is expected, only requested memory is allocated. */
    @Test
    void noSlabIsLargerThanWhatIsExpected() {
        try (SlabArena arena = new SlabArena()) {
            arena.expect(20 * MIB);
            MemorySegment alone = arena.allocate(MIB, 64);
            // separate blocks of malloc are not adjacent, since each has a header
            assertFalse(alone.address() + MIB == arena.allocate(MIB, 64).address());
            arena.expect(-100 * MIB);
            MemorySegment large = arena.allocate(30 * MIB, 64);
            arena.expect(39 * MIB);
            MemorySegment first = arena.allocate(MIB, 64);
            assertFalse(large.address() + 30 * MIB == first.address());
            assertFollows(first, arena.allocate(36 * MIB, 64));
        }
    }

    /** An allocation that is smaller than a new slab uses an earlier slab with room. */
    @Test
    void roomThatIsLeftIsUsed() {
        try (SlabArena arena = new SlabArena()) {
            arena.expect(400 * MIB);
            MemorySegment first = arena.allocate(32 * MIB, 64);
            MemorySegment second = arena.allocate(70 * MIB, 64);
            assertFollows(first, second);
            assertFalse(
                    second.address() + 70 * MIB == arena.allocate(30 * MIB, 64).address());
            assertFollows(second, arena.allocate(20 * MIB, 64));
        }
    }

    /**
     * Slabs that were allocated ahead serve later requests; a remainder that is too small for a slab is not allocated.
     */
    @Test
    void preparedSlabsAreUsed() {
        try (SlabArena arena = new SlabArena()) {
            arena.expect(300 * MIB);
            int[] asked = {0};
            arena.prepare(280 * MIB, () -> asked[0]++ == 9);
            assertEquals(2, asked[0], "slabs of 128 and 152 MiB");
            MemorySegment first = arena.allocate(60 * MIB, 64);
            assertFollows(first, arena.allocate(60 * MIB, 64));
            MemorySegment second = arena.allocate(60 * MIB, 64);
            MemorySegment third = arena.allocate(90 * MIB, 64);
            assertFollows(second, third);
            arena.prepare(32 * MIB, () -> {
                throw new AssertionError("no slab is as small");
            });
            arena.prepare(300 * MIB, () -> true);
            // this is a separate block of malloc, since no more memory was prepared, and the expected memory is too
            // little for a slab
            MemorySegment alone = arena.allocate(20 * MIB, 64);
            assertFalse(third.address() + 90 * MIB == alone.address());
        }
    }

    @Test
    void closeEndsAll() {
        SlabArena arena = new SlabArena();
        arena.expect(40 * MIB);
        MemorySegment segment = arena.allocate(MIB, 64);
        assertTrue(arena.scope().isAlive());
        arena.close();
        assertFalse(arena.scope().isAlive());
        assertThrows(IllegalStateException.class, () -> segment.get(ValueLayout.JAVA_BYTE, 0));
        assertThrows(IllegalStateException.class, () -> arena.allocate(MIB, 64));
    }
}
