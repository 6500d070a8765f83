package io.multihead.internal.attention.keyvalue;

import io.multihead.internal.layout.PanelMemory;
import io.multihead.internal.layout.Scratch;

/** The packed keys, or the packed values, of one block, and the head group to which they belong. Belongs to one thread. */
final class PackedPanels {
    private static final long NOTHING = -1;

    private PanelMemory panels = PanelMemory.NONE;
    private long tag = NOTHING;
    private long firstKey;
    private int count;

    /** Returns whether at least these keys of the head group are packed. */
    boolean holds(long wantedTag, long wantedFirstKey, int wantedCount) {
        return tag == wantedTag && firstKey == wantedFirstKey && count >= wantedCount;
    }

    /** Returns F32 memory whose contents are not valid until {@link #packed} is called. */
    PanelMemory reserve(Scratch memory, int size) {
        tag = NOTHING;
        panels = memory.atLeast(panels, size);
        return panels;
    }

    /** Marks the panels as complete. */
    void packed(long newTag, long newFirstKey, int newCount) {
        tag = newTag;
        firstKey = newFirstKey;
        count = newCount;
    }

    PanelMemory panels() {
        return panels;
    }

    int count() {
        return count;
    }
}
