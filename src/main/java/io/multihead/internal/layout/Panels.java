package io.multihead.internal.layout;

import static io.multihead.internal.kernel.Lanes.PANEL;

import io.multihead.internal.kernel.Int8Panels;
import java.lang.foreign.MemorySegment;

/**
 * A panel operand: panels {@code [panel][k][32]} of one format, the position of the first panel, the distance between panels, and the scales of
 * their rows. Mutable, so that one object serves many blocks without allocation. Belongs to one thread.
 */
public final class Panels {
    /** The scales of panels without scales. */
    public static final float[] UNSCALED = {};

    private PanelMemory memory = PanelMemory.NONE;
    private int at;
    private int stride;
    private float[] scales = UNSCALED;
    private int scaleAt;
    private boolean hasColumnScales;

    /** Creates an operand without memory. */
    public Panels() {}

    /**
     * Sets the memory, without scales.
     *
     * @param newAt first element of the first panel
     * @param newStride elements from panel to panel
     */
    public Panels set(PanelMemory newMemory, int newAt, int newStride) {
        memory = newMemory;
        at = newAt;
        stride = newStride;
        scales = UNSCALED;
        scaleAt = 0;
        hasColumnScales = false;
        return this;
    }

    /**
     * Sets scales of the columns for each block of {@link Int8Panels#BLOCK} rows: the scale of column j, counted through all panels, for
     * block i is at {@code newAt + i} {@link Int8Panels#SCALES_APART} {@code + j}.
     */
    public Panels scaleColumns(float[] newScales, int newAt) {
        scales = newScales;
        scaleAt = newAt;
        hasColumnScales = true;
        return this;
    }

    /** Sets the scales of the rows: the scale of row k is at {@code newAt + k}. */
    public Panels scale(float[] newScales, int newAt) {
        scales = newScales;
        scaleAt = newAt;
        return this;
    }

    /** Releases the memory. */
    public void clear() {
        set(PanelMemory.NONE, 0, 0);
    }

    /** Widens the first {@code rows} rows of one panel and multiplies each row by its scale. */
    public void widen(int panel, int rows, PanelMemory to, int t0) {
        memory.widen(at + panel * stride, rows, scales, scaleAt, to, t0);
    }

    public PanelFormat format() {
        return memory.format();
    }

    /** Returns the memory of the panels, for kernels. */
    public MemorySegment segment() {
        return memory.segment();
    }

    /** Returns the offset in bytes at which a tile that begins at a column reads its first vector. */
    public long tileOffset(int column) {
        return memory.format().tileOffset(at + column / PANEL * stride, column % PANEL);
    }

    public long panelOffset(int panel) {
        return memory.format().offset(at + panel * stride);
    }

    /** Returns the number of bytes from panel to panel. */
    public long strideBytes() {
        return memory.format().offset(stride);
    }

    public boolean isScaled() {
        return scales.length > 0 && !hasColumnScales;
    }

    /** Returns whether the columns of each block of rows have scales. */
    public boolean hasColumnScales() {
        return hasColumnScales;
    }

    public float[] scales() {
        return scales;
    }

    /** Returns the index of the first row's scale, or of the first column's scale. */
    public int scaleAt() {
        return scaleAt;
    }
}
