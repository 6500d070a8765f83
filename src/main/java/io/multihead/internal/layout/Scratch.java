package io.multihead.internal.layout;

import java.lang.ref.Reference;

/**
 * Allocates the scratch memory of one thread, arrays and native panels, and counts its bytes. The memory grows and is kept, so that a warm call
 * allocates nothing. One thread allocates and closes; any thread may read the count.
 */
public final class Scratch implements AutoCloseable {
    private final ScratchPanels panels = new ScratchPanels(this);
    private volatile long bytes;

    /** Creates an allocator without arrays. */
    public Scratch() {}

    /** Returns the number of bytes of all memory that was allocated here and not replaced by longer memory. */
    public long bytes() {
        return bytes;
    }

    /** Returns {@code array} if it holds {@code length} elements, else a new, longer array that replaces it; contents are not copied. */
    public float[] atLeast(float[] array, int length) {
        if (array.length >= length) {
            return array;
        }
        float[] longer = new float[length];
        count(length - array.length, Float.BYTES);
        return longer;
    }

    /** Returns {@code array} if it holds {@code length} elements, else a new, longer array that replaces it; contents are not copied. */
    public int[] atLeast(int[] array, int length) {
        if (array.length >= length) {
            return array;
        }
        int[] longer = new int[length];
        count(length - array.length, Integer.BYTES);
        return longer;
    }

    /** Returns {@code array} if it holds {@code length} elements, else a new, longer array that replaces it; contents are not copied. */
    public double[] atLeast(double[] array, int length) {
        if (array.length >= length) {
            return array;
        }
        double[] longer = new double[length];
        count(length - array.length, Double.BYTES);
        return longer;
    }

    /** Returns {@code array} if it holds {@code length} elements, else a new, longer array that replaces it; contents are not copied. */
    public short[] atLeast(short[] array, int length) {
        if (array.length >= length) {
            return array;
        }
        short[] longer = new short[length];
        count(length - array.length, Short.BYTES);
        return longer;
    }

    /** Returns {@code array} if it holds {@code length} elements, else a new, longer array that replaces it; contents are not copied. */
    public byte[] atLeast(byte[] array, int length) {
        if (array.length >= length) {
            return array;
        }
        byte[] longer = new byte[length];
        count(length - array.length, Byte.BYTES);
        return longer;
    }

    /** Returns {@code panels} if it holds {@code elements} elements, else longer F32 memory that replaces it; contents are not copied. */
    public PanelMemory atLeast(PanelMemory panels, int elements) {
        if (panels.elements() >= elements) {
            return panels;
        }
        ScratchPanels.freeUnreachable();
        PanelMemory longer = this.panels.replace(panels, elements);
        count(elements - (int) panels.elements(), Float.BYTES);
        return longer;
    }

    /** Frees the panels, which must not be used afterwards. */
    @Override
    public void close() {
        panels.free();
        // up to here this object must not become garbage, because any thread may free the panels of garbage
        Reference.reachabilityFence(this);
    }

    @SuppressWarnings("NonAtomicVolatileUpdate") // only the owning thread writes
    private void count(int elements, int size) {
        bytes += (long) elements * size;
    }
}
