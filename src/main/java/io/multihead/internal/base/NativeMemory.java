package io.multihead.internal.base;

import java.lang.foreign.MemorySegment;
import java.nio.ByteOrder;

/** The access of kernels to native memory with vectors: to f32 panels, to rows of the softmax, and to the unchanged contents of files. */
public final class NativeMemory {
    /** The byte order of panels. */
    public static final ByteOrder ORDER = ByteOrder.nativeOrder();

    /** The bytes of an f32, and of a word of two 16-bit elements. */
    public static final long WORD = 4;

    private static final Class<? extends MemorySegment> NATIVE = MemorySegment.NULL.getClass();

    private NativeMemory() {}

    /** Fails on a machine whose byte order differs from the byte order of files. */
    public static void requireLittleEndian(String files) {
        if (ORDER != ByteOrder.LITTLE_ENDIAN) {
            throw new UnsupportedOperationException(files + ": little-endian files on a big-endian machine");
        }
    }

    /**
     * Returns the segment, of a type that C2 knows to be native. A segment's vector loads are compiled with the type profile of the JDK's
     * own code, which all users in a JVM share: after any code has read heap segments with vectors, C2 does not know the base of an
     * address, boxes every vector, and a tile runs at 1/25 of its speed (measured). A cast to a constant class gives a type that no profile
     * can change.
     */
    public static MemorySegment known(MemorySegment panels) {
        return NATIVE.cast(panels);
    }

    /** Returns whether a segment is of the class that {@link #known} accepts. */
    public static boolean isNative(MemorySegment segment) {
        return NATIVE.isInstance(segment);
    }
}
