package io.multihead.internal.kernel;

import static io.multihead.internal.kernel.Lanes.COUNT;
import static io.multihead.internal.kernel.Lanes.FLOATS;
import static io.multihead.internal.kernel.Lanes.PANEL;
import static io.multihead.internal.kernel.Lanes.ROW;

import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorMask;
import jdk.incubator.vector.VectorOperators;

/**
 * Element-wise passes of attention's backward. Scores are transposed: a row belongs to one key, and its columns are queries. Every length
 * is a multiple of 32.
 */
public final class ScoreGradient {
    /** The log-sum-exp of a column that sees no key: large enough that every weight is 0, but finite. */
    public static final float NO_KEYS = 3e38f;

    /** The largest number of columns, and of elements whose exponents are computed at a time, so that they stay in L1. */
    public static final int MOST_EXPONENTS = 2048;

    /** Floats of the buffer of {@link #of}: exponents, their rounding errors, and an unused output of {@link Exp#shifted}. */
    public static final int EXPONENTS = 2 * MOST_EXPONENTS + PANEL;

    /** The number of rows whose partial sums {@link #addDots} computes before it adds them. */
    private static final int DOTS = 16;

    /** Floats of the buffer of {@link #addDots}. */
    public static final int PARTIALS = DOTS * PANEL;

    private ScoreGradient() {}

    /**
     * Overwrites rows of scores s with {@code P = e^(scale s - lse)}, and rows of weight gradients dP with
     * {@code dS = P (dP - D)}. Where the score is minus infinity, both become 0, for all values of the other elements.
     *
     * <p>A difference of 6, as between equal scores and the log-sum-exp of 400 keys, rounds by up to 4 units of roundoff, and P would have
     * the same relative error. The rounding error is computed exactly (Fast2Sum, Dekker 1971) and corrected by a multiplication.
     *
     * @param score rows of s, {@link Lanes#ROW} floats apart, which become P
     * @param gradient rows of dP, which become dS; begin at the same index
     * @param length columns, at most {@link #MOST_EXPONENTS}
     * @param columns per column, {@code stride} floats apart: log-sum-exp ({@link #NO_KEYS} for columns without keys), the rounding error
     *     of its conversion to f32, and D
     * @param q0 the first column
     * @param buffer buffer of {@link #EXPONENTS} floats
     */
    public static void of(
            float[] score,
            float[] gradient,
            int at,
            int rows,
            int length,
            float scale,
            float[] columns,
            int stride,
            int q0,
            float[] buffer) {
        int most = MOST_EXPONENTS / length;
        for (int row = 0; row < rows; row += most) {
            int count = Math.min(most, rows - row);
            int from = at + row * ROW;
            int size = count * length;
            exponents(score, from, count, length, scale, columns, stride, q0, buffer);
            Exp.shifted(buffer, 0, size, 1f, 0f, buffer, 2 * size, 0f);
            weigh(score, gradient, from, count, length, columns, q0 + 2 * stride, buffer);
        }
    }

    /**
     * Computes {@code scale s - lse} of each element, and after these their rounding errors, which are minus infinity where the score is
     * hidden.
     */
    private static void exponents(
            float[] score,
            int at,
            int rows,
            int length,
            float scale,
            float[] columns,
            int stride,
            int q0,
            float[] exponents) {
        FloatVector factor = FloatVector.broadcast(FLOATS, scale);
        int lost = rows * length;
        for (int row = 0; row < rows; row++) {
            int from = at + row * ROW;
            int to = row * length;
            for (int i = 0; i < length; i += COUNT) {
                FloatVector lse = FloatVector.fromArray(FLOATS, columns, q0 + i);
                FloatVector s = FloatVector.fromArray(FLOATS, score, from + i).mul(factor);
                FloatVector x = s.sub(lse);
                x.intoArray(exponents, to + i);
                // exact if |s| <= |lse|; otherwise the error is no larger than the rounding error of s
                s.sub(x.add(lse))
                        .sub(FloatVector.fromArray(FLOATS, columns, q0 + i + stride))
                        .blend(Float.NEGATIVE_INFINITY, s.compare(VectorOperators.EQ, Float.NEGATIVE_INFINITY))
                        .intoArray(exponents, lost + to + i);
            }
        }
    }

    /**
     * Computes {@code P = p (1 + lost)} and {@code dS = P (dP - D)}. Both are 0 where the score is hidden, even if log-sum-exp or dP is
     * NaN.
     */
    private static void weigh(
            float[] score,
            float[] gradient,
            int at,
            int rows,
            int length,
            float[] columns,
            int d0,
            float[] exponentials) {
        int losses = rows * length;
        for (int row = 0; row < rows; row++) {
            int to = at + row * ROW;
            int from = row * length;
            for (int i = 0; i < length; i += COUNT) {
                FloatVector lost = FloatVector.fromArray(FLOATS, exponentials, losses + from + i);
                VectorMask<Float> hidden = lost.compare(VectorOperators.EQ, Float.NEGATIVE_INFINITY);
                FloatVector p = FloatVector.fromArray(FLOATS, exponentials, from + i);
                p = lost.fma(p, p).blend(0f, hidden);
                p.intoArray(score, to + i);
                FloatVector mean = FloatVector.fromArray(FLOATS, columns, d0 + i);
                FloatVector difference =
                        FloatVector.fromArray(FLOATS, gradient, to + i).sub(mean);
                difference.mul(p).blend(0f, hidden).intoArray(gradient, to + i);
            }
        }
    }

    /** Sets minus infinity in the columns to which key {@code key} is hidden: the columns whose limit is not above {@code key}. */
    public static void limit(float[] score, int at, int length, float[] limits, int q0, float key) {
        for (int i = 0; i < length; i += COUNT) {
            FloatVector seen = FloatVector.fromArray(FLOATS, limits, q0 + i);
            FloatVector.fromArray(FLOATS, score, at + i)
                    .blend(Float.NEGATIVE_INFINITY, seen.compare(VectorOperators.LE, key))
                    .intoArray(score, at + i);
        }
    }

    /**
     * Sets minus infinity in the columns to which a window hides key {@code key}: the columns whose first key is above {@code key}.
     *
     * @param firsts per column the first key that it sees
     */
    public static void limitBelow(float[] score, int at, int length, float[] firsts, int q0, float key) {
        for (int i = 0; i < length; i += COUNT) {
            FloatVector first = FloatVector.fromArray(FLOATS, firsts, q0 + i);
            FloatVector.fromArray(FLOATS, score, at + i)
                    .blend(Float.NEGATIVE_INFINITY, first.compare(VectorOperators.GT, key))
                    .intoArray(score, at + i);
        }
    }

    /**
     * Computes {@code score += slope (distance + key)}, with a slope and a distance for each column. The distance is exact up to
     * {@link ScoreOps#FAR}, beyond which {@code key} must be 0, and the product is rounded together with the sum, as in
     * {@link ScoreOps#addRamp}.
     */
    public static void addSlopes(
            float[] score, int at, int length, float[] slopes, float[] distances, int q0, float key) {
        for (int i = 0; i < length; i += COUNT) {
            FloatVector.fromArray(FLOATS, distances, q0 + i)
                    .add(key)
                    .fma(FloatVector.fromArray(FLOATS, slopes, q0 + i), FloatVector.fromArray(FLOATS, score, at + i))
                    .intoArray(score, at + i);
        }
    }

    /**
     * Computes {@code factor = 1 - t^2} with {@code t = capped / cap}, the derivative of {@code cap tanh(x / cap)}. The factor is at least
     * 0, because no capped score exceeds the cap.
     */
    public static void capDerivative(float[] capped, int at, int length, float cap, float[] factor) {
        FloatVector one = FloatVector.broadcast(FLOATS, 1f);
        for (int i = 0; i < length; i += COUNT) {
            FloatVector t = FloatVector.fromArray(FLOATS, capped, at + i).div(cap);
            t.neg().fma(t, one).intoArray(factor, at + i);
        }
    }

    /** Computes {@code gradient = gradient factor}, but 0 stays 0, since the factor of a hidden score may be NaN. */
    public static void multiplyUnlessZero(float[] gradient, int at, int length, float[] factor) {
        for (int i = 0; i < length; i += COUNT) {
            FloatVector g = FloatVector.fromArray(FLOATS, gradient, at + i);
            FloatVector.fromArray(FLOATS, factor, at + i)
                    .mul(g)
                    .blend(0f, g.compare(VectorOperators.EQ, 0f))
                    .intoArray(gradient, at + i);
        }
    }

    /** Sets a gradient to 0 where the softmax is 0, as for masked elements, whose gradient may have any value. */
    public static void dropWhereZero(float[] gradient, float[] softmax, int length) {
        for (int i = 0; i < length; i += COUNT) {
            FloatVector p = FloatVector.fromArray(FLOATS, softmax, i);
            FloatVector.fromArray(FLOATS, gradient, i)
                    .blend(0f, p.compare(VectorOperators.EQ, 0f))
                    .intoArray(gradient, i);
        }
    }

    /** Computes {@code gradient = factor p (gradient - mean)}, and 0 where p is 0. */
    public static void ofSoftmax(float[] gradient, float[] softmax, int length, float mean, float factor) {
        for (int i = 0; i < length; i += COUNT) {
            FloatVector p = FloatVector.fromArray(FLOATS, softmax, i);
            FloatVector.fromArray(FLOATS, gradient, i)
                    .sub(mean)
                    .mul(p)
                    .mul(factor)
                    .blend(0f, p.compare(VectorOperators.EQ, 0f))
                    .intoArray(gradient, i);
        }
    }

    /**
     * Computes {@code sum = (sum + c) * factor} with the compensation term c of each element; -0 becomes +0.
     *
     * @param rows rows, {@code stride} floats apart
     * @param compensation distance in floats from an element to its compensation term
     */
    public static void fold(float[] sum, int rows, int stride, int compensation, int length, float factor) {
        for (int row = 0; row < rows; row++) {
            int at = row * stride;
            for (int i = 0; i < length; i += COUNT) {
                FloatVector.fromArray(FLOATS, sum, at + i)
                        .add(FloatVector.fromArray(FLOATS, sum, at + i + compensation))
                        .mul(factor)
                        .add(0f)
                        .intoArray(sum, at + i);
            }
        }
    }

    /** Returns the dot product of two rows, always summed in the same tree. */
    public static float dot(float[] a, int a0, float[] b, int b0, int length, float[] partial) {
        partialSums(a, a0, b, b0, length, partial, 0);
        return RowOps.total(partial, 0);
    }

    /**
     * Adds the dot product of each row of a and the row of b with the same index, with rows {@link Lanes#ROW} floats apart, to the element
     * of the row. The dot products are the same as with {@link #dot}, but no sum waits for the previous partial sums.
     *
     * @param buffer buffer of {@link #PARTIALS} floats
     */
    public static void addDots(
            float[] a, int a0, float[] b, int b0, int rows, int length, float[] to, int t0, float[] buffer) {
        for (int row = 0; row < rows; row += DOTS) {
            int count = Math.min(DOTS, rows - row);
            for (int r = 0; r < count; r++) {
                int at = (row + r) * ROW;
                partialSums(a, a0 + at, b, b0 + at, length, buffer, r * PANEL);
            }
            for (int r = 0; r < count; r++) {
                to[t0 + row + r] += RowOps.total(buffer, r * PANEL);
            }
        }
    }

    private static void partialSums(float[] a, int a0, float[] b, int b0, int length, float[] partial, int p0) {
        for (int slot = 0; slot < PANEL; slot += COUNT) {
            FloatVector sum = FloatVector.zero(FLOATS);
            for (int i = slot; i < length; i += PANEL) {
                sum = FloatVector.fromArray(FLOATS, a, a0 + i).fma(FloatVector.fromArray(FLOATS, b, b0 + i), sum);
            }
            sum.intoArray(partial, p0 + slot);
        }
    }

    /** Sets non-finite elements of rows, {@link Lanes#ROW} floats apart, to 0 and returns whether there were any. */
    public static boolean zeroNonFinite(float[] rows, int at, int count, int length) {
        FloatVector zero = FloatVector.zero(FLOATS);
        FloatVector finite = zero;
        for (int row = 0; row < count; row++) {
            for (int i = 0; i < length; i += COUNT) {
                finite = FloatVector.fromArray(FLOATS, rows, at + row * ROW + i).fma(zero, finite);
            }
        }
        // infinity * 0 and NaN * 0 are NaN, and NaN stays in the sum
        if (!finite.test(VectorOperators.IS_NAN).anyTrue()) {
            return false;
        }
        for (int row = 0; row < count; row++) {
            for (int i = at + row * ROW; i < at + row * ROW + length; i++) {
                rows[i] = Float.isFinite(rows[i]) ? rows[i] : 0f;
            }
        }
        return true;
    }
}
