package io.multihead.internal.base;

import java.lang.foreign.MemorySegment;
import java.nio.ByteOrder;

/** Defines how kernels reach native memory by vectors, panels and rows of f32 of the softmax, and the unchanged contents of files. */
public final class NativeMemory {
    /** Byte order of panels. */
    public static final ByteOrder ORDER = ByteOrder.nativeOrder();

    /** Bytes of an f32, and of a word of two 16-bit elements. */
    public static final long WORD = 4;

    private static final Class<? extends MemorySegment> NATIVE = MemorySegment.NULL.getClass();

    private NativeMemory() {}

    /** Fails on a machine whose numbers in memory are not those of files. */
    public static void requireLittleEndian(String files) {
        if (ORDER != ByteOrder.LITTLE_ENDIAN) {
            throw new UnsupportedOperationException(files + ": little-endian files on a big-endian machine");
        }
    }

    /**
     * Returns the segment, of a type that C2 knows to be native. A segment's vector loads are compiled by the type profile of the JDK's own
     * code, which all of a JVM's users share: once anybody has read heap segments by vectors, C2 no longer knows the base of an address,
     * boxes every vector, and a tile runs at 1/25 of its speed (measured). A cast to a constant class is a type that no profile can spoil.
     */
    public static MemorySegment known(MemorySegment panels) {
        return NATIVE.cast(panels);
    }

    /** Returns whether a segment is one that {@link #known} takes. */
    public static boolean isNative(MemorySegment segment) {
        return NATIVE.isInstance(segment);
    }
}
