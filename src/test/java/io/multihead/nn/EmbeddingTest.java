package io.multihead.nn;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.faults.Named;
import io.multihead.support.Layout;
import io.multihead.support.Numbers;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.Arrays;
import java.util.SplittableRandom;
import net.jqwik.api.EdgeCasesMode;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;

/** The embedding, checked element by element. */
class EmbeddingTest {
    private static final Compute SERIAL = Compute.serial();
    private static final DType[] TYPES = {DType.F32, DType.F32, DType.F64, DType.BF16, DType.F16};

    /** All element types can hold the numbers, so that copies are exact. Sums equal plain loops in the same order. */
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
            embedding.forward(SERIAL, ids, y);
            Tensor dy = Numbers.gaussian(layout.allocate(arena, DType.F32, 2, tokens, dim), random, 0, 1);
            Tensor gradient = whole(results.allocate(arena, type, vocabulary, dim), random);
            Tensor expected = Numbers.copy(gradient, arena, Layout.DENSE, type);
            embedding.backward(SERIAL, ids, dy, gradient);
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
        Named.message("ids[2]: 3; expected 0 to 2", () -> embedding.forward(SERIAL, new int[] {0, 1, 3}, y));
        Named.message("ids[1]: -1; expected 0 to 2", () -> embedding.backward(SERIAL, new int[] {0, -1, 0}, dy, y));
        Named.message(
                "y: shape [3, 2]; expected [..., 2] with 4 rows, one per id",
                () -> embedding.forward(SERIAL, new int[4], y));
        Named.message(
                "weightGradient: shape [2, 2]; expected [3, 2]",
                () -> embedding.backward(SERIAL, new int[3], dy, Tensor.of(memory, 2, 2)));
        Named.message(
                "weightGradient: F32 [3, 2] overlaps outputGradient; expected separate memory",
                () -> embedding.backward(SERIAL, new int[3], y, y));
        Named.message("weight: shape [6]; expected [vocabulary, dim]", () -> Embedding.of(Tensor.of(new float[6])));
        for (float element : memory) {
            assertTrue(Float.isNaN(element), "written");
        }
    }
}
