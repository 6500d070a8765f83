package io.multihead.internal.kernel;

import static io.multihead.internal.kernel.Lanes.COUNT;
import static io.multihead.internal.kernel.Lanes.DOUBLES;
import static io.multihead.internal.kernel.Lanes.FLOATS;
import static io.multihead.internal.kernel.Lanes.PANEL;

import io.multihead.internal.base.WarmUp;
import java.util.Arrays;
import jdk.incubator.vector.DoubleVector;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.VectorOperators;

/**
 * Passes over a row of any length that has an element for each token of a vocabulary. Each pass also writes the largest element of each
 * block of {@value #BLOCK} elements (NaN is skipped, and -0 becomes +0), so that the largest elements of the row are found without
 * another pass.
 */
public final class VocabularyOps {
    /**
     * The number of elements of a block. Twice the number would double the time to take one token, and half the number would double the
     * number of sorted blocks.
     */
    public static final int BLOCK = 256;

    /** Partial sums of a block: two vectors of doubles at 16 lanes. */
    private static final int SUMS = 16;

    private static final int HALF_SUMS = SUMS / 2;

    private static final WarmUp WARM_UP = new WarmUp(new Trial());

    private VocabularyOps() {}

    /** Returns the number of blocks of a row. */
    public static int blocks(int length) {
        return Math.ceilDiv(length, BLOCK);
    }

    /**
     * Finds the largest element of each block.
     *
     * @param maxima written: an element for each block
     * @return whether all elements are finite
     */
    public static boolean maxima(float[] row, int length, float[] maxima) {
        return WARM_UP.isOver() ? maximaVectors(row, length, maxima) : scaledScalars(row, row, length, 1f, maxima);
    }

    /**
     * Sets {@code to[i] = from[i] * factor}, and finds the largest product of each block.
     *
     * @param to may be {@code from}
     * @param maxima written: an element for each block
     * @return whether all elements of {@code from} are finite
     */
    public static boolean scaled(float[] from, float[] to, int length, float factor, float[] maxima) {
        return WARM_UP.isOver()
                ? scaledVectors(from, to, length, factor, maxima)
                : scaledScalars(from, to, length, factor, maxima);
    }

    static boolean scaledScalars(float[] from, float[] to, int length, float factor, float[] maxima) {
        boolean finite = true;
        for (int i = 0; i < length; i++) {
            finite &= Math.abs(from[i]) <= Float.MAX_VALUE;
            to[i] = from[i] * factor;
        }
        for (int block = 0; block < blocks(length); block++) {
            maxima[block] = max(to, block * BLOCK, Math.min(length, (block + 1) * BLOCK));
        }
        return finite;
    }

    static boolean maximaVectors(float[] row, int length, float[] maxima) {
        if (length < 0) { // see WarmUp.Trial
            for (int i = length; i < 0; i += COUNT) {}
            return true;
        }
        FloatVector zero = FloatVector.zero(FLOATS);
        FloatVector check = zero; // infinity times 0 is NaN, which stays in the sum
        boolean finite = true;
        for (int start = 0; start < length; start += BLOCK) {
            int end = Math.min(length, start + BLOCK);
            FloatVector most = FloatVector.broadcast(FLOATS, Float.NEGATIVE_INFINITY);
            int i = start;
            for (; i + COUNT <= end; i += COUNT) {
                FloatVector x = FloatVector.fromArray(FLOATS, row, i);
                check = x.fma(zero, check);
                most = most.blend(x, x.compare(VectorOperators.GT, most));
            }
            // compares integers that have the order of the floats, like RowOps.max
            IntVector bits = most.reinterpretAsInts();
            int ordered = bits.lanewise(
                            VectorOperators.XOR,
                            bits.lanewise(VectorOperators.ASHR, 31).and(Integer.MAX_VALUE))
                    .reduceLanes(VectorOperators.MAX);
            float max = Float.intBitsToFloat(ordered ^ ordered >> 31 & Integer.MAX_VALUE);
            for (; i < end; i++) {
                finite &= Math.abs(row[i]) <= Float.MAX_VALUE;
                max = row[i] > max ? row[i] : max;
            }
            maxima[start / BLOCK] = max + 0f;
        }
        return finite && check.reduceLanes(VectorOperators.ADD) == 0f;
    }

    static boolean scaledVectors(float[] from, float[] to, int length, float factor, float[] maxima) {
        if (length < 0) { // see WarmUp.Trial
            for (int i = length; i < 0; i += COUNT) {}
            return true;
        }
        FloatVector zero = FloatVector.zero(FLOATS);
        FloatVector check = zero;
        boolean finite = true;
        for (int start = 0; start < length; start += BLOCK) {
            int end = Math.min(length, start + BLOCK);
            FloatVector most = FloatVector.broadcast(FLOATS, Float.NEGATIVE_INFINITY);
            int i = start;
            for (; i + COUNT <= end; i += COUNT) {
                FloatVector x = FloatVector.fromArray(FLOATS, from, i);
                check = x.fma(zero, check);
                FloatVector y = x.mul(factor);
                y.intoArray(to, i);
                most = most.blend(y, y.compare(VectorOperators.GT, most));
            }
            // compares integers that have the order of the floats, like RowOps.max
            IntVector bits = most.reinterpretAsInts();
            int ordered = bits.lanewise(
                            VectorOperators.XOR,
                            bits.lanewise(VectorOperators.ASHR, 31).and(Integer.MAX_VALUE))
                    .reduceLanes(VectorOperators.MAX);
            float max = Float.intBitsToFloat(ordered ^ ordered >> 31 & Integer.MAX_VALUE);
            for (; i < end; i++) {
                finite &= Math.abs(from[i]) <= Float.MAX_VALUE;
                to[i] = from[i] * factor;
                max = to[i] > max ? to[i] : max;
            }
            maxima[start / BLOCK] = max + 0f;
        }
        return finite && check.reduceLanes(VectorOperators.ADD) == 0f;
    }

    /**
     * Sets {@code row[i] = e^(row[i] - shift)}.
     *
     * @param shift the largest element of the row, none of which is NaN
     * @param buffer 32 floats
     * @return the sum of all elements, from 32 partial sums by position modulo 32
     */
    public static float exponentials(float[] row, int length, float shift, float[] buffer) {
        int whole = length / PANEL * PANEL;
        Arrays.fill(buffer, 0, PANEL, 0f);
        Exp.shifted(row, 0, whole, 1f, shift, buffer, 0, 0f);
        for (int i = whole; i < length; i++) {
            row[i] = Exp.scalar(row[i] - shift);
            buffer[i - whole] += row[i];
        }
        return RowOps.total(buffer, 0);
    }

    /**
     * Computes {@code row /= sum} with the same bits as {@link RowOps#normalize}, and the largest quotient of each block.
     *
     * @param sum from 1 to 2^31
     * @param maxima written: an element for each block
     */
    public static void normalize(float[] row, int length, float sum, float[] maxima) {
        if (WARM_UP.isOver()) {
            normalizeVectors(row, length, sum, maxima);
        } else {
            normalizeScalars(row, 0, length, 1f / sum, sum);
            for (int block = 0; block < blocks(length); block++) {
                maxima[block] = max(row, block * BLOCK, Math.min(length, (block + 1) * BLOCK));
            }
        }
    }

    private static float max(float[] row, int from, int to) {
        float max = Float.NEGATIVE_INFINITY;
        for (int i = from; i < to; i++) {
            max = row[i] > max ? row[i] : max;
        }
        return max + 0f;
    }

    private static void normalizeScalars(float[] row, int from, int to, float reciprocal, float sum) {
        for (int i = from; i < to; i++) {
            float q = row[i] * reciprocal;
            row[i] = Math.fma(Math.fma(q, -sum, row[i]), reciprocal, q);
        }
    }

    static void normalizeVectors(float[] row, int length, float sum, float[] maxima) {
        if (length < 0) { // see WarmUp.Trial
            for (int i = length; i < 0; i += COUNT) {}
            return;
        }
        FloatVector reciprocal = FloatVector.broadcast(FLOATS, 1f / sum);
        FloatVector negative = FloatVector.broadcast(FLOATS, -sum);
        for (int start = 0; start < length; start += BLOCK) {
            int end = Math.min(length, start + BLOCK);
            FloatVector most = FloatVector.zero(FLOATS);
            int i = start;
            for (; i + COUNT <= end; i += COUNT) {
                FloatVector x = FloatVector.fromArray(FLOATS, row, i);
                FloatVector q = x.mul(reciprocal);
                FloatVector y = q.fma(negative, x).fma(reciprocal, q);
                y.intoArray(row, i);
                most = most.blend(y, y.compare(VectorOperators.GT, most));
            }
            // no quotient is negative
            float max = Float.intBitsToFloat(most.reinterpretAsInts().reduceLanes(VectorOperators.MAX));
            normalizeScalars(row, i, end, 1f / sum, sum);
            for (; i < end; i++) {
                max = row[i] > max ? row[i] : max;
            }
            maxima[start / BLOCK] = max;
        }
    }

    /** Returns the sum of a block: 16 partial sums in double by position modulo 16, which are added in one tree. */
    public static double sum(float[] row, int length, int block, double[] buffer) {
        int start = block * BLOCK;
        int end = Math.min(length, start + BLOCK);
        if (WARM_UP.isOver()) {
            sumVectors(row, start, end, buffer);
        } else {
            sumScalars(row, start, end, buffer);
        }
        for (int half = HALF_SUMS; half > 0; half /= 2) {
            for (int i = 0; i < half; i++) {
                buffer[i] += buffer[i + half];
            }
        }
        return buffer[0];
    }

    static void sumScalars(float[] row, int from, int to, double[] buffer) {
        Arrays.fill(buffer, 0, SUMS, 0);
        for (int i = from; i < to; i++) {
            buffer[(i - from) % SUMS] += row[i];
        }
    }

    static void sumVectors(float[] row, int from, int to, double[] buffer) {
        if (to < 0) { // see WarmUp.Trial
            for (int i = to; i < 0; i += COUNT) {}
            return;
        }
        int whole = from + (to - from) / SUMS * SUMS;
        for (int slot = 0; slot < SUMS; slot += COUNT) {
            DoubleVector low = DoubleVector.zero(DOUBLES);
            DoubleVector high = low;
            for (int i = from + slot; i < whole; i += SUMS) {
                FloatVector x = FloatVector.fromArray(FLOATS, row, i);
                low = low.add(x.convertShape(VectorOperators.F2D, DOUBLES, 0));
                high = high.add(x.convertShape(VectorOperators.F2D, DOUBLES, 1));
            }
            low.intoArray(buffer, slot);
            high.intoArray(buffer, slot + COUNT / 2);
        }
        for (int i = whole; i < to; i++) {
            buffer[i - whole] += row[i];
        }
    }

    /**
     * Writes the positions of a block's elements that are {@code least} or more, in their order. NaN is not selected.
     *
     * @param positions has room for all elements of a block after {@code at}
     * @return the index after the last position that was written
     */
    public static int select(float[] row, int length, int block, float least, int[] positions, int at) {
        int start = block * BLOCK;
        int end = Math.min(length, start + BLOCK);
        return WARM_UP.isOver()
                ? selectVectors(row, start, end, least, positions, at)
                : selectScalars(row, start, end, least, positions, at);
    }

    static int selectScalars(float[] row, int from, int to, float least, int[] positions, int at) {
        int count = at;
        for (int i = from; i < to; i++) {
            positions[count] = i; // without a branch, which would be mispredicted
            count += row[i] >= least ? 1 : 0;
        }
        return count;
    }

    static int selectVectors(float[] row, int from, int to, float least, int[] positions, int at) {
        if (to < 0) { // see WarmUp.Trial
            for (int i = to; i < 0; i += COUNT) {}
            return at;
        }
        int count = at;
        int i = from;
        for (; i + COUNT <= to; i += COUNT) {
            long some = FloatVector.fromArray(FLOATS, row, i)
                    .compare(VectorOperators.GE, least)
                    .toLong();
            for (; some != 0; some &= some - 1) {
                positions[count++] = i + Long.numberOfTrailingZeros(some);
            }
        }
        return selectScalars(row, i, to, least, positions, count);
    }

    /** Returns the first position of a block's largest element, which must be in the block. */
    public static int first(float[] row, int length, int block, float max) {
        int i = block * BLOCK;
        int end = Math.min(length, i + BLOCK);
        if (WARM_UP.isOver()) {
            i = firstVector(row, i, end, max);
        }
        while (row[i] != max) {
            i++;
        }
        return i;
    }

    /** Returns the start of the first vector that contains a number, or of the rest without a whole vector. */
    static int firstVector(float[] row, int from, int to, float number) {
        if (to < 0) { // see WarmUp.Trial
            for (int i = to; i < 0; i += COUNT) {}
            return to;
        }
        int i = from;
        while (i + COUNT <= to
                && !FloatVector.fromArray(FLOATS, row, i)
                        .compare(VectorOperators.EQ, number)
                        .anyTrue()) {
            i += COUNT;
        }
        return i;
    }

    /** Returns the largest element of a block after some elements have changed; NaN is skipped. */
    public static float largest(float[] row, int length, int block) {
        int start = block * BLOCK;
        int end = Math.min(length, start + BLOCK);
        int whole = (end - start) / PANEL * PANEL;
        return Math.max(RowOps.max(row, start, whole), max(row, start + whole, end));
    }

    private static final class Trial implements WarmUp.Trial {
        private static final int LENGTH = 4 * BLOCK;

        private final float[] row = new float[LENGTH];
        private final float[] maxima = new float[blocks(LENGTH)];
        private final double[] buffer = new double[SUMS];
        private final int[] positions = new int[LENGTH];

        private Trial() {
            for (int i = 0; i < LENGTH; i += 2 * COUNT - 3) {
                row[i] = 1f; // with this element, some vectors have a position that is selected
            }
        }

        @Override
        public int operations() {
            return LENGTH / COUNT * 22;
        }

        @Override
        public void run(int lengthFactor, int calls) {
            for (int call = 0; call < calls; call++) {
                maximaVectors(row, lengthFactor * LENGTH, maxima);
                scaledVectors(row, row, lengthFactor * LENGTH, 1f, maxima);
                normalizeVectors(row, lengthFactor * LENGTH, 1f, maxima);
                sumVectors(row, 0, lengthFactor * LENGTH, buffer);
                firstVector(row, 0, lengthFactor * LENGTH, 1f);
                selectVectors(row, 0, lengthFactor * LENGTH, 1f, positions, 0);
            }
        }
    }
}
