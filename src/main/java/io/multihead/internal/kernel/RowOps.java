package io.multihead.internal.kernel;

import static io.multihead.internal.kernel.Lanes.COUNT;
import static io.multihead.internal.kernel.Lanes.FLOATS;
import static io.multihead.internal.kernel.Lanes.PANEL;

import io.multihead.internal.base.WarmUp;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.VectorMask;
import jdk.incubator.vector.VectorOperators;

/** Element-wise passes over one row of scratch. Every length is a multiple of the number of lanes, so there are no tails. */
public final class RowOps {
    private static final WarmUp WARM_UP = new WarmUp(new WarmUp.Trial() {
        private static final int LENGTH = 8 * PANEL;
        private final float[] row = new float[2 * LENGTH];

        @Override
        public int operations() {
            return LENGTH / COUNT * 14;
        }

        @Override
        public void run(int lengthFactor, int calls) {
            for (int call = 0; call < calls; call++) {
                addVectors(row, 0, lengthFactor * LENGTH, row, LENGTH);
                foldAndDivideVectors(row, 0, LENGTH, lengthFactor * LENGTH, 1f);
                // one length is an even, the other an odd number of vectors
                maxVectors(row, 0, lengthFactor * LENGTH);
                maxVectors(row, 0, lengthFactor * (LENGTH + COUNT));
            }
        }
    });

    private RowOps() {}

    /**
     * Returns the largest element; NaN is skipped, a row of only NaN gives minus infinity, and -0 becomes +0.
     *
     * @param length a multiple of the number of lanes
     */
    public static float max(float[] row, int at, int length) {
        return max(isCompiled(), row, at, length);
    }

    /** Returns whether vectors are fast, for callers that query it once for many rows. */
    public static boolean isCompiled() {
        return WARM_UP.isOver();
    }

    /** Returns the largest element as {@link #max(float[], int, int)} does, with the result of {@link #isCompiled} as an argument. */
    public static float max(boolean isCompiled, float[] row, int at, int length) {
        return isCompiled ? maxVectors(row, at, length) : maxScalars(row, at, length);
    }

    static float maxScalars(float[] row, int at, int length) {
        float max = Float.NEGATIVE_INFINITY;
        for (int i = at; i < at + length; i++) {
            max = row[i] > max ? row[i] : max;
        }
        return max + 0f;
    }

    static float maxVectors(float[] row, int at, int length) {
        if (length <= 0) { // see WarmUp.Trial
            for (int i = length; i < 0; i += COUNT) {}
            return Float.NEGATIVE_INFINITY;
        }
        FloatVector low = FloatVector.broadcast(FLOATS, Float.NEGATIVE_INFINITY);
        FloatVector high = low;
        int end = at + length;
        int i = at;
        for (; i + COUNT < end; i += 2 * COUNT) {
            // compare and blend, since lanewise MAX must order -0 and NaN and takes five instructions
            FloatVector a = FloatVector.fromArray(FLOATS, row, i);
            low = low.blend(a, a.compare(VectorOperators.GT, low));
            FloatVector b = FloatVector.fromArray(FLOATS, row, i + COUNT);
            high = high.blend(b, b.compare(VectorOperators.GT, high));
        }
        if (i < end) {
            FloatVector last = FloatVector.fromArray(FLOATS, row, i);
            low = low.blend(last, last.compare(VectorOperators.GT, low));
        }
        // integers of the same order are reduced without a special treatment of -0 and NaN, which saves 1 % of
        // attention
        IntVector bits = low.blend(high, high.compare(VectorOperators.GT, low)).reinterpretAsInts();
        int ordered = bits.lanewise(
                        VectorOperators.XOR,
                        bits.lanewise(VectorOperators.ASHR, 31).and(Integer.MAX_VALUE))
                .reduceLanes(VectorOperators.MAX);
        return Float.intBitsToFloat(ordered ^ ordered >> 31 & Integer.MAX_VALUE) + 0f;
    }

    /** Computes {@code row *= factor}. */
    public static void scale(float[] row, int at, int length, float factor) {
        for (int i = 0; i < length; i += COUNT) {
            FloatVector.fromArray(FLOATS, row, at + i).mul(factor).intoArray(row, at + i);
        }
    }

    /** Computes {@code row *= factors}. */
    public static void multiply(float[] row, int at, int length, float[] factors, int f0) {
        for (int i = 0; i < length; i += COUNT) {
            FloatVector.fromArray(FLOATS, row, at + i)
                    .mul(FloatVector.fromArray(FLOATS, factors, f0 + i))
                    .intoArray(row, at + i);
        }
    }

    /**
     * Computes {@code row = (row + c) / divisor} with the compensation term c of each element; -0 becomes +0.
     *
     * @param isCompiled the result of {@link #isCompiled}
     * @param compensation distance in floats from an element to its compensation term
     */
    public static void foldAndDivide(
            boolean isCompiled, float[] row, int at, int compensation, int length, float divisor) {
        if (isCompiled) {
            foldAndDivideVectors(row, at, compensation, length, divisor);
        } else {
            foldAndDivideScalars(row, at, compensation, length, divisor);
        }
    }

    static void foldAndDivideScalars(float[] row, int at, int compensation, int length, float divisor) {
        for (int i = at; i < at + length; i++) {
            row[i] = (row[i] + row[i + compensation]) / divisor + 0f;
        }
    }

    static void foldAndDivideVectors(float[] row, int at, int compensation, int length, float divisor) {
        if (length <= 0) { // see WarmUp.Trial
            for (int i = length; i < 0; i += COUNT) {}
            return;
        }
        for (int i = 0; i < length; i += COUNT) {
            FloatVector sum = FloatVector.fromArray(FLOATS, row, at + i)
                    .add(FloatVector.fromArray(FLOATS, row, at + i + compensation));
            sum.div(divisor).add(0f).intoArray(row, at + i);
        }
    }

    /** Computes {@code row /= divisor}; -0 becomes +0. */
    public static void divide(float[] row, int at, int length, float divisor) {
        for (int i = 0; i < length; i += COUNT) {
            FloatVector.fromArray(FLOATS, row, at + i).div(divisor).add(0f).intoArray(row, at + i);
        }
    }

    /**
     * Computes {@code row /= sum} for exponentials and their sum: elements from 0 to 1, or NaN.
     *
     * <p>Each quotient is {@code q = x r} with {@code r = 1 / sum}, plus its remainder {@code (x - q sum) r} (Markstein 1990). r and q are
     * each rounded once, so the remainder is at most 2 u of the quotient. The computation of the remainder has two roundings, so the error
     * of the remainder is at most 4 u^2 of the quotient. The error is half an ulp plus 2^-22 ulp, and at most 2^-149 more if the remainder
     * underflows. A division of 16 lanes takes 6.2 cycles, and these three operations take about half (Zen 4).
     *
     * @param sum from 1 to 2^31, or NaN
     */
    public static void normalize(float[] row, int at, int length, float sum) {
        FloatVector reciprocal = FloatVector.broadcast(FLOATS, 1f / sum);
        FloatVector negative = FloatVector.broadcast(FLOATS, -sum);
        for (int i = 0; i < length; i += COUNT) {
            FloatVector x = FloatVector.fromArray(FLOATS, row, at + i);
            FloatVector q = x.mul(reciprocal);
            q.fma(negative, x).fma(reciprocal, q).intoArray(row, at + i);
        }
    }

    /** Returns whether the softmax of a row of scores is NaN: one of them is NaN or plus infinity. */
    public static boolean hasNoSoftmax(float[] row, int at, int length) {
        boolean found = false;
        for (int i = at; i < at + length; i++) {
            found |= !(row[i] < Float.POSITIVE_INFINITY);
        }
        return found;
    }

    /** Sets NaN where a score is not minus infinity: the weights of all keys that a row without softmax sees. */
    public static void spreadNaN(float[] row, int at, int length) {
        for (int i = at; i < at + length; i++) {
            row[i] = row[i] == Float.NEGATIVE_INFINITY ? row[i] : Float.NaN;
        }
    }

    /** Computes {@code row += addends}. */
    public static void add(float[] row, int at, int length, float[] addends, int a0) {
        if (WARM_UP.isOver()) {
            addVectors(row, at, length, addends, a0);
        } else {
            addScalars(row, at, length, addends, a0);
        }
    }

    static void addScalars(float[] row, int at, int length, float[] addends, int a0) {
        for (int i = 0; i < length; i++) {
            row[at + i] += addends[a0 + i];
        }
    }

    static void addVectors(float[] row, int at, int length, float[] addends, int a0) {
        if (length <= 0) { // see WarmUp.Trial
            for (int i = length; i < 0; i += COUNT) {}
            return;
        }
        for (int i = 0; i < length; i += COUNT) {
            FloatVector.fromArray(FLOATS, row, at + i)
                    .add(FloatVector.fromArray(FLOATS, addends, a0 + i))
                    .intoArray(row, at + i);
        }
    }

    /** Computes {@code row += factor * other}, rounded once. */
    public static void addScaled(float[] row, int at, int length, float[] other, float factor) {
        for (int i = 0; i < length; i += COUNT) {
            FloatVector.fromArray(FLOATS, other, i)
                    .fma(FloatVector.broadcast(FLOATS, factor), FloatVector.fromArray(FLOATS, row, at + i))
                    .intoArray(row, at + i);
        }
    }

    /** Sets minus infinity where {@code flags} is zero, or with {@code dropSet} where {@code flags} is not zero. */
    public static void mask(float[] row, int at, int length, float[] flags, int f0, boolean dropSet) {
        for (int i = 0; i < length; i += COUNT) {
            VectorMask<Float> set = FloatVector.fromArray(FLOATS, flags, f0 + i).compare(VectorOperators.NE, 0f);
            VectorMask<Float> drop = dropSet ? set : set.not();
            FloatVector.fromArray(FLOATS, row, at + i)
                    .blend(Float.NEGATIVE_INFINITY, drop)
                    .intoArray(row, at + i);
        }
    }

    /**
     * Computes {@code row += bias}. If either term is minus infinity, the sum is minus infinity for every value of the other term.
     * Therefore a hidden key stays hidden in any order of the parts of a mask.
     */
    public static void addBias(float[] row, int at, int length, float[] bias, int b0) {
        for (int i = 0; i < length; i += COUNT) {
            FloatVector s = FloatVector.fromArray(FLOATS, row, at + i);
            FloatVector b = FloatVector.fromArray(FLOATS, bias, b0 + i);
            s.add(b)
                    .blend(
                            Float.NEGATIVE_INFINITY,
                            s.compare(VectorOperators.EQ, Float.NEGATIVE_INFINITY)
                                    .or(b.compare(VectorOperators.EQ, Float.NEGATIVE_INFINITY)))
                    .intoArray(row, at + i);
        }
    }

    /** Returns the sum of 32 partial sums, always added in the same tree, and stores it in the first of them. */
    public static float total(float[] partial, int p0) {
        float even = ofEight(partial, p0) + ofEight(partial, p0 + 2);
        float odd = ofEight(partial, p0 + 1) + ofEight(partial, p0 + 3);
        partial[p0] = even + odd;
        return even + odd;
    }

    /** Returns the sum of every fourth of 32 partial sums; {@link #total} takes 4.5 ns with this unrolled sum, and 15 ns with loops. */
    private static float ofEight(float[] partial, int at) {
        float low = (partial[at] + partial[at + 16]) + (partial[at + 8] + partial[at + 24]);
        float high = (partial[at + 4] + partial[at + 20]) + (partial[at + 12] + partial[at + 28]);
        return low + high;
    }
}
