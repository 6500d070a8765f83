package io.multihead.internal.kernel;

import static io.multihead.internal.kernel.Lanes.PANEL;
import static io.multihead.support.Floats.bits;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.multihead.support.Floats;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.SplittableRandom;
import java.util.function.Consumer;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;

/** Results of kernels on rows and the floats around the rows have the same bits with and without vectors. */
class ScalarKernelsProperties {
    private static final int AT = 3;

    @Property(tries = 300)
    void exponentials(@ForAll @IntRange(min = 1, max = 12) int panels, @ForAll long seed) {
        int length = panels * PANEL;
        float[] partial = numbers(~seed, PANEL + 1);
        float[] scalarSums = partial.clone();
        same(
                seed,
                length,
                row -> Exp.vectors(row, AT, length, 0.7f, 3f, partial, 1, 0.25f),
                row -> Exp.scalars(row, AT, length, 0.7f, 3f, scalarSums, 1, 0.25f));
        assertArrayEquals(bits(partial), bits(scalarSums));
    }

    @Property(tries = 200)
    void elementsOfBlocks(
            @ForAll @IntRange(max = 8) int blocks, @ForAll boolean half, @ForAll boolean hasMins, @ForAll long seed) {
        int depth = blocks * BitFields.ROWS;
        int chain = half ? BitFields.ROWS / 2 : BitFields.ROWS;
        float[] factors = numbers(~seed, BitFields.ROWS);
        float[] addends = numbers(seed + 1, BitFields.ROWS);
        float[] scales = numbers(seed + 2, BlockScales.FLOATS_OF_PANEL);
        float[] vectors = numbers(seed, depth * PANEL + AT);
        float[] scalars = vectors.clone();
        BlockElements.scaleVectors(vectors, factors, addends, scales, chain, depth);
        if (hasMins) {
            BlockElements.addVectors(vectors, scales, chain, depth);
        }
        BlockElements.scalars(scalars, factors, addends, scales, chain, depth, hasMins);
        assertArrayEquals(bits(scalars), bits(vectors));
    }

    @Property(tries = 300)
    void gelu(@ForAll @IntRange(max = 12) int panels, @ForAll long seed) {
        int length = panels * PANEL;
        float[] buffer = new float[ActivationOps.bufferLength(length)];
        same(
                seed,
                length,
                row -> ActivationOps.geluVectors(row, AT, length, buffer),
                row -> ActivationOps.geluScalars(row, AT, length));
    }

    @Property(tries = 300)
    void rows(@ForAll @IntRange(max = 12) int panels, @ForAll long seed) {
        int length = panels * PANEL;
        float[] other = numbers(~seed, length + 5);
        same(
                seed,
                length,
                row -> RowOps.addVectors(row, AT, length, other, 5),
                row -> RowOps.addScalars(row, AT, length, other, 5));
        same(
                seed,
                2 * length,
                row -> RowOps.foldAndDivideVectors(row, AT, length, length, 3f),
                row -> RowOps.foldAndDivideScalars(row, AT, length, length, 3f));
        float[] row = numbers(seed, length + AT);
        assertEquals(RowOps.maxVectors(row, AT, length), RowOps.maxScalars(row, AT, length));
    }

    @Test
    void aMaximumOfZeroIsPositiveWhereverItIs() {
        for (int at = 0; at < PANEL; at++) {
            float[] row = new float[PANEL];
            Arrays.fill(row, -1f);
            row[at] = -0f;
            row[(at + 8) % PANEL] = 0f;
            assertEquals(0f, RowOps.maxVectors(row, 0, PANEL));
            assertEquals(0f, RowOps.maxScalars(row, 0, PANEL));
        }
    }

    @Property(tries = 300)
    void norms(@ForAll @IntRange(max = 12) int panels, @ForAll long seed) {
        int length = panels * PANEL;
        float[] weight = numbers(~seed, length);
        float[] bias = numbers(seed + 1, length);
        float[] vectors = new float[PANEL];
        float[] scalars = new float[PANEL];
        float[] sums = new float[6];
        same(
                seed,
                length,
                row -> {
                    sums[0] = Norm.sum(row, length, vectors);
                    sums[1] = Norm.shift(row, length, 0.3f, vectors);
                    sums[2] = Norm.shiftForSquares(row, length, -0.2f, vectors);
                    Norm.affineVectors(row, length, 1.7f, weight, bias);
                },
                row -> {
                    sums[3] = Norm.shiftScalars(row, length, 0f, false, scalars);
                    sums[4] = Norm.shiftScalars(row, length, 0.3f, false, scalars);
                    sums[5] = Norm.shiftScalars(row, length, -0.2f, true, scalars);
                    Norm.affineScalars(row, length, 1.7f, weight, bias);
                });
        assertArrayEquals(bits(Arrays.copyOf(sums, 3)), bits(Arrays.copyOfRange(sums, 3, 6)));
    }

    @Property(tries = 300)
    void tileSums(@ForAll @IntRange(max = 20) int rows, @ForAll boolean adjacent, @ForAll long seed) {
        int apart = adjacent ? Lanes.COUNT : Lanes.HALF;
        int length = rows * 2 * PANEL;
        float[] tile = numbers(~seed, rows * PANEL + 1);
        same(
                seed,
                2 * length,
                row -> {
                    TileSums.addVectors(tile, row, AT, 2 * PANEL, rows, apart);
                    TileSums.addCompensatedVectors(tile, 1, row, AT, 2 * PANEL, length, rows - 1, apart);
                },
                row -> {
                    TileSums.addScalars(tile, row, AT, 2 * PANEL, rows, apart);
                    TileSums.addCompensatedScalars(tile, 1, row, AT, 2 * PANEL, length, rows - 1, apart);
                });
    }

    @Property(tries = 300)
    void panels(
            @ForAll @IntRange(max = 5) int panels, @ForAll @IntRange(min = 1, max = 9) int count, @ForAll long seed) {
        int columns = panels * PANEL;
        float[] rows = numbers(seed, count * (columns + 1) + AT);
        int size = F32Panels.size(columns, count + 2);
        float[] vectors = new float[size];
        float[] scalars = new float[size];
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment memory = arena.allocate(size * 4L + 64, 64);
            boolean finite = F32Panels.fromRowsVectors(rows, AT, columns + 1, count, columns, memory, 0, count + 2);
            MemorySegment.copy(memory, ValueLayout.JAVA_FLOAT, 0, vectors, 0, size);
            memory.fill((byte) 0);
            assertEquals(
                    finite, F32Panels.fromRowsScalars(rows, AT, columns + 1, count, columns, memory, 0, count + 2));
            MemorySegment.copy(memory, ValueLayout.JAVA_FLOAT, 0, scalars, 0, size);
        }
        assertArrayEquals(bits(vectors), bits(scalars));
    }

    private static void same(long seed, int length, Consumer<float[]> vectors, Consumer<float[]> scalars) {
        float[] first = numbers(seed, length + AT + PANEL);
        float[] second = first.clone();
        vectors.accept(first);
        scalars.accept(second);
        assertArrayEquals(bits(first), bits(second));
    }

    private static float[] numbers(long seed, int length) {
        return Floats.random(
                new SplittableRandom(seed),
                length,
                Float.POSITIVE_INFINITY,
                Float.NEGATIVE_INFINITY,
                Float.NaN,
                Float.MIN_VALUE);
    }
}
