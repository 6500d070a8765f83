package io.multihead.encoder;

import io.multihead.internal.base.Checks;
import java.util.Comparator;
import java.util.List;
import java.util.PriorityQueue;

/**
 * One of the vectors that are nearest to a query.
 *
 * @param index its index in the list of vectors
 * @param similarity the cosine of the angle between the vector and the query, -1 to 1; 0 if one of the vectors is zero, NaN if one has a NaN or
 *     an infinity
 */
public record Neighbor(int index, double similarity) {
    /** Orders the nearest vectors first and NaN last. Equally near vectors are in the order of their indices. */
    private static final Comparator<Neighbor> ORDER = Comparator.<Neighbor>comparingDouble(
                    one -> Double.isNaN(one.similarity) ? Double.POSITIVE_INFINITY : -one.similarity)
            .thenComparingInt(Neighbor::index);

    /**
     * Finds the nearest vectors by comparison with every vector. The result is exact. The time is acceptable up to some ten
     * thousand vectors.
     *
     * @param query a vector
     * @param vectors the vectors, each as long as the query
     * @param most the number of vectors to find
     * @return the nearest vectors, the nearest first. Vectors of equal similarity are in the order of their indices. Vectors whose similarity
     *     is NaN come last. The list has fewer than {@code most} elements if there are fewer vectors
     * @throws IllegalArgumentException if a vector's length differs from the query's, or {@code most} is negative
     * @throws NullPointerException if the query, the list or one of its vectors is null; the message names the argument
     */
    public static List<Neighbor> nearest(float[] query, float[][] vectors, int most) {
        Checks.notNull(query, "query");
        Checks.noNulls(vectors, "vectors");
        Checks.atLeast(most, 0, "most");
        // the worst of the best vectors is on top, and is removed first
        PriorityQueue<Neighbor> best = new PriorityQueue<>(ORDER.reversed());
        double length = Math.sqrt(squares(query));
        for (int i = 0; i < vectors.length; i++) {
            if (vectors[i].length != query.length) {
                throw Checks.fail(
                        "vectors[" + i + "]",
                        vectors[i].length + " elements",
                        "expected " + query.length + " as query has");
            }
            Neighbor next = new Neighbor(i, cosine(query, length, vectors[i]));
            if (best.size() < most) {
                best.add(next);
            } else if (most > 0 && ORDER.compare(next, best.element()) < 0) {
                best.remove();
                best.add(next);
            }
        }
        return best.stream().sorted(ORDER).toList();
    }

    private static double cosine(float[] a, double lengthOfA, float[] b) {
        double lengths = lengthOfA * Math.sqrt(squares(b));
        // rounding may make the quotient of parallel vectors larger than 1, the largest cosine
        return lengths == 0 ? 0 : Math.clamp(product(a, b) / lengths, -1, 1);
    }

    private static double squares(float[] a) {
        return product(a, a);
    }

    /** Computes four partial sums, so that an addition need not wait for the previous one. */
    private static double product(float[] a, float[] b) {
        double first = 0;
        double second = 0;
        double third = 0;
        double fourth = 0;
        int i = 0;
        for (; i + 4 <= a.length; i += 4) {
            first += (double) a[i] * b[i];
            second += (double) a[i + 1] * b[i + 1];
            third += (double) a[i + 2] * b[i + 2];
            fourth += (double) a[i + 3] * b[i + 3];
        }
        for (; i < a.length; i++) {
            first += (double) a[i] * b[i];
        }
        return first + second + (third + fourth);
    }
}
