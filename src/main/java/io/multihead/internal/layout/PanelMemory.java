package io.multihead.internal.layout;

import static io.multihead.internal.kernel.Lanes.PANEL;

import io.multihead.internal.kernel.F32Panels;
import io.multihead.internal.kernel.Int8Panels;

/**
 * Memory that holds panels of one format. Only the kernels that compute with panels know the memory behind it, today a Java array;
 * everybody else stores, widens and copies through this class. Positions count elements, row by row.
 *
 * <p>Rows that different threads store must not share a row of a panel. Otherwise thread-safe as an array is.
 */
public final class PanelMemory {
    /** Memory of no elements. */
    public static final PanelMemory NONE = new PanelMemory(PanelFormat.F32, new float[0], new int[0], new byte[0]);

    private final PanelFormat format;
    private final float[] floats;
    private final int[] words;
    private final byte[] bytes;

    private PanelMemory(PanelFormat format, float[] floats, int[] words, byte[] bytes) {
        this.format = format;
        this.floats = floats;
        this.words = words;
        this.bytes = bytes;
    }

    /** Returns memory for {@code elements} elements, all zero; an even number of them for 16-bit formats. */
    public static PanelMemory allocate(PanelFormat format, int elements) {
        return switch (format) {
            case F32 -> of(new float[elements]);
            case BF16, F16 -> new PanelMemory(format, NONE.floats, new int[elements / 2], NONE.bytes);
            case INT8 -> new PanelMemory(format, NONE.floats, NONE.words, new byte[elements]);
        };
    }

    /** Returns F32 memory in an array of the caller's. */
    public static PanelMemory of(float[] floats) {
        return new PanelMemory(PanelFormat.F32, floats, NONE.words, NONE.bytes);
    }

    /** Returns the format. */
    public PanelFormat format() {
        return format;
    }

    /** Returns the elements of F32 memory; an empty array for other formats. */
    public float[] floats() {
        return floats;
    }

    /** Returns the elements of BF16 or F16 memory, two to a word; an empty array for other formats. */
    public int[] words() {
        return words;
    }

    /** Returns the elements of INT8 memory; an empty array for other formats. */
    public byte[] bytes() {
        return bytes;
    }

    /** Stores {@code length} floats in one row of a panel, from element {@code at} on, rounding each once. */
    public void storeRow(float[] rows, int from, int length, int at) {
        switch (format) {
            case F32 -> System.arraycopy(rows, from, floats, at, length);
            case BF16, F16 -> format.halves().narrow(rows, from, length, words, at);
            case INT8 -> Int8Panels.narrow(rows, from, length, bytes, at);
        }
    }

    /**
     * Stores rows as columns of one panel: {@code panel[k][lane + t] = rows[t][k]}.
     *
     * @param r0 index of the first row's first element
     * @param ld floats from row to row
     * @param buffer at least {@code count} floats
     * @param at element of the panel's first row in the first of these columns
     */
    public void storeColumns(float[] rows, int r0, int ld, int count, int depth, float[] buffer, int at) {
        for (int k = 0; k < depth; k++) {
            for (int t = 0; t < count; t++) {
                buffer[t] = rows[r0 + t * ld + k];
            }
            storeRow(buffer, 0, count, at + k * PANEL);
        }
    }

    /** Widens {@code rows} whole rows of a panel, from element {@code from} on, without scales. */
    public void widen(int from, int rows, float[] to, int at) {
        switch (format) {
            case F32 -> System.arraycopy(floats, from, to, at, rows * PANEL);
            case BF16, F16 -> format.halves().widen(words, from, rows, to, at);
            case INT8 -> Int8Panels.widen(bytes, from, rows, to, at);
        }
    }

    /** Copies whole rows of panels to memory of the same format. */
    public void copyTo(int from, PanelMemory target, int at, int elements) {
        switch (format) {
            case F32 -> System.arraycopy(floats, from, target.floats, at, elements);
            case BF16, F16 -> System.arraycopy(words, from / 2, target.words, at / 2, elements / 2);
            case INT8 -> System.arraycopy(bytes, from, target.bytes, at, elements);
        }
    }

    /** Packs rows into F32 panels as {@link F32Panels#fromRows} does, and returns whether every element is finite. */
    public boolean packRows(float[] rows, int ld, int count, int columns, int at, int depth) {
        return F32Panels.fromRows(rows, ld, count, columns, floats, at, depth);
    }

    /** Packs transposed rows into F32 panels as {@link F32Panels#fromColumns} does. */
    public void packColumns(float[] rows, int depth, int columns, int at) {
        F32Panels.fromColumns(rows, depth, columns, floats, at);
    }
}
