package io.multihead.internal.encoder.run;

import java.util.Arrays;

/**
 * Collects vectors in the order of their texts. The number of texts may differ from the number that the list reports first. An object is
 * reused.
 */
public final class Vectors implements VectorSink {
    private static final float[][] NONE = {};

    private float[][] all = NONE;
    private int count;

    public void begin(int expected) {
        all = new float[expected][];
        count = 0;
    }

    /** Removes the vectors. */
    public void end() {
        all = NONE;
        count = 0;
    }

    @Override
    public void accept(float[] vector, int tokens, int ignored) {
        requireFinite(vector, "text", count);
        if (count == all.length) {
            all = Arrays.copyOf(all, 2 * count + 1);
        }
        all[count++] = vector;
    }

    public int count() {
        return count;
    }

    /**
     * Fails if an element is NaN or infinite, for example because of weights that overflow; {@code name} and {@code number} identify the
     * text.
     */
    public static void requireFinite(float[] vector, String name, long number) {
        for (float element : vector) {
            requireFinite(element, name, number);
        }
    }

    public static void requireFinite(double element, String name, long number) {
        if (!(Math.abs(element) <= Double.MAX_VALUE)) {
            throw new ArithmeticException(name + " " + number + ": " + element
                    + " in the model's results; expected finite numbers, which its weights do not give");
        }
    }

    /** Returns the vectors, which then belong to the receiver. */
    public float[][] toArray() {
        return all.length == count ? all : Arrays.copyOf(all, count);
    }
}
