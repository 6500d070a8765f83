package io.multihead.internal.kernel;

import static io.multihead.internal.kernel.ColumnMajorB.CHAINS;
import static io.multihead.internal.kernel.ColumnMajorB.COLUMNS;
import static io.multihead.support.Floats.bits;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import io.multihead.support.Floats;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.SplittableRandom;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Tag;
import net.jqwik.api.constraints.IntRange;

/** Kernels that read B in place have the same bits as plain loops of multiply-adds in ascending order, with and without vectors. */
@Tag("lanes")
class MatrixAsItLiesProperties {
    private static final int AT = 3;

    @Property(tries = 300)
    void rowsOfB(
            @ForAll @IntRange(min = 1, max = 2) int quad,
            @ForAll @IntRange(max = 40) int depth,
            @ForAll @IntRange(min = Lanes.PANEL, max = 100) int columns,
            @ForAll @IntRange(max = 5) int gap,
            @ForAll long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        int m = quad == 1 ? 1 : 4;
        int ldc = Lanes.roundUp(columns, Lanes.PANEL) + Lanes.PANEL;
        int ld = columns + gap;
        float[] a = numbers(random, m * Lanes.ROW + AT);
        float[] b = numbers(random, depth * ld);
        float[] before = numbers(random, m * ldc + AT);
        float[] expected = before.clone();
        for (int row = 0; row < m; row++) {
            for (int j = 0; j < columns; j++) {
                int to = AT + row * ldc + j;
                for (int p = 0; p < depth; p++) {
                    expected[to] = Math.fma(a[AT + row * Lanes.ROW + p], b[p * ld + j], expected[to]);
                }
            }
        }
        float[] scalars = before.clone();
        RowMajorB.addScalars(m, a, AT, b, ld, depth, columns, scalars, AT, ldc);
        assertArrayEquals(bits(expected), bits(scalars), "scalars");

        float[] vectors = before.clone();
        int whole = columns - columns % Lanes.COUNT;
        for (int row = 0; row < m; row++) { // the last vector starts from the values before the last columns
            int at = AT + row * ldc;
            System.arraycopy(before, at + columns - Lanes.COUNT, vectors, at + whole, Lanes.COUNT);
        }
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment memory = copy(b, arena);
            if (m == 1) {
                RowMajorB.add1(a, AT, memory, 0, 4L * ld, depth, columns, vectors, AT);
            } else {
                RowMajorB.add4(a, AT, memory, 0, 4L * ld, depth, columns, vectors, AT, ldc);
            }
        }
        for (int row = 0; row < m; row++) {
            int at = AT + row * ldc;
            assertArrayEquals(
                    bits(Arrays.copyOfRange(expected, at, at + whole)),
                    bits(Arrays.copyOfRange(vectors, at, at + whole)));
            if (whole < columns) {
                assertArrayEquals(
                        bits(Arrays.copyOfRange(expected, at + columns - Lanes.COUNT, at + columns)),
                        bits(Arrays.copyOfRange(vectors, at + whole, at + whole + Lanes.COUNT)));
            }
        }
    }

    @Property(tries = 300)
    void columnsOfB(@ForAll @IntRange(max = 32) int blocks, @ForAll @IntRange(max = 7) int rest, @ForAll long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        int depth = blocks * CHAINS + (blocks == 32 ? 0 : rest);
        float[] a = numbers(random, depth + AT);
        float[] b = numbers(random, COLUMNS * Lanes.ROW + AT);
        float[] c = numbers(random, COLUMNS + AT + 1);
        float[] scalars = c.clone();
        ColumnMajorB.chainScalars(a, AT, b, AT, depth, scalars, AT);
        assertArrayEquals(bits(chains(CHAINS, a, b, depth, c)), bits(scalars), "scalars");
        if (Lanes.COUNT < CHAINS) {
            return; // the vector form needs at least CHAINS lanes
        }
        float[] vectors = c.clone();
        int whole = depth - depth % COLUMNS;
        try (Arena arena = Arena.ofConfined()) {
            ColumnMajorB.chain(a, AT, copy(b, arena), 4L * AT, 4L * Lanes.ROW, whole, vectors, AT);
        }
        assertArrayEquals(bits(chains(COLUMNS, a, b, whole, c)), bits(vectors), "vectors");
    }

    private static float[] chains(int columns, float[] a, float[] b, int depth, float[] before) {
        float[] c = before.clone();
        for (int j = 0; j < columns; j++) {
            float sum = 0f;
            for (int p = 0; p < depth; p++) {
                sum = Math.fma(a[AT + p], b[AT + j * Lanes.ROW + p], sum);
            }
            c[AT + j] = sum;
        }
        return c;
    }

    private static MemorySegment copy(float[] numbers, Arena arena) {
        MemorySegment memory = arena.allocate(Math.max(1, 4L * numbers.length));
        MemorySegment.copy(numbers, 0, memory, ValueLayout.JAVA_FLOAT, 0, numbers.length);
        return memory;
    }

    private static float[] numbers(SplittableRandom random, int length) {
        return Floats.random(random, length, Float.POSITIVE_INFINITY, Float.MIN_VALUE);
    }
}
