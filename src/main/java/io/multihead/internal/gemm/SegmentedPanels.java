package io.multihead.internal.gemm;

import static io.multihead.internal.gemm.Blocking.CHAIN;
import static io.multihead.internal.kernel.Lanes.PANEL;

import io.multihead.internal.kernel.MicroKernel;
import io.multihead.internal.layout.PanelMemory;
import io.multihead.internal.layout.Panels;

/**
 * Up to 256 rows of B in segments {@code [panel][64][32]} of {@link Blocking#CHAIN} rows, which may be stored at different
 * places. Belongs to one thread.
 */
public final class SegmentedPanels {
    private final Panels[] segments = new Panels[MicroKernel.MAX_CHAIN / CHAIN];

    public SegmentedPanels() {
        for (int i = 0; i < segments.length; i++) {
            segments[i] = new Panels();
        }
    }

    /** Sets the memory of the rows from {@code segment * CHAIN} on, and returns the segment, so that scales may be added. */
    public Panels set(int segment, PanelMemory memory, int at) {
        return segments[segment].set(memory, at, CHAIN * PANEL);
    }

    public Panels get(int segment) {
        return segments[segment];
    }

    /** Releases the memory of all segments. */
    public void clear() {
        for (Panels segment : segments) {
            segment.clear();
        }
    }
}
