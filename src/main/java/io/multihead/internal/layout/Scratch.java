package io.multihead.internal.layout;

/**
 * Allocates the scratch arrays of one thread and counts their bytes. Arrays grow and are kept, so that a warm call allocates
 * nothing. One thread allocates; any thread may read the count.
 */
public final class Scratch {
    private volatile long bytes;

    /** Creates an allocator without arrays. */
    public Scratch() {}

    /** Returns the bytes of all arrays that were allocated here and not replaced by longer ones. */
    public long bytes() {
        return bytes;
    }

    /** Returns {@code array} if it holds {@code length} elements, else a new, longer array that replaces it. */
    public float[] atLeast(float[] array, int length) {
        if (array.length >= length) {
            return array;
        }
        float[] longer = new float[length];
        count(length - array.length, Float.BYTES);
        return longer;
    }

    /** Returns {@code array} if it holds {@code length} elements, else a new, longer array that replaces it. */
    public double[] atLeast(double[] array, int length) {
        if (array.length >= length) {
            return array;
        }
        double[] longer = new double[length];
        count(length - array.length, Double.BYTES);
        return longer;
    }

    /** Returns {@code array} if it holds {@code length} elements, else a new, longer array that replaces it. */
    public short[] atLeast(short[] array, int length) {
        if (array.length >= length) {
            return array;
        }
        short[] longer = new short[length];
        count(length - array.length, Short.BYTES);
        return longer;
    }

    /** Returns {@code array} if it holds {@code length} elements, else a new, longer array that replaces it. */
    public byte[] atLeast(byte[] array, int length) {
        if (array.length >= length) {
            return array;
        }
        byte[] longer = new byte[length];
        count(length - array.length, Byte.BYTES);
        return longer;
    }

    /** Returns {@code panels} if it holds {@code elements} elements, else new, longer F32 memory that replaces it. */
    public PanelMemory atLeast(PanelMemory panels, int elements) {
        if (panels.elements() >= elements) {
            return panels;
        }
        PanelMemory longer = PanelMemory.allocate(PanelFormat.F32, elements);
        count(elements - (int) panels.elements(), Float.BYTES);
        return longer;
    }

    @SuppressWarnings("NonAtomicVolatileUpdate") // only the owning thread writes
    private void count(int elements, int size) {
        bytes += (long) elements * size;
    }
}
