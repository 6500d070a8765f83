package io.multihead.internal.kernel;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Tag;
import net.jqwik.api.constraints.IntRange;

/** A transposition moves each element to its place, and no other element is written. */
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
    }

    @Property(tries = 100)
    void ofSquares(
            @ForAll @IntRange(max = 4) int down,
            @ForAll @IntRange(max = 4) int across,
            @ForAll @IntRange(max = 20) int gap) {
        if (Lanes.COUNT != SQUARE) {
            return; // the squares are the squares of 16 lanes
        }
        int rows = down * SQUARE;
        int columns = across * SQUARE;
        float[] from = numbers(rows * (columns + gap));
        float[] expected = transposed(from, 0, columns + gap, rows, columns, rows + gap);
        float[] to = new float[expected.length];
        Transposition.squares(from, 0, columns + gap, rows, columns, to, 0, rows + gap);
        assertArrayEquals(expected, to);
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
