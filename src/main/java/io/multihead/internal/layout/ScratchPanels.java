package io.multihead.internal.layout;

import java.lang.foreign.Arena;
import java.lang.ref.PhantomReference;
import java.lang.ref.ReferenceQueue;
import java.util.IdentityHashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The native memory of one {@code Scratch}, each block in an arena of its own. It is freed when the Scratch is closed; and, for a
 * Compute that nobody closes, once the Scratch is garbage and scratch memory is allocated anywhere. An automatic arena would be
 * freed by the garbage collector alone, and counts towards {@code -XX:MaxDirectMemorySize}.
 */
final class ScratchPanels extends PhantomReference<Object> {
    private static final ReferenceQueue<Object> UNREACHABLE = new ReferenceQueue<>();
    /** Keeps these references reachable themselves. */
    private static final Set<ScratchPanels> HELD = ConcurrentHashMap.newKeySet();

    private final Map<PanelMemory, Arena> arenas = new IdentityHashMap<>();

    ScratchPanels(Object owner) {
        super(owner, UNREACHABLE);
    }

    /** Allocates zeroed F32 memory, and frees {@code old} if it was allocated here. */
    synchronized PanelMemory replace(PanelMemory old, int elements) {
        HELD.add(this);
        Arena arena = Arena.ofShared();
        PanelMemory longer = PanelMemory.allocate(arena, PanelFormat.F32, elements);
        arenas.put(longer, arena);
        Arena replaced = arenas.remove(old);
        if (replaced != null) {
            replaced.close();
        }
        return longer;
    }

    /** Frees everything; does nothing the second time, by another thread at the same time perhaps ({@link #freeUnreachable}). */
    synchronized void free() {
        HELD.remove(this);
        arenas.values().forEach(Arena::close);
        arenas.clear();
    }

    /** Frees the memory of every Scratch that is garbage. */
    static void freeUnreachable() {
        for (@Nullable Object panels = UNREACHABLE.poll(); panels != null; panels = UNREACHABLE.poll()) {
            ((ScratchPanels) panels).free();
        }
    }
}
