package io.multihead.encoder;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** Searches nearest vectors. {@link SentenceEncoderGoldenTest} checks neighbors among MiniLM's vectors. */
class NeighborTest {
    private static final float[][] VECTORS = {{1, 0}, {0, 2}, {-3, 0}, {1, 1}, {0, 0}, {5, 5}};

    @Test
    void theNearestComeFirst() {
        assertEquals(
                List.of(0, 3, 5, 1, 4, 2),
                Neighbor.nearest(new float[] {2, 0}, VECTORS, 9).stream()
                        .map(Neighbor::index)
                        .toList());
        List<Neighbor> two = Neighbor.nearest(new float[] {0, -1}, VECTORS, 2);
        assertEquals(List.of(new Neighbor(0, 0), new Neighbor(2, 0)), two);
        assertEquals(-1, Neighbor.nearest(new float[] {3, 0}, VECTORS, 6).get(5).similarity(), 1e-15);
        assertEquals(List.of(), Neighbor.nearest(new float[0], new float[0][], 3));
    }

    /** The nearest vectors are the first ones of a stable sort of all vectors, which have many ties. */
    @Test
    void theBestAreThoseOfASort() {
        Random random = new Random(2);
        float[][] vectors = new float[500][5];
        for (float[] vector : vectors) {
            for (int i = 0; i < vector.length; i++) {
                vector[i] = random.nextInt(-1, 2);
            }
        }
        float[] query = {1, -1, 0, 1, 1};
        List<Neighbor> all = Neighbor.nearest(query, vectors, vectors.length);
        for (int i = 1; i < all.size(); i++) {
            Neighbor before = all.get(i - 1);
            Neighbor next = all.get(i);
            assertTrue(
                    before.similarity() > next.similarity()
                            || before.similarity() == next.similarity() && before.index() < next.index(),
                    () -> before + " before " + next);
        }
        for (int most : new int[] {0, 1, 7, 499, 500, 501}) {
            assertEquals(all.subList(0, Math.min(most, 500)), Neighbor.nearest(query, vectors, most));
        }
    }

    /** The rounded cosine of a vector with itself exceeds 1 for 314 of 1000 random vectors, unless it is clamped. */
    @Test
    void noSimilarityIsBeyondOneOrBeforeOthersWithoutOne() {
        Random random = new Random(1);
        for (int round = 0; round < 1000; round++) {
            float[] vector = new float[384];
            for (int i = 0; i < vector.length; i++) {
                vector[i] = (float) random.nextGaussian();
            }
            double one = Neighbor.nearest(vector, new float[][] {vector}, 1)
                    .getFirst()
                    .similarity();
            assertTrue(one <= 1 && one > 1 - 1e-14, () -> "similarity " + one);
        }
        float[][] broken = {{Float.NaN, 0}, {-1, 0}, {1, 0}, {0, Float.POSITIVE_INFINITY}};
        assertEquals(
                List.of(2, 1, 0, 3),
                Neighbor.nearest(new float[] {1, 0}, broken, 4).stream()
                        .map(Neighbor::index)
                        .toList());
    }

    @Test
    void argumentsAreChecked() {
        assertEquals(
                "vectors[0]: 2 elements; expected 3 as query has",
                assertThrows(IllegalArgumentException.class, () -> Neighbor.nearest(new float[3], VECTORS, 1))
                        .getMessage());
        assertThrows(IllegalArgumentException.class, () -> Neighbor.nearest(new float[2], VECTORS, -1));
        isNull("query", () -> Neighbor.nearest(null, VECTORS, 1));
        isNull("vectors", () -> Neighbor.nearest(new float[2], null, 1));
        isNull("vectors[1]", () -> Neighbor.nearest(new float[2], new float[][] {{1, 2}, null}, 1));
    }

    private static void isNull(String argument, Executable call) {
        assertEquals(
                argument + ": null; expected a value",
                assertThrows(NullPointerException.class, call).getMessage());
    }
}
