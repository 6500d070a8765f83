package io.multihead.internal.kernel;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.multihead.reference.ReferenceConvolution;
import java.util.SplittableRandom;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Tag;
import net.jqwik.api.constraints.IntRange;

/**
 * The convolution is compared with its specification in double. Its forms with and without vectors have the same bits.
 */
@Tag("lanes")
class CausalConvolutionProperties {
    private static final int CHANNELS = 64;
    private static final double U = 0x1p-24;

    @Property(tries = 200)
    void isWithinTheRoundingOfItsChain(
            @ForAll @IntRange(min = 1, max = 6) int count,
            @ForAll @IntRange(min = 1, max = 12) int tokens,
            @ForAll boolean likeSigns,
            @ForAll long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        double[] x = numbers(random, tokens * CHANNELS, likeSigns);
        double[] weights = numbers(random, CHANNELS * count, likeSigns);
        double[] expected = new ReferenceConvolution(weights, CHANNELS).of(x);
        double[] sizes = new ReferenceConvolution(absolute(weights), CHANNELS).of(absolute(x));
        float[] taps = new float[count * CHANNELS];
        for (int i = 0; i < taps.length; i++) {
            taps[i % count * CHANNELS + i / count] = (float) weights[i];
        }
        float[] window = new float[count * CHANNELS];
        float[] vectors = new float[CHANNELS];
        float[] scalars = new float[CHANNELS];
        for (int token = 0; token < tokens; token++) {
            int newest = token % count;
            for (int i = 0; i < CHANNELS; i++) {
                window[newest * CHANNELS + i] = (float) x[token * CHANNELS + i];
            }
            int oldest = (newest + 1) % count;
            CausalConvolution.vectors(window, CHANNELS, oldest, count, taps, 0, CHANNELS, CHANNELS, vectors, 0);
            CausalConvolution.scalars(window, CHANNELS, oldest, count, taps, 0, CHANNELS, CHANNELS, scalars, 0);
            assertArrayEquals(scalars, vectors);
            CausalConvolution.row(window, CHANNELS, oldest, count, taps, 0, CHANNELS, CHANNELS, scalars, 0);
            assertArrayEquals(scalars, vectors);
            for (int i = 0; i < CHANNELS; i++) {
                int at = token * CHANNELS + i;
                // a product and count - 1 fused multiply-adds, each rounded once; twice that for terms of second order
                assertEquals(expected[at], vectors[i], 2 * count * U * sizes[at] + Float.MIN_NORMAL, "channel " + i);
            }
        }
    }

    private static double[] numbers(SplittableRandom random, int count, boolean likeSigns) {
        double[] numbers = new double[count];
        for (int i = 0; i < count; i++) {
            float number = (float) random.nextGaussian(0, 2);
            numbers[i] = likeSigns ? Math.abs(number) : number;
        }
        return numbers;
    }

    private static double[] absolute(double[] numbers) {
        double[] all = numbers.clone();
        for (int i = 0; i < all.length; i++) {
            all[i] = Math.abs(all[i]);
        }
        return all;
    }
}
