package io.multihead.internal.kernel;

import static io.multihead.internal.kernel.Lanes.COUNT;
import static io.multihead.internal.kernel.Lanes.FLOATS;
import static io.multihead.internal.kernel.Lanes.PANEL;

import io.multihead.internal.base.WarmUp;
import java.util.Arrays;
import jdk.incubator.vector.FloatVector;

/**
 * The passes of layer normalization over one row of scratch. Every length is a multiple of 32. Sums are 32 partial sums by position, which
 * {@link RowOps#total} adds, so that they are the same for every lane width.
 */
public final class Norm {
    private static final WarmUp WARM_UP = new WarmUp(new WarmUp.Trial() {
        private static final int LENGTH = 12 * PANEL;
        private final float[] row = new float[LENGTH];
        private final float[] partial = new float[PANEL];

        @Override
        public int operations() {
            return LENGTH / COUNT * 14;
        }

        @Override
        public void run(int lengthFactor, int calls) {
            for (int call = 0; call < calls; call++) {
                sum(row, lengthFactor * LENGTH, partial);
                shift(row, lengthFactor * LENGTH, 0f, partial);
                shiftForSquares(row, lengthFactor * LENGTH, 0f, partial);
                affineVectors(row, lengthFactor * LENGTH, 0f, row, row);
            }
        }
    });

    private Norm() {}

    /**
     * Subtracts the mean of a row of any length, if {@code centered}, and returns the factor that gives it variance 1.
     *
     * <p>The mean is subtracted in two steps: the first leaves values of the size of the deviation, whose mean corrects the rounding error
     * of the first step. Therefore a mean that is large compared with the deviation costs no accuracy.
     *
     * @param row the row, with room for a multiple of 32, and zeros after its length
     */
    public static float standardize(float[] row, int length, boolean centered, double epsilon, float[] partial) {
        boolean vectors = WARM_UP.isOver();
        int padded = Lanes.roundUp(length, PANEL);
        float rest = 0f;
        if (centered) {
            float sum = vectors ? sum(row, padded, partial) : shiftScalars(row, padded, 0f, false, partial);
            float mean = sum / length;
            Arrays.fill(row, length, padded, mean); // these elements become 0 and have no effect
            sum = vectors ? shift(row, padded, mean, partial) : shiftScalars(row, padded, mean, false, partial);
            rest = sum / length;
            Arrays.fill(row, length, padded, rest);
        }
        double squares =
                vectors ? shiftForSquares(row, padded, rest, partial) : shiftScalars(row, padded, rest, true, partial);
        return (float) (1 / Math.sqrt(squares / length + epsilon));
    }

    public static float sum(float[] row, int length, float[] partial) {
        if (length <= 0) { // see WarmUp.Trial
            for (int i = length; i < 0; i += COUNT) {}
            return 0f;
        }
        for (int slot = 0; slot < PANEL; slot += COUNT) {
            FloatVector sum = FloatVector.zero(FLOATS);
            for (int i = slot; i < length; i += PANEL) {
                sum = FloatVector.fromArray(FLOATS, row, i).add(sum);
            }
            sum.intoArray(partial, slot);
        }
        return RowOps.total(partial, 0);
    }

    /** Computes {@code row -= by}, and returns the sum of the results. */
    static float shift(float[] row, int length, float by, float[] partial) {
        if (length <= 0) { // see WarmUp.Trial
            for (int i = length; i < 0; i += COUNT) {}
            return 0f;
        }
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

    /** Computes {@code row -= by}, and returns the sum of the squares of the results. */
    static float shiftForSquares(float[] row, int length, float by, float[] partial) {
        if (length <= 0) { // see WarmUp.Trial
            for (int i = length; i < 0; i += COUNT) {}
            return 0f;
        }
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

    /**
     * Does the work of {@link #shift} without vectors, or of {@link #shiftForSquares} with {@code squared}, or of {@link #sum} if {@code
     * by} is 0.
     */
    static float shiftScalars(float[] row, int length, float by, boolean squared, float[] partial) {
        for (int slot = 0; slot < PANEL; slot++) {
            float sum = 0f;
            for (int i = slot; i < length; i += PANEL) {
                float x = row[i] - by;
                row[i] = x;
                sum = squared ? Math.fma(x, x, sum) : x + sum;
            }
            partial[slot] = sum;
        }
        return RowOps.total(partial, 0);
    }

    /** Computes {@code row = row * factor * weight + bias}. */
    public static void affine(float[] row, int length, float factor, float[] weight, float[] bias) {
        if (WARM_UP.isOver()) {
            affineVectors(row, length, factor, weight, bias);
        } else {
            affineScalars(row, length, factor, weight, bias);
        }
    }

    static void affineScalars(float[] row, int length, float factor, float[] weight, float[] bias) {
        for (int i = 0; i < length; i++) {
            row[i] = Math.fma(row[i] * factor, weight[i], bias[i]);
        }
    }

    static void affineVectors(float[] row, int length, float factor, float[] weight, float[] bias) {
        if (length <= 0) { // see WarmUp.Trial
            for (int i = length; i < 0; i += COUNT) {}
            return;
        }
        for (int i = 0; i < length; i += COUNT) {
            FloatVector.fromArray(FLOATS, row, i)
                    .mul(factor)
                    .fma(FloatVector.fromArray(FLOATS, weight, i), FloatVector.fromArray(FLOATS, bias, i))
                    .intoArray(row, i);
        }
    }

    /** Computes {@code gradient *= weight}, and returns the dot product of the weighted gradient and the row. */
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

    /** Computes {@code gradient = factor * (gradient - mean - row * slope)}. */
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

    /** Computes {@code sum += a * b}, rounded once. */
    public static void addProduct(float[] sum, int at, float[] a, float[] b, int length) {
        for (int i = 0; i < length; i += COUNT) {
            FloatVector.fromArray(FLOATS, a, i)
                    .fma(FloatVector.fromArray(FLOATS, b, i), FloatVector.fromArray(FLOATS, sum, at + i))
                    .intoArray(sum, at + i);
        }
    }
}
