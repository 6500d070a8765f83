package io.multihead.internal.layout;

import static io.multihead.internal.kernel.Lanes.PANEL;

import io.multihead.internal.kernel.RowOps;

/**
 * A panel operand: panels {@code [panel][k][32]} of one format, where the first one begins, how far apart they are, and the scales
 * of their rows. Mutable, so that one object serves block after block without allocation. Belongs to one thread.
 */
public final class Panels {
    /** Scales of panels that have none. */
    public static final float[] UNSCALED = {};

    private PanelMemory memory = PanelMemory.NONE;
    private float[] floats = PanelMemory.NONE.floats();
    private int at;
    private int stride;
    private float[] scales = UNSCALED;
    private int scaleAt;

    /** Creates an operand of no memory. */
    public Panels() {}

    /**
     * Sets the memory, without scales.
     *
     * @param newAt first element of the first panel
     * @param newStride elements from panel to panel
     */
    public Panels set(PanelMemory newMemory, int newAt, int newStride) {
        memory = newMemory;
        floats = newMemory.floats();
        at = newAt;
        stride = newStride;
        scales = UNSCALED;
        scaleAt = 0;
        return this;
    }

    /** Sets F32 panels in an array of the caller's, as {@link #set} does, for multiplication alone. */
    public Panels setFloats(float[] newFloats, int newAt, int newStride) {
        set(PanelMemory.NONE, newAt, newStride);
        floats = newFloats;
        return this;
    }

    /** Sets the scales of the rows, of which row k has the one at {@code newAt + k}. */
    public Panels scale(float[] newScales, int newAt) {
        scales = newScales;
        scaleAt = newAt;
        return this;
    }

    /** Releases the memory. */
    public void clear() {
        set(PanelMemory.NONE, 0, 0);
    }

    /** Widens the first {@code rows} rows of one panel and multiplies each by its scale. */
    public void widen(int panel, int rows, float[] to, int t0) {
        memory.widen(at + panel * stride, rows, to, t0);
        for (int row = 0; isScaled() && row < rows; row++) {
            RowOps.scale(to, t0 + row * PANEL, PANEL, scales[scaleAt + row]);
        }
    }

    /** Returns the format. */
    public PanelFormat format() {
        return memory.format();
    }

    /** Returns the array of F32 panels. */
    public float[] floats() {
        return floats;
    }

    /** Returns the array of BF16 or F16 panels, two elements to a word. */
    public int[] words() {
        return memory.words();
    }

    /** Returns the array of INT8 panels. */
    public byte[] bytes() {
        return memory.bytes();
    }

    /** Returns the index in the array at which a tile that begins at a column reads its first vector. */
    public int tileIndex(int column) {
        return memory.format().tileIndex(at + column / PANEL * stride, column % PANEL);
    }

    /** Returns the elements from panel to panel. */
    public int stride() {
        return stride;
    }

    /** Returns whether the rows have scales. */
    public boolean isScaled() {
        return scales.length > 0;
    }

    /** Returns the array of the scales. */
    public float[] scales() {
        return scales;
    }

    /** Returns the index of the first row's scale. */
    public int scaleAt() {
        return scaleAt;
    }
}
