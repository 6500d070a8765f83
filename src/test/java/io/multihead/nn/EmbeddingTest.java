package io.multihead.nn;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.position.SinusoidalPositions;
import io.multihead.reference.Tolerance;
import io.multihead.support.Layout;
import io.multihead.support.Numbers;
import io.multihead.support.Trained;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.Arrays;
import java.util.SplittableRandom;
import net.jqwik.api.EdgeCasesMode;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** The embedding and the position encodings, element by element. */
class EmbeddingTest {
    private static final DType[] TYPES = {DType.F32, DType.F32, DType.F64, DType.BF16, DType.F16};

    /** Numbers that all element types hold, so that copies are exact; sums are those of plain loops in the same order. */
    @Property(tries = 300, edgeCases = EdgeCasesMode.NONE)
    void looksUpAndAddsInOrder(
            @ForAll @IntRange(min = 1, max = 9) int vocabulary,
            @ForAll @IntRange(max = 70) int dim,
            @ForAll @IntRange(max = 12) int tokens,
            @ForAll Layout layout,
            @ForAll Layout results,
            @ForAll long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        DType type = TYPES[random.nextInt(TYPES.length)];
        try (Arena arena = Arena.ofConfined()) {
            Tensor weight = whole(layout.allocate(arena, TYPES[random.nextInt(TYPES.length)], vocabulary, dim), random);
            Embedding embedding = Embedding.of(weight);
            int[] ids = random.ints(2L * tokens, 0, vocabulary).toArray();
            Tensor y = results.allocate(arena, type, 2, tokens, dim);
            embedding.forward(ids, y);
            Tensor dy = Numbers.gaussian(layout.allocate(arena, DType.F32, 2, tokens, dim), random, 0, 1);
            Tensor gradient = whole(results.allocate(arena, type, vocabulary, dim), random);
            Tensor expected = Numbers.copy(gradient, arena, Layout.DENSE, type);
            embedding.backward(ids, dy, gradient);
            for (int i = 0; i < ids.length; i++) {
                for (int j = 0; j < dim; j++) {
                    assertEquals(weight.get(ids[i], j), y.get(i / tokens, i % tokens, j));
                    float sum = (float) expected.get(ids[i], j) + (float) dy.get(i / tokens, i % tokens, j);
                    expected.set(sum, ids[i], j);
                }
            }
            assertArrayEquals(Numbers.of(expected), Numbers.of(gradient));
            assertTrue(Layout.untouchedOutside(y) && Layout.untouchedOutside(gradient));
        }
    }

    private static Tensor whole(Tensor tensor, SplittableRandom random) {
        return Numbers.fill(tensor, () -> random.nextInt(-100, 100));
    }

    @Test
    void badIdsWriteNothing() {
        Tensor weight = Tensor.of(new float[6], 3, 2);
        Embedding embedding = Embedding.of(weight);
        assertEquals(weight, embedding.parameters().get("weight"));
        float[] memory = new float[6];
        Arrays.fill(memory, Float.NaN);
        Tensor y = Tensor.of(memory, 3, 2);
        Tensor dy = Tensor.of(new float[6], 3, 2);
        fails("ids[2]: 3; expected 0 to 2", () -> embedding.forward(new int[] {0, 1, 3}, y));
        fails("ids[1]: -1; expected 0 to 2", () -> embedding.backward(new int[] {0, -1, 0}, dy, y));
        fails("y: shape [3, 2]; expected [..., 2] with 4 rows, one per id", () -> embedding.forward(new int[4], y));
        fails(
                "weightGradient: shape [2, 2]; expected [3, 2]",
                () -> embedding.backward(new int[3], dy, Tensor.of(memory, 2, 2)));
        fails(
                "weightGradient: F32 [3, 2] overlaps outputGradient; expected memory of its own",
                () -> embedding.backward(new int[3], y, y));
        fails("weight: shape [6]; expected [vocabulary, dim]", () -> Embedding.of(Tensor.of(new float[6])));
        for (float element : memory) {
            assertTrue(Float.isNaN(element), "written");
        }
    }

    /** The paper's formula; angles are off by a few {@code 2^-52} of themselves, and a sum rounds once. */
    @Property(tries = 200, edgeCases = EdgeCasesMode.NONE)
    void positionsFollowTheFormula(
            @ForAll @IntRange(max = 20) int tokens,
            @ForAll @IntRange(max = 70) int dim,
            @ForAll @IntRange(max = 100_000) int offset,
            @ForAll Layout layout,
            @ForAll long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        try (Arena arena = Arena.ofConfined()) {
            DType type = TYPES[random.nextInt(TYPES.length)];
            Tensor filled = layout.allocate(arena, type, 2, tokens, dim);
            Tensor added = whole(layout.allocate(arena, type, 2, tokens, dim), random);
            double[] before = Numbers.of(added);
            SinusoidalPositions.fill(filled, offset);
            SinusoidalPositions.add(added, offset);
            double[] expected = new double[before.length];
            double[] bound = new double[before.length];
            for (int i = 0; i < expected.length; i++) {
                int position = offset + i / dim % tokens;
                int element = i % dim;
                double angle = position / Math.pow(10_000, element / 2 * 2.0 / dim);
                expected[i] = element % 2 == 0 ? Math.sin(angle) : Math.cos(angle);
                bound[i] = Tolerance.storage(expected[i], DType.F32) + 0x1p-48 * (1 + angle);
            }
            Trained.assertWithin(expected, bound, filled, "filled");
            for (int i = 0; i < expected.length; i++) {
                expected[i] += before[i];
                bound[i] += Tolerance.storage(Math.abs(expected[i]) + 1e-6, DType.F32);
            }
            Trained.assertWithin(expected, bound, added, "added");
            assertTrue(Layout.untouchedOutside(filled) && Layout.untouchedOutside(added));
        }
    }

    @Test
    void badPositionsWriteNothing() {
        Tensor to = Tensor.of(new float[4], 2, 2);
        fails("offset: -1; expected at least 0", () -> SinusoidalPositions.fill(to, -1));
        fails("to: shape [4]; expected [..., tokens, dim]", () -> SinusoidalPositions.add(Tensor.of(new float[4]), 0));
        Tensor repeated = Tensor.of(new float[2], 1, 2).broadcast(2, 2);
        fails(
                "to: F32 [2, 2] strides [0, 1] repeats elements; expected memory for every element",
                () -> SinusoidalPositions.add(repeated, 0));
        assertArrayEquals(new float[4], to.toArray());
        assertArrayEquals(new float[4], repeated.toArray());
    }

    /** The JDK's own exceptions, as everywhere. */
    @Test
    void memoryThatThisThreadMayNotUseIsRefused() throws Exception {
        Tensor closed;
        try (Arena arena = Arena.ofConfined()) {
            closed = Tensor.allocate(arena, DType.F32, Shape.of(2, 2));
            Thread other = new Thread(
                    () -> assertThrows(WrongThreadException.class, () -> SinusoidalPositions.fill(closed, 0)));
            Throwable[] thrown = new Throwable[1];
            other.setUncaughtExceptionHandler((thread, error) -> thrown[0] = error);
            other.start();
            other.join();
            assertNull(thrown[0]);
        }
        assertThrows(IllegalStateException.class, () -> SinusoidalPositions.fill(closed, 0));
        assertThrows(IllegalStateException.class, () -> SinusoidalPositions.add(closed, 0));
    }

    private static void fails(String message, Executable call) {
        assertEquals(message, assertThrows(IllegalArgumentException.class, call).getMessage());
    }
}
