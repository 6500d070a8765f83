package io.multihead.internal.kernel;

import static io.multihead.internal.kernel.Lanes.PANEL;
import static io.multihead.internal.kernel.Lanes.ROW;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.SplittableRandom;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Tag;
import net.jqwik.api.constraints.IntRange;

/** Passes of attention's backward over many rows have the same bits as plain loops over single elements. */
@Tag("lanes")
class ScoreGradientProperties {
    private static final int AT = PANEL;

    @Property(tries = 200)
    void weightsAndScoreGradients(
            @ForAll @IntRange(max = 66) int rows, @ForAll @IntRange(min = 1, max = 8) int panels, @ForAll long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        int length = panels * PANEL;
        float scale = 0.25f + random.nextFloat();
        float[] score = numbers(random, (rows + 1) * ROW, 8);
        float[] gradient = numbers(random, score.length, 1);
        for (int hidden = 0; hidden < rows; hidden++) {
            int at = AT + hidden * ROW + random.nextInt(length);
            score[at] = Float.NEGATIVE_INFINITY;
            gradient[at] = Float.NaN;
        }
        float[] columns = numbers(random, 3 * ROW, 2);
        columns[AT + random.nextInt(length)] = ScoreGradient.NO_KEYS;
        float[] expectedP = score.clone();
        float[] expectedDS = gradient.clone();
        for (int row = 0; row < rows; row++) {
            for (int i = AT; i < AT + length; i++) {
                int at = row * ROW + i;
                float s = score[at] * scale;
                float x = s - columns[i];
                float lost = s - (x + columns[i]) - columns[i + ROW];
                float p = Exp.scalar(x);
                boolean hidden = s == Float.NEGATIVE_INFINITY;
                expectedP[at] = hidden ? 0f : Math.fma(lost, p, p);
                expectedDS[at] = hidden ? 0f : (gradient[at] - columns[i + 2 * ROW]) * expectedP[at];
            }
        }
        float[] buffer = new float[ScoreGradient.EXPONENTS];
        ScoreGradient.of(score, gradient, AT, rows, length, scale, columns, ROW, AT, buffer);
        assertArrayEquals(expectedP, score);
        assertArrayEquals(expectedDS, gradient);
    }

    @Property(tries = 200)
    void dotProductsOfRows(
            @ForAll @IntRange(max = 40) int rows, @ForAll @IntRange(max = 8) int panels, @ForAll long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        int length = panels * PANEL;
        float[] a = numbers(random, (rows + 1) * ROW, 1);
        float[] b = numbers(random, a.length, 1);
        float[] sums = numbers(random, AT + rows + 1, 1);
        float[] expected = sums.clone();
        for (int row = 0; row < rows; row++) {
            float[] partial = new float[PANEL];
            for (int i = 0; i < length; i++) {
                partial[i % PANEL] = Math.fma(a[row * ROW + i], b[row * ROW + i], partial[i % PANEL]);
            }
            float total = RowOps.total(partial, 0);
            expected[AT + row] += total;
            assertEquals(total, ScoreGradient.dot(a, row * ROW, b, row * ROW, length, new float[PANEL]));
        }
        ScoreGradient.addDots(a, 0, b, 0, rows, length, sums, AT, new float[ScoreGradient.PARTIALS]);
        assertArrayEquals(expected, sums);
    }

    @Property(tries = 200)
    void sumsWithCompensation(
            @ForAll @IntRange(max = 40) int rows, @ForAll @IntRange(max = 8) int panels, @ForAll long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        int length = panels * PANEL;
        int compensation = 8 * PANEL;
        float[] sums = numbers(random, (rows + 1) * ROW, 1);
        float[] expected = sums.clone();
        for (int row = 0; row < rows; row++) {
            for (int i = row * ROW; i < row * ROW + length; i++) {
                expected[i] = (sums[i] + sums[i + compensation]) * 0.3f + 0f;
            }
        }
        ScoreGradient.fold(sums, rows, ROW, compensation, length, 0.3f);
        assertArrayEquals(expected, sums);
    }

    @Property(tries = 200)
    void elementsThatAreNotFiniteBecomeZero(
            @ForAll @IntRange(max = 20) int rows,
            @ForAll @IntRange(max = 8) int panels,
            @ForAll @IntRange(max = 3) int nonFinite,
            @ForAll long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        int length = panels * PANEL;
        float[] values = numbers(random, (rows + 1) * ROW, Float.MAX_VALUE);
        float[] expected = values.clone();
        boolean found = nonFinite > 0 && rows > 0 && length > 0;
        for (int i = 0; found && i < nonFinite; i++) {
            int at = AT + random.nextInt(rows) * ROW + random.nextInt(length);
            values[at] = new float[] {Float.NaN, Float.POSITIVE_INFINITY, Float.NEGATIVE_INFINITY}[i];
            expected[at] = 0f;
        }
        values[AT + length] = Float.NaN; // after the rows
        expected[AT + length] = Float.NaN;
        assertEquals(found, ScoreGradient.zeroNonFinite(values, AT, rows, length));
        assertArrayEquals(expected, values);
    }

    private static float[] numbers(SplittableRandom random, int count, float size) {
        float[] numbers = new float[count];
        for (int i = 0; i < count; i++) {
            numbers[i] = (2 * random.nextFloat() - 1) * size;
        }
        return numbers;
    }
}
