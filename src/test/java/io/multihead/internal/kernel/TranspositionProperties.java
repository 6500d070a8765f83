package io.multihead.internal.kernel;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Tag;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;

/** A transposition moves each element to its place, and no other element is written. */
@org.junit.jupiter.api.Tag("lanes")
@Tag("lanes")
class TranspositionProperties {
    private static final int SQUARE = 16;

    @Property(tries = 300)
    void ofAnySize(
            @ForAll @IntRange(max = 70) int rows,
            @ForAll @IntRange(max = 70) int columns,
            @ForAll @IntRange(max = 20) int gap,
            @ForAll @IntRange(max = 5) int at) {
        int ldf = columns + gap;
        int ldt = rows + gap;
        float[] from = numbers(at + rows * ldf);
        float[] expected = transposed(from, at, ldf, rows, columns, ldt);
        float[] to = new float[expected.length];
        Transposition.of(from, at, ldf, rows, columns, to, at, ldt);
        assertArrayEquals(expected, to);
        to = new float[expected.length];
        Transposition.elements(from, at, ldf, rows, columns, to, at, ldt);
        assertArrayEquals(expected, to);
        if (Lanes.COUNT == SQUARE) {
            to = new float[expected.length];
            Transposition.vectors(from, at, ldf, rows, columns, to, at, ldt);
            assertArrayEquals(expected, to);
        }
    }

    @Test
    void ofSquares() {
        Assumptions.assumeTrue(Lanes.COUNT == SQUARE, "the squares are the squares of 16 lanes");
        for (int rows = 0; rows <= 4 * SQUARE; rows += SQUARE) {
            for (int columns = 0; columns <= 4 * SQUARE; columns += SQUARE) {
                for (int gap = 0; gap <= 20; gap++) {
                    float[] from = numbers(rows * (columns + gap));
                    float[] expected = transposed(from, 0, columns + gap, rows, columns, rows + gap);
                    float[] to = new float[expected.length];
                    Transposition.squares(from, 0, columns + gap, rows, columns, to, 0, rows + gap);
                    assertArrayEquals(expected, to);
                }
            }
        }
    }

    private static float[] numbers(int count) {
        float[] numbers = new float[count];
        for (int i = 0; i < count; i++) {
            numbers[i] = i + 1;
        }
        return numbers;
    }

    private static float[] transposed(float[] from, int at, int ldf, int rows, int columns, int ldt) {
        float[] to = new float[at + columns * ldt];
        for (int row = 0; row < rows; row++) {
            for (int column = 0; column < columns; column++) {
                to[at + column * ldt + row] = from[at + row * ldf + column];
            }
        }
        return to;
    }
}
