package io.multihead.decoder;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.internal.kernel.VocabularyOps;
import java.util.Comparator;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** For any requested number of tokens, their order equals the order of a stable sort, and their probabilities do not change. */
class RankedTokensTest {
    enum Shape {
        FLAT {
            @Override
            float next(SplittableRandom random) {
                return 1 + random.nextFloat();
            }
        },
        STEEP {
            @Override
            float next(SplittableRandom random) {
                return (float) Math.exp(-40 * random.nextDouble());
            }
        },
        EQUAL {
            @Override
            float next(SplittableRandom random) {
                return 1 + random.nextInt(5);
            }
        },
        LEAST {
            @Override
            float next(SplittableRandom random) {
                return random.nextInt(40) * Float.MIN_VALUE;
            }
        };

        abstract float next(SplittableRandom random);
    }

    @ParameterizedTest
    @EnumSource
    void ranksAreThoseOfAStableSort(Shape shape) {
        SplittableRandom random = new SplittableRandom(shape.ordinal());
        for (int length : new int[] {1, 300, 5000, 40_000}) {
            float[] row = new float[length];
            for (int id = 0; id < length; id++) {
                row[id] = shape.next(random);
            }
            float[] maxima = new float[VocabularyOps.blocks(length)];
            VocabularyOps.maxima(row, length, maxima);
            int[] expected = IntStream.range(0, length)
                    .filter(id -> row[id] > 0)
                    .boxed()
                    .sorted(Comparator.comparingDouble(id -> -row[id]))
                    .mapToInt(id -> id)
                    .toArray();
            float[] before = row.clone();
            RankedTokens ranked = new RankedTokens(row, maxima);
            for (int asked : new int[] {1, RankedTokens.ONE_BY_ONE, RankedTokens.ONE_BY_ONE + 1, length / 2, length}) {
                int count = Math.min(asked, expected.length);
                ranked.begin();
                for (int rank = 0; rank < count; rank++) {
                    assertTrue(ranked.has(rank));
                    assertEquals(expected[rank], ranked.token(rank), "rank " + rank);
                    assertEquals(before[expected[rank]], ranked.probability(rank), 0.0);
                }
                assertFalse(count == expected.length && ranked.has(count));
                ranked.end();
                assertArrayEquals(before, row);
            }
        }
    }
}
