package io.multihead.internal.kernel;

import static io.multihead.internal.kernel.Lanes.ROW;

/**
 * Rows of A that are rounded to 8 bits, prepared for {@link NibbleTiles}: of each block of 32 elements a scale, the largest magnitude
 * divided by 127, and the integers {@code round(a / scale)}, ties to even. Belongs to one thread.
 *
 * <p>A tile multiplies a word of fields by them without a mask. With {@code v_i} a half of the word moved down by i fields, field i is
 * {@code v_i - 16 v_(i + 1)}, so the sum of {@code q_i} times field i is that of {@code v_i (q_i - 16 q_(i - 1))}. These differences are
 * stored, modulo 2^16, for both halves of a word in one int.
 */
public final class RoundedRows {
    /** Ints of a row: a difference for each two elements, and what the sums of a block begin at. */
    public static final int INTS = MicroKernel.MAX_DEPTH / 2 + MicroKernel.MAX_DEPTH / Fields.ROWS;

    /** Index in the ints of a row of the first of those that sums begin at. */
    static final int STARTS = MicroKernel.MAX_DEPTH / 2;

    /** Elements of half a word. */
    private static final int FOUR = 4;

    /** Added to a float below 2^22, it makes its lowest bits those of the nearest integer, ties to even. */
    private static final float TO_INTEGER = 0x1.8p23f;

    private static final int INTEGER_BITS = Float.floatToRawIntBits(TO_INTEGER);
    private static final int MOST = 127;
    private static final int[] NONE = {};

    int[] ints = NONE;
    float[] sums = {};
    /** Room for the plain loops of {@link NibbleTiles}. */
    final int[] low = new int[Lanes.PANEL];

    final int[] high = new int[Lanes.PANEL];

    /** The sums of the integers of a block that are multiplied by the lower and the upper halves of words. */
    private int sumOfLow;

    private int sumOfHigh;

    /** Creates no rows. */
    public RoundedRows() {}

    /**
     * Sets the memory that {@link #prepare} fills.
     *
     * @param newInts {@link #INTS} for each row of a tile
     * @param newSums {@link Fields#SUMS} for each row of a tile: scales, then those times the sums of the integers
     */
    public void set(int[] newInts, float[] newSums) {
        ints = newInts;
        sums = newSums;
    }

    /**
     * Rounds rows of A, {@link Lanes#ROW} floats apart.
     *
     * @param depth a multiple of 32
     * @param offset what the fields have added to their elements
     */
    public void prepare(float[] a, int count, int depth, int offset) {
        for (int row = 0; row < count; row++) {
            for (int block = 0; block < depth / Fields.ROWS; block++) {
                int from = row * ROW + block * Fields.ROWS;
                float largest = largest(a, from);
                float inverse = MOST / largest;
                // all integers are 0 where the inverse is not finite
                boolean isZero = Float.isInfinite(inverse);
                float scale = isZero ? 0f : largest / MOST;
                round(a, from, isZero ? 0f : inverse, row * INTS + block * Fields.ROWS / 2);
                ints[row * INTS + STARTS + block] = -offset * sumOfHigh << 16 | -offset * sumOfLow & 0xffff;
                sums[row * Fields.SUMS + block] = scale;
                sums[row * Fields.SUMS + Fields.SUMS_OF_MINIMA + block] = scale * (sumOfLow + sumOfHigh);
            }
        }
    }

    /** Compares bits, which costs half of what {@code Math.max} of floats does; NaN is larger than all numbers. */
    private static float largest(float[] a, int at) {
        int first = 0;
        int second = 0;
        for (int k = at; k < at + Fields.ROWS; k += 2) {
            first = Math.max(first, Float.floatToRawIntBits(a[k]) & Integer.MAX_VALUE);
            second = Math.max(second, Float.floatToRawIntBits(a[k + 1]) & Integer.MAX_VALUE);
        }
        return Float.intBitsToFloat(Math.max(first, second));
    }

    /** Rounds a block and stores its differences; all in one loop, since one for each step takes three times as long. */
    private void round(float[] a, int from, float inverse, int at) {
        int lows = 0;
        int highs = 0;
        for (int word = 0; word < Fields.ROWS / (2 * FOUR); word++) {
            int lowBefore = 0;
            int highBefore = 0;
            for (int i = 0; i < FOUR; i++) {
                int k = from + word * 2 * FOUR + i;
                int lowNow = Float.floatToRawIntBits(a[k] * inverse + TO_INTEGER) - INTEGER_BITS;
                int highNow = Float.floatToRawIntBits(a[k + FOUR] * inverse + TO_INTEGER) - INTEGER_BITS;
                ints[at + word * FOUR + i] = highNow - 16 * highBefore << 16 | lowNow - 16 * lowBefore & 0xffff;
                lows += lowNow;
                highs += highNow;
                lowBefore = lowNow;
                highBefore = highNow;
            }
        }
        sumOfLow = lows;
        sumOfHigh = highs;
    }
}
