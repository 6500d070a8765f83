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
 * The native memory of one {@code Scratch}, with a separate arena for each block. It is freed when the Scratch is closed; for a Compute that is
 * never closed, it is freed after the Scratch became garbage, at the next allocation of any scratch memory. Only the garbage collector would
 * free an automatic arena, which would also count towards {@code -XX:MaxDirectMemorySize}.
 */
final class ScratchPanels extends PhantomReference<Object> {
    private static final ReferenceQueue<Object> UNREACHABLE = new ReferenceQueue<>();
    /** Keeps these references reachable. */
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

    /** Frees everything; a second call has no effect, even by another thread at the same time ({@link #freeUnreachable}). */
    synchronized void free() {
        HELD.remove(this);
        arenas.values().forEach(Arena::close);
        arenas.clear();
    }

    /** Frees the memory of every Scratch that has become garbage. */
    static void freeUnreachable() {
        for (@Nullable Object panels = UNREACHABLE.poll(); panels != null; panels = UNREACHABLE.poll()) {
            ((ScratchPanels) panels).free();
        }
    }
}
