package io.multihead.support;

import java.util.Arrays;
import java.util.random.RandomGenerator;

/** Arrays of floats for tests that compare bits. */
public final class Floats {
    private Floats() {}

    /**
     * Returns the bits of each number. All NaN have the same bits, since it is not specified which of two NaN a sum
     * keeps.
     */
    public static int[] bits(float[] values) {
        int[] bits = new int[values.length];
        Arrays.setAll(bits, i -> Float.floatToIntBits(values[i]));
        return bits;
    }

    /**
     * Returns normally distributed numbers, larger numbers, some numbers of any size and -0. A quarter of the arrays
     * also contains special numbers.
     */
    public static float[] random(RandomGenerator random, int length, float... special) {
        float[] numbers = new float[length];
        int kinds = random.nextInt(4) == 0 ? 400 : 4;
        for (int i = 0; i < length; i++) {
            int kind = random.nextInt(kinds);
            numbers[i] = switch (kind) {
                case 0 -> -0f;
                case 1 -> (float) Math.scalb(random.nextGaussian(), random.nextInt(-140, 60));
                case 2 -> (float) random.nextGaussian() * 30;
                default ->
                    kind >= 100 && kind < 100 + special.length ? special[kind - 100] : (float) random.nextGaussian();
            };
        }
        return numbers;
    }
}
