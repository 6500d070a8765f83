package io.multihead.internal.kernel;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.attention.AttentionOptions;
import io.multihead.attention.Softmax;
import io.multihead.compute.Compute;
import io.multihead.reference.ReferenceSoftmax;
import io.multihead.tensor.Tensor;
import java.util.Arrays;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Tag;
import net.jqwik.api.constraints.IntRange;

/** For rows of any length, vectors and scalars have the same bits, which are the bits of the softmax. */
@Tag("lanes")
class VocabularyOpsTest {
    private static final float[] KINDS = {
        0f, -0f, Float.NaN, Float.POSITIVE_INFINITY, Float.NEGATIVE_INFINITY, Float.MIN_VALUE, -Float.MAX_VALUE
    };

    private static float[] row(SplittableRandom random, int length, boolean anyKind) {
        float[] row = new float[length];
        for (int i = 0; i < length; i++) {
            boolean special = anyKind && random.nextInt(200) == 0;
            row[i] = special ? KINDS[random.nextInt(KINDS.length)] : (float) random.nextGaussian(0, 4);
        }
        return row;
    }

    @Property(tries = 300)
    void theLargestOfEachBlockAndWhetherAllAreFinite(@ForAll long seed, @ForAll @IntRange(max = 1100) int length) {
        SplittableRandom random = new SplittableRandom(seed);
        float[] row = row(random, length, random.nextBoolean());
        float factor = random.nextBoolean() ? 1f : (float) random.nextDouble(0.1, 9);
        float[] products = new float[length];
        boolean finite = true;
        for (int i = 0; i < length; i++) {
            products[i] = row[i] * factor;
            finite &= Float.isFinite(row[i]);
        }
        float[] vectors = new float[length];
        float[] scalars = new float[length];
        float[] maxima = new float[VocabularyOps.blocks(length)];
        assertEquals(finite, VocabularyOps.scaledScalars(row, scalars, length, factor, maxima));
        assertArrayEquals(maxima(products), bits(maxima));
        assertArrayEquals(bits(products), bits(scalars));
        Arrays.fill(maxima, 99f);
        assertEquals(finite, VocabularyOps.scaledVectors(row, vectors, length, factor, maxima));
        assertArrayEquals(maxima(products), bits(maxima));
        assertArrayEquals(bits(products), bits(vectors));
        Arrays.fill(maxima, 99f);
        assertEquals(finite, VocabularyOps.maximaVectors(row, length, maxima));
        assertArrayEquals(maxima(row), bits(maxima));
    }

    private static int[] maxima(float[] row) {
        return IntStream.range(0, VocabularyOps.blocks(row.length))
                .map(block -> {
                    float max = Float.NEGATIVE_INFINITY;
                    for (int i = block * VocabularyOps.BLOCK; i < end(row, block); i++) {
                        max = row[i] > max ? row[i] : max;
                    }
                    return Float.floatToIntBits(max + 0f);
                })
                .toArray();
    }

    private static int end(float[] row, int block) {
        return Math.min(row.length, (block + 1) * VocabularyOps.BLOCK);
    }

    @Property(tries = 300)
    void positionsOfLargeElementsAreSelectedInTheirOrder(
            @ForAll long seed, @ForAll @IntRange(min = 1, max = 1100) int length) {
        SplittableRandom random = new SplittableRandom(seed);
        float[] row = row(random, length, random.nextBoolean());
        float least = random.nextInt(4) == 0 ? row[random.nextInt(length)] : (float) random.nextGaussian(0, 6);
        for (int block = 0; block < VocabularyOps.blocks(length); block++) {
            int from = block * VocabularyOps.BLOCK;
            int[] expected = IntStream.range(from, end(row, block))
                    .filter(i -> row[i] >= least)
                    .toArray();
            int[] positions = new int[3 + VocabularyOps.BLOCK];
            int count = VocabularyOps.selectVectors(row, from, end(row, block), least, positions, 3);
            assertArrayEquals(expected, Arrays.copyOfRange(positions, 3, count));
            count = VocabularyOps.selectScalars(row, from, end(row, block), least, positions, 3);
            assertArrayEquals(expected, Arrays.copyOfRange(positions, 3, count));
            assertEquals(count, VocabularyOps.select(row, length, block, least, positions, 3));
        }
    }

    @Property(tries = 200)
    void probabilitiesHaveTheBitsOfTheSoftmax(@ForAll long seed, @ForAll @IntRange(min = 1, max = 1100) int length) {
        float[] row = row(new SplittableRandom(seed), length, false);
        float[] expected = new float[length];
        try (Compute cpu = Compute.serial()) {
            Softmax.forward(cpu, Tensor.of(row), Tensor.of(expected), null, AttentionOptions.DEFAULT);
        }
        // the bound of a softmax in f32 by its reference: exponential, sum of 32 partial sums, quotient
        double[] exact = ReferenceSoftmax.row(
                IntStream.range(0, length).mapToDouble(i -> row[i]).toArray());
        float[] maxima = new float[VocabularyOps.blocks(length)];
        VocabularyOps.maxima(row, length, maxima);
        float max = RowOps.maxScalars(maxima, 0, maxima.length);
        float sum = VocabularyOps.exponentials(row, length, max, new float[Lanes.PANEL]);
        float[] scalars = row.clone();
        VocabularyOps.normalizeVectors(row, length, sum, maxima);
        assertArrayEquals(bits(expected), bits(row));
        assertArrayEquals(maxima(expected), bits(maxima));
        VocabularyOps.normalize(scalars, length, sum, maxima);
        assertArrayEquals(bits(expected), bits(scalars));
        assertArrayEquals(maxima(expected), bits(maxima));
        // x - max has a rounding error of u |x - max|, which the exponential turns into a relative error; 44 additions,
        // the exponential and the quotient add roundings
        for (int i = 0; i < length; i++) {
            double spread = 1 - Math.log(exact[i]);
            assertEquals(exact[i], row[i], exact[i] * (spread + 50) * 0x1p-23 + 0x1p-126);
        }
    }

    @Property(tries = 200)
    void sumsOfBlocksAndFirstPositions(@ForAll long seed, @ForAll @IntRange(min = 1, max = 1100) int length) {
        SplittableRandom random = new SplittableRandom(seed);
        float[] row = row(random, length, false);
        double[] buffer = new double[16];
        for (int block = 0; block < VocabularyOps.blocks(length); block++) {
            int start = block * VocabularyOps.BLOCK;
            double exact = 0;
            double sizes = 0;
            for (int i = start; i < end(row, block); i++) {
                exact += row[i];
                sizes += Math.abs(row[i]);
            }
            double[] vectors = new double[16];
            VocabularyOps.sumVectors(row, start, end(row, block), vectors);
            VocabularyOps.sumScalars(row, start, end(row, block), buffer);
            assertArrayEquals(buffer, vectors);
            // at most 256 additions in each of both orders, each with a rounding error of 2^-53 of a partial sum
            assertEquals(exact, VocabularyOps.sum(row, length, block, buffer), 512 * 0x1p-53 * sizes);
            float max = VocabularyOps.largest(row, length, block);
            int first = start;
            while (row[first] != max) {
                first++;
            }
            assertEquals(first, VocabularyOps.first(row, length, block, max));
            int vector = VocabularyOps.firstVector(row, start, end(row, block), max);
            assertTrue(vector <= first);
            assertTrue(first < Math.min(end(row, block), vector + Lanes.COUNT));
        }
    }

    /** Returns the bits, with one pattern for all NaN. */
    private static int[] bits(float[] values) {
        return IntStream.range(0, values.length)
                .map(i -> Float.floatToIntBits(values[i]))
                .toArray();
    }
}
