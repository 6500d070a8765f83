package io.multihead.internal.kernel;

/** Scratch arrays that grow and are kept: after warm-up no call allocates. */
public final class Scratch {
    private Scratch() {}

    /** {@code array} if it holds {@code length} elements, else a new array that does. */
    public static float[] atLeast(float[] array, int length) {
        return array.length >= length ? array : new float[length];
    }

    /** {@code array} if it holds {@code length} elements, else a new array that does. */
    public static double[] atLeast(double[] array, int length) {
        return array.length >= length ? array : new double[length];
    }

    /** {@code array} if it holds {@code length} elements, else a new array that does. */
    public static short[] atLeast(short[] array, int length) {
        return array.length >= length ? array : new short[length];
    }

    /** {@code array} if it holds {@code length} elements, else a new array that does. */
    public static byte[] atLeast(byte[] array, int length) {
        return array.length >= length ? array : new byte[length];
    }
}
