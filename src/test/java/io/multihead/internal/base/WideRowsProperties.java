package io.multihead.internal.base;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Arrays;
import java.util.SplittableRandom;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;

/**
 * Every element has the same bits as the same operations in scalar double, rounded once. Elements after the row do not
 * change.
 */
class WideRowsProperties {
    private static final float GUARD = 77;

    @Property(tries = 100)
    void elementsAreComputedInDouble(@ForAll @IntRange(max = 150) int length, @ForAll long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        float[] row = row(random, length);
        float[] other = row(random, length);
        double factor = random.nextGaussian();
        double otherFactor = random.nextGaussian();
        float[] scaled = row.clone();
        WideRows.scale(scaled, length, factor);
        float[] mixed = row.clone();
        WideRows.mix(mixed, factor, other, otherFactor, length);
        double[] sums = new double[length + 1];
        sums[length] = GUARD;
        WideRows.add(sums, row, length);
        WideRows.add(sums, other, length);
        float[] means = row.clone();
        WideRows.divide(sums, 3, means, length);
        double dot = 0;
        for (int i = 0; i < length; i++) {
            assertEquals((float) (factor * row[i]), scaled[i]);
            assertEquals((float) (factor * row[i] + otherFactor * other[i]), mixed[i]);
            double sum = 0.0 + row[i] + other[i]; // sums begin with 0, so the sum of two -0 is 0
            assertEquals(sum, sums[i]);
            assertEquals((float) (sum / 3), means[i]);
            dot += (double) row[i] * other[i];
        }
        assertEquals(dot, WideRows.dotInOrder(0, row, other, length));
        double half = WideRows.dotInOrder(0, row, other, length / 2);
        float[] rest = Arrays.copyOfRange(row, length / 2, length);
        float[] otherRest = Arrays.copyOfRange(other, length / 2, length);
        assertEquals(dot, WideRows.dotInOrder(half, rest, otherRest, rest.length));
        assertEquals(GUARD, scaled[length]);
        assertEquals(GUARD, mixed[length]);
        assertEquals(GUARD, sums[length]);
        assertEquals(GUARD, means[length]);
    }

    /** Returns numbers of any size, zeros of both signs and infinities, and a guard element after them. */
    private static float[] row(SplittableRandom random, int length) {
        float[] row = new float[length + 1];
        for (int i = 0; i < length; i++) {
            row[i] = switch (random.nextInt(8)) {
                case 0 -> random.nextBoolean() ? 0f : -0f;
                case 1 -> random.nextBoolean() ? Float.POSITIVE_INFINITY : Float.NEGATIVE_INFINITY;
                default -> (float) Math.scalb(random.nextGaussian(), random.nextInt(-140, 120));
            };
        }
        row[length] = GUARD;
        return row;
    }
}
