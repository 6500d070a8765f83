package io.multihead.encoder;

import io.multihead.internal.base.Checks;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * One of the vectors that are nearest to a query.
 *
 * @param index its place among the vectors
 * @param similarity the cosine of the angle between it and the query, -1 to 1; 0 where one of them is zero, NaN where one
 *     has a NaN or an infinity
 */
public record Neighbour(int index, double similarity) {
    /**
     * Finds the nearest vectors by comparing with every one: exact, and fast enough for some ten thousand.
     *
     * @param query a vector
     * @param vectors as long as the query
     * @param most how many to find
     * @return the nearest first; of equally near ones the lower index first, and last those whose similarity is NaN; fewer than
     *     {@code most} where there are no more
     * @throws IllegalArgumentException if a vector's length differs from the query's, or {@code most} is negative
     * @throws NullPointerException if the query, the vectors or one of them is null; the message names it
     */
    public static List<Neighbour> nearest(float[] query, float[][] vectors, int most) {
        Checks.notNull(query, "query");
        Checks.noNulls(vectors, "vectors");
        Checks.atLeast(most, 0, "most");
        List<Neighbour> all = new ArrayList<>(vectors.length);
        for (int i = 0; i < vectors.length; i++) {
            if (vectors[i].length != query.length) {
                throw Checks.fail(
                        "vectors[" + i + "]",
                        vectors[i].length + " elements",
                        "expected " + query.length + " as query has");
            }
            all.add(new Neighbour(i, cosine(query, vectors[i])));
        }
        // stable: equally near ones stay in order
        all.sort(Comparator.comparingDouble(
                one -> Double.isNaN(one.similarity) ? Double.POSITIVE_INFINITY : -one.similarity));
        return List.copyOf(all.subList(0, Math.min(most, all.size())));
    }

    private static double cosine(float[] a, float[] b) {
        double product = 0;
        double squaresOfA = 0;
        double squaresOfB = 0;
        for (int i = 0; i < a.length; i++) {
            product += (double) a[i] * b[i];
            squaresOfA += (double) a[i] * a[i];
            squaresOfB += (double) b[i] * b[i];
        }
        double lengths = Math.sqrt(squaresOfA) * Math.sqrt(squaresOfB);
        // the quotient of parallel vectors is rounded, and may exceed 1, where a cosine ends
        return lengths == 0 ? 0 : Math.clamp(product / lengths, -1, 1);
    }
}
