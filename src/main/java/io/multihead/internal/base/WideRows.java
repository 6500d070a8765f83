package io.multihead.internal.base;

/**
 * Element-wise passes over rows of f32 in which every element is computed in double and rounded once. C2 vectorizes these loops, as fast as
 * loops written with vectors (0.1 to 0.3 ns per element, Zen 4).
 */
public final class WideRows {
    private WideRows() {}

    /** Computes {@code row = (float) (factor * row)}. */
    public static void scale(float[] row, int length, double factor) {
        for (int i = 0; i < length; i++) {
            row[i] = (float) (factor * row[i]);
        }
    }

    /** Computes {@code row = (float) (factor * row + otherFactor * other)}; both products are rounded to double. */
    public static void mix(float[] row, double factor, float[] other, double otherFactor, int length) {
        for (int i = 0; i < length; i++) {
            row[i] = (float) (factor * row[i] + otherFactor * other[i]);
        }
    }

    /** Computes {@code sums += row}. */
    public static void add(double[] sums, float[] row, int length) {
        for (int i = 0; i < length; i++) {
            sums[i] += row[i];
        }
    }

    /** Computes {@code row = (float) (sums / divisor)}. */
    public static void divide(double[] sums, double divisor, float[] row, int length) {
        for (int i = 0; i < length; i++) {
            row[i] = (float) (sums[i] / divisor);
        }
    }

    /** Returns a sum plus the products of two rows, added sequentially: the order is part of the result. */
    public static double dotInOrder(double first, float[] a, float[] b, int length) {
        double sum = first;
        for (int i = 0; i < length; i++) {
            sum += (double) a[i] * b[i];
        }
        return sum;
    }
}
