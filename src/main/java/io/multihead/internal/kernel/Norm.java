package io.multihead.internal.kernel;

import static io.multihead.internal.kernel.Lanes.COUNT;
import static io.multihead.internal.kernel.Lanes.FLOATS;
import static io.multihead.internal.kernel.Lanes.PANEL;

import java.util.Arrays;
import jdk.incubator.vector.FloatVector;

/**
 * The passes of layer normalisation over one row of scratch. Every length is a multiple of 32; sums are 32 partial sums by
 * position, added by {@link RowOps#total}, so that they are the same for every lane width.
 */
public final class Norm {
    private Norm() {}

    /**
     * Subtracts the mean of a row of any length, if {@code centred}, and returns the factor that gives it variance 1.
     *
     * <p>The mean is subtracted in two steps: the first leaves numbers of the size of the deviation, whose own mean corrects
     * the rounding of the first. So a mean that is large beside the deviation costs no accuracy.
     *
     * @param row has room for a multiple of 32, and zeros behind its length
     */
    public static float standardize(float[] row, int length, boolean centred, double epsilon, float[] partial) {
        int padded = Lanes.roundUp(length, PANEL);
        float rest = 0f;
        if (centred) {
            float mean = sum(row, padded, partial) / length;
            Arrays.fill(row, length, padded, mean); // becomes 0 and counts for nothing
            rest = shift(row, padded, mean, partial) / length;
            Arrays.fill(row, length, padded, rest);
        }
        double squares = shiftForSquares(row, padded, rest, partial);
        return (float) (1 / Math.sqrt(squares / length + epsilon));
    }

    /** Returns the sum of a row. */
    public static float sum(float[] row, int length, float[] partial) {
        for (int slot = 0; slot < PANEL; slot += COUNT) {
            FloatVector sum = FloatVector.zero(FLOATS);
            for (int i = slot; i < length; i += PANEL) {
                sum = FloatVector.fromArray(FLOATS, row, i).add(sum);
            }
            sum.intoArray(partial, slot);
        }
        return RowOps.total(partial, 0);
    }

    /** {@code row -= by}; returns the sum of the results. */
    public static float shift(float[] row, int length, float by, float[] partial) {
        for (int slot = 0; slot < PANEL; slot += COUNT) {
            FloatVector sum = FloatVector.zero(FLOATS);
            for (int i = slot; i < length; i += PANEL) {
                FloatVector x = FloatVector.fromArray(FLOATS, row, i).sub(by);
                x.intoArray(row, i);
                sum = x.add(sum);
            }
            sum.intoArray(partial, slot);
        }
        return RowOps.total(partial, 0);
    }

    /** {@code row -= by}; returns the sum of the results' squares. */
    public static float shiftForSquares(float[] row, int length, float by, float[] partial) {
        for (int slot = 0; slot < PANEL; slot += COUNT) {
            FloatVector sum = FloatVector.zero(FLOATS);
            for (int i = slot; i < length; i += PANEL) {
                FloatVector x = FloatVector.fromArray(FLOATS, row, i).sub(by);
                x.intoArray(row, i);
                sum = x.fma(x, sum);
            }
            sum.intoArray(partial, slot);
        }
        return RowOps.total(partial, 0);
    }

    /** {@code row = row * factor * weight + bias}. */
    public static void affine(float[] row, int length, float factor, float[] weight, float[] bias) {
        for (int i = 0; i < length; i += COUNT) {
            FloatVector.fromArray(FLOATS, row, i)
                    .mul(factor)
                    .fma(FloatVector.fromArray(FLOATS, weight, i), FloatVector.fromArray(FLOATS, bias, i))
                    .intoArray(row, i);
        }
    }

    /** {@code gradient *= weight}; returns the dot product of the weighted gradient and the row. */
    public static float weigh(float[] gradient, float[] weight, float[] row, int length, float[] partial) {
        for (int slot = 0; slot < PANEL; slot += COUNT) {
            FloatVector sum = FloatVector.zero(FLOATS);
            for (int i = slot; i < length; i += PANEL) {
                FloatVector g =
                        FloatVector.fromArray(FLOATS, gradient, i).mul(FloatVector.fromArray(FLOATS, weight, i));
                g.intoArray(gradient, i);
                sum = g.fma(FloatVector.fromArray(FLOATS, row, i), sum);
            }
            sum.intoArray(partial, slot);
        }
        return RowOps.total(partial, 0);
    }

    /** {@code gradient = factor * (gradient - mean - row * slope)}. */
    public static void project(float[] gradient, float[] row, int length, float factor, float mean, float slope) {
        for (int i = 0; i < length; i += COUNT) {
            FloatVector.fromArray(FLOATS, row, i)
                    .fma(
                            FloatVector.broadcast(FLOATS, -slope),
                            FloatVector.fromArray(FLOATS, gradient, i).sub(mean))
                    .mul(factor)
                    .intoArray(gradient, i);
        }
    }

    /** {@code sum += a * b}, rounded once. */
    public static void addProduct(float[] sum, int at, float[] a, float[] b, int length) {
        for (int i = 0; i < length; i += COUNT) {
            FloatVector.fromArray(FLOATS, a, i)
                    .fma(FloatVector.fromArray(FLOATS, b, i), FloatVector.fromArray(FLOATS, sum, at + i))
                    .intoArray(sum, at + i);
        }
    }
}
