package io.multihead.internal.layout;

import static io.multihead.internal.kernel.Lanes.PANEL;

import io.multihead.internal.base.Checks;
import io.multihead.internal.kernel.F32Panels;
import io.multihead.internal.kernel.Int8Panels;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * Native memory that holds panels of one format and begins on a cache line: elements of a Java array begin 16 bytes after the object, so
 * every load of 64 bytes would cross a line. Only the kernels that compute with panels know the segment; other code stores, widens and
 * copies through this class. Positions count elements, row by row.
 *
 * <p>Rows that different threads store must not share a row of a panel. Otherwise, this class is as thread-safe as memory.
 */
public final class PanelMemory {
    /** Bytes of a cache line. */
    public static final long ALIGNMENT = 64;

    /** Memory without elements. */
    public static final PanelMemory NONE = new PanelMemory(PanelFormat.F32, MemorySegment.NULL);

    private final PanelFormat format;
    private final MemorySegment segment;

    private PanelMemory(PanelFormat format, MemorySegment segment) {
        this.format = format;
        this.segment = segment;
    }

    /**
     * Returns memory for {@code elements} elements, all zero, in an arena.
     *
     * @throws IllegalArgumentException if the arena's memory is not native memory on cache lines
     * @throws OutOfMemoryError if the system, or in an automatic arena the JVM, has too little memory
     */
    public static PanelMemory allocate(Arena arena, PanelFormat format, int elements) {
        return of(format, segment(arena, format.offset(elements)), "arena");
    }

    /** Returns zeroed native memory of an arena that begins on a cache line, or fails like {@link #allocate} if there is too little memory. */
    public static MemorySegment segment(Arena arena, long bytes) {
        try {
            return arena.allocate(bytes, ALIGNMENT);
        } catch (OutOfMemoryError e) {
            String message = e.getMessage() + ": " + bytes + " bytes of native memory for panels";
            throw (Error) new OutOfMemoryError(message).initCause(e);
        }
    }

    /** Returns panels in memory of the caller, which must be native and begin on a cache line. */
    public static PanelMemory of(PanelFormat format, MemorySegment segment, String argument) {
        if (!segment.isNative() || segment.address() % ALIGNMENT != 0) {
            throw Checks.fail(
                    argument, segment.toString(), "expected native memory aligned to " + ALIGNMENT + " bytes");
        }
        return new PanelMemory(format, segment);
    }

    public PanelFormat format() {
        return format;
    }

    /** Returns the memory, for kernels. */
    public MemorySegment segment() {
        return segment;
    }

    public long elements() {
        return format.elements(segment.byteSize());
    }

    /** Stores {@code length} floats in one row of a panel, from element {@code at} on, and rounds each float once. */
    public void storeRow(float[] rows, int from, int length, int at) {
        switch (format) {
            case F32 -> F32Panels.storeRow(rows, from, length, segment, format.offset(at));
            case BF16, F16 -> format.halves().narrow(rows, from, length, segment, at);
            case INT8 -> Int8Panels.narrow(rows, from, length, segment, at);
            default -> throw new IllegalStateException("format: " + format + "; expected one of rows");
        }
    }

    /**
     * Stores {@code count} whole rows of 32 floats as rows of one panel, and rounds each element once.
     *
     * @param words room for {@code 16 count} words
     */
    public void storeRows(float[] rows, int count, int[] words, int at) {
        switch (format) {
            case BF16, F16 -> format.halves().store(rows, count, words, segment, format.offset(at));
            default -> throw new IllegalStateException("format: " + format + "; expected BF16 or F16");
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

    /** Zeros one row of the F32 panels that {@code length} floats fill, {@code stride} elements apart. */
    public void zeroRow(int length, int at, int stride) {
        F32Panels.zeroPanels(length, segment, format.offset(at), format.offset(stride));
    }

    /** Copies the row of an F32 panel that begins at element {@code at} to a buffer of 32 floats. */
    public void loadRow(int at, float[] to) {
        F32Panels.load(segment, format.offset(at), PANEL, to, 0);
    }

    /** Stores the words of a panel of quantized blocks whose first element is {@code at}. */
    public void storeWords(int[] words, int count, int at) {
        MemorySegment.copy(words, 0, segment, ValueLayout.JAVA_INT, format.offset(at), count);
    }

    /** Copies {@code count} rows of an F32 panel, from element {@code at} on, to an array. */
    public void loadRows(int at, int count, float[] to) {
        MemorySegment.copy(segment, ValueLayout.JAVA_FLOAT, format.offset(at), to, 0, count * PANEL);
    }

    /** Copies {@code count} whole rows of floats to rows of an F32 panel, from element {@code at} on. */
    public void copyRows(float[] rows, int count, int at) {
        MemorySegment.copy(rows, 0, segment, ValueLayout.JAVA_FLOAT, format.offset(at), count * PANEL);
    }

    /**
     * Widens {@code rows} whole rows of a panel, from element {@code from} on, to rows of F32 panels.
     *
     * @param scales scales of INT8 rows, from {@code s0} on; empty for none
     */
    public void widen(int from, int rows, float[] scales, int s0, PanelMemory target, int at) {
        long offset = format.offset(from);
        long to = target.format.offset(at);
        switch (format) {
            case F32 -> target.segment.asSlice(to).copyFrom(segment.asSlice(offset, rows * (long) PANEL * Float.BYTES));
            case BF16, F16 -> format.halves().widen(segment, offset, rows, target.segment, to);
            case INT8 -> Int8Panels.widen(segment, offset, rows, scales, s0, target.segment, to);
            default -> throw new IllegalStateException("format: " + format + "; expected one of rows");
        }
    }

    /** Returns the f32 at index {@code at}, counted in floats: a scale that is stored separately from INT8 panels. */
    public float scale(int at) {
        return segment.getAtIndex(ValueLayout.JAVA_FLOAT, at);
    }

    /** Stores a scale at index {@code at}, counted in floats. */
    public void storeScale(int at, float scale) {
        segment.setAtIndex(ValueLayout.JAVA_FLOAT, at, scale);
    }

    /** Copies scales from index {@code at} on, counted in floats, to an array, for kernels. */
    public void loadScales(int at, int count, float[] to, int t0) {
        MemorySegment.copy(segment, ValueLayout.JAVA_FLOAT, (long) at * Float.BYTES, to, t0, count);
    }

    /** Stores the first {@code count} scales of an array from index {@code at} on, counted in floats. */
    public void storeScales(int at, float[] scales, int count) {
        MemorySegment.copy(scales, 0, segment, ValueLayout.JAVA_FLOAT, (long) at * Float.BYTES, count);
    }

    /** Copies whole rows of panels, or scales, to memory of the same format. */
    public void copyTo(int from, PanelMemory target, int at, int elements) {
        MemorySegment.copy(segment, format.offset(from), target.segment, format.offset(at), format.offset(elements));
    }

    /** Packs rows into F32 panels as {@link F32Panels#fromRows} does, and returns whether every element is finite. */
    public boolean packRows(float[] rows, int r0, int ld, int count, int columns, int at, int depth) {
        return F32Panels.fromRows(rows, r0, ld, count, columns, segment, format.offset(at), depth);
    }

    /**
     * Packs rows into F32 panels as {@link F32Panels#copyRows} does.
     *
     * @param buffer at least {@code 32 count} floats
     */
    public void copyRows(float[] rows, int ld, int count, int columns, float[] buffer, int at, int depth) {
        F32Panels.copyRows(rows, ld, count, columns, buffer, segment, format.offset(at), depth);
    }

    /**
     * Packs transposed rows into F32 panels as {@link F32Panels#fromColumns} does.
     *
     * @param buffer at least {@code 32 depth} floats
     */
    public void packColumns(float[] rows, int r0, int depth, int columns, float[] buffer, int at) {
        F32Panels.fromColumns(rows, r0, depth, columns, buffer, segment, format.offset(at));
    }
}
