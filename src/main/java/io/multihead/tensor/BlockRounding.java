package io.multihead.tensor;

/**
 * Finds scales for runs of weights that are rounded to integers, with ggml's reference methods: they try some divisors around the divisor
 * that the largest weights suggest, solve the weighted least squares for the resulting integers, and keep the best. All sums are f32 in
 * ascending order, as in ggml. Belongs to one thread.
 */
final class BlockRounding {
    /** If no weight has a larger magnitude, all weights count as 0. */
    private static final float LEAST = 1e-15f;

    /**
     * The parameters of the search for a scale and a minimum.
     *
     * @param count the number of weights that share them
     * @param most the largest integer
     * @param least the addend in the first divisor that is tried
     * @param steps the number of further divisors, each 0.1 larger
     * @param magnitudes whether a weight counts with its magnitude, and an error with its magnitude; otherwise a weight counts with its
     *     magnitude plus the root of the mean square, and an error with its square
     */
    record Search(int count, int most, float least, int steps, boolean magnitudes) {
        static final Search Q2_K = new Search(16, 3, -0.5f, 15, true);
        static final Search Q4_K = new Search(32, 15, -1, 20, false);
        static final Search Q5_K = new Search(32, 31, -0.5f, 15, false);
    }

    private final float[] weights = new float[32];
    private final int[] integers = new int[16];
    private float minimum;

    /** Returns the minimum of the last {@link #affine}, as a subtrahend of at least 0. */
    float minimum() {
        return minimum;
    }

    /** Returns the scale {@code s} with which {@code s * q - minimum()} is closest to weights, for integers q from 0 up. */
    float affine(float[] x, int at, Search by) {
        int most = by.most;
        weigh(x, at, by);
        float low = x[at];
        float high = x[at];
        float sumWeights = weights[0];
        float sumX = weights[0] * x[at];
        for (int i = 1; i < by.count; i++) {
            low = Math.min(low, x[at + i]);
            high = Math.max(high, x[at + i]);
            sumWeights += weights[i];
            sumX += weights[i] * x[at + i];
        }
        low = Math.min(low, 0);
        minimum = -low;
        if (high == low) {
            return 0;
        }
        float offset = low;
        float inverse = most / (high - offset);
        float scale = 1 / inverse;
        float best = error(x, at, by, inverse, offset, scale, offset);
        for (int step = 0; step <= by.steps; step++) {
            // the offset of the best result so far, not the smallest weight, is the origin of integers
            inverse = (by.least + 0.1f * step + most) / (high - offset);
            float sumQ = 0;
            float sumQ2 = 0;
            float sumXq = 0;
            for (int i = 0; i < by.count; i++) {
                int q = nearest(inverse * (x[at + i] - offset), 0, most);
                float weighted = weights[i] * q;
                sumQ += weighted;
                sumQ2 += weighted * q;
                sumXq += weighted * x[at + i];
            }
            float determinant = sumWeights * sumQ2 - sumQ * sumQ;
            if (determinant > 0) {
                float thisScale = (sumWeights * sumXq - sumX * sumQ) / determinant;
                float thisOffset = (sumQ2 * sumX - sumQ * sumXq) / determinant;
                if (thisOffset > 0) {
                    thisOffset = 0;
                    thisScale = sumXq / sumQ2;
                }
                float error = error(x, at, by, inverse, offset, thisScale, thisOffset);
                if (error < best) {
                    best = error;
                    scale = thisScale;
                    offset = thisOffset;
                }
            }
        }
        minimum = -offset;
        return scale;
    }

    private void weigh(float[] x, int at, Search by) {
        float squares = 0;
        for (int i = 0; i < by.count; i++) {
            squares += x[at + i] * x[at + i];
        }
        float root = by.magnitudes ? 0 : (float) Math.sqrt(squares / by.count);
        for (int i = 0; i < by.count; i++) {
            weights[i] = root + Math.abs(x[at + i]);
        }
    }

    /** Returns the weighted error of a scale and an offset, for the integers that an inverse divisor gives, counted from a number. */
    private float error(float[] x, int at, Search by, float inverse, float from, float scale, float offset) {
        float error = 0;
        for (int i = 0; i < by.count; i++) {
            float difference = scale * nearest(inverse * (x[at + i] - from), 0, by.most) + offset - x[at + i];
            error += weights[i] * (by.magnitudes ? Math.abs(difference) : difference * difference);
        }
        return error;
    }

    /**
     * Returns the scale {@code s} with which {@code s * q} is closest to 16 weights, for integers q from -4 to 3. The search begins with
     * the integers of the divisor that the largest weight suggests. In up to five rounds, it changes each integer if this reduces the
     * error. A weight is weighted by its square.
     */
    float threeBits(float[] x, int at) {
        float largest = largest(x, at, 16);
        if (Math.abs(largest) < LEAST) {
            return 0;
        }
        float inverse = -4 / largest;
        float sumXq = 0;
        float sumQ2 = 0;
        for (int i = 0; i < 16; i++) {
            int q = nearest(inverse * x[at + i], -4, 3);
            integers[i] = q;
            float weight = x[at + i] * x[at + i];
            sumXq += weight * x[at + i] * q;
            sumQ2 += weight * q * q;
        }
        boolean isChanged = true;
        for (int round = 0; round < 5 && isChanged; round++) {
            isChanged = false;
            for (int i = 0; i < 16; i++) {
                float value = x[at + i];
                float weight = value * value;
                float otherXq = sumXq - weight * value * integers[i];
                float otherQ2 = sumQ2 - weight * integers[i] * integers[i];
                int q = otherXq > 0 ? nearest(value * otherQ2 / otherXq, -4, 3) : integers[i];
                otherXq += weight * value * q;
                otherQ2 += weight * q * q;
                boolean isBetter = otherQ2 > 0 && otherXq * otherXq * sumQ2 > sumXq * sumXq * otherQ2;
                if (q != integers[i] && isBetter) {
                    integers[i] = q;
                    sumXq = otherXq;
                    sumQ2 = otherQ2;
                    isChanged = true;
                }
            }
        }
        return sumQ2 > 0 ? sumXq / sumQ2 : 0;
    }

    /**
     * Returns the scale {@code s} with which {@code s * q} is closest to 16 weights, for integers q from -32 to 31. A weight is weighted by
     * its square.
     */
    static float symmetric(float[] x, int at) {
        float largest = largest(x, at, 16);
        if (Math.abs(largest) < LEAST) {
            return 0;
        }
        float scale = 0;
        float best = 0;
        for (int trial = 0; trial < 19; trial++) {
            // the divisor that the largest weight suggests comes first, then 18 around it
            int step = trial == 0 ? 0 : trial <= 9 ? trial - 10 : trial - 9;
            float inverse = -(32 + 0.1f * step) / largest;
            float sumXq = 0;
            float sumQ2 = 0;
            for (int i = 0; i < 16; i++) {
                float value = x[at + i];
                int q = nearest(inverse * value, -32, 31);
                float weight = value * value;
                sumXq += weight * value * q;
                sumQ2 += weight * q * q;
            }
            if (trial == 0 ? sumQ2 != 0 : sumQ2 > 0 && sumXq * sumXq > best * sumQ2) {
                scale = sumXq / sumQ2;
                best = scale * sumXq;
            }
        }
        return scale;
    }

    /** Returns the scale with which the numbers of {@link CodeBook#IQ4} are closest to 32 weights. A weight is weighted by its square. */
    float codes(float[] x, int at) {
        float largest = largest(x, at, 32);
        if (Math.abs(largest) < LEAST) {
            return 0;
        }
        float least = CodeBook.IQ4.value(0);
        float scale = 0;
        float best = 0;
        for (int trial = 0; trial < 16; trial++) {
            // the divisor that the largest weight suggests comes first, then 15 around its negative
            float inverse = trial == 0 ? 1 / (-largest / least) : (trial - 8 + least) / largest;
            float sumXq = 0;
            float sumQ2 = 0;
            for (int i = 0; i < 32; i++) {
                float value = x[at + i];
                float q = CodeBook.IQ4.value(CodeBook.IQ4.nearest(inverse * value));
                float weight = value * value;
                sumXq += weight * q * value;
                sumQ2 += weight * q * q;
            }
            if (trial == 0 ? sumQ2 > 0 : sumQ2 > 0 && sumXq * sumXq > best * sumQ2) {
                scale = sumXq / sumQ2;
                best = scale * sumXq;
            }
        }
        return scale;
    }

    /** Returns the number of largest magnitude, the first of equal ones, with its sign. */
    static float largest(float[] x, int at, int count) {
        float largest = 0;
        for (int i = at; i < at + count; i++) {
            if (Math.abs(x[i]) > Math.abs(largest)) {
                largest = x[i];
            }
        }
        return largest;
    }

    /** Rounds to the nearest integer, ties to even, then limits it to a range. */
    static int nearest(float value, int least, int most) {
        return Math.clamp((int) Math.rint(value), least, most);
    }
}
