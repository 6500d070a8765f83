package io.multihead.analysis;

import io.multihead.internal.base.Checks;
import io.multihead.tensor.Tensor;

/**
 * Differences between the heads of one layer, computed from their attention weights {@code [heads, queries, keys]}. Statistics are computed
 * in double on the calling thread. Thread-safe.
 */
public final class HeadStatistics {
    private final double[][] heads;
    private final int queries;
    private final int keys;

    private HeadStatistics(double[][] heads, int queries, int keys) {
        this.heads = heads;
        this.queries = queries;
        this.keys = keys;
    }

    /**
     * Reads the weights of all heads; later changes of the tensor have no effect.
     *
     * @param weights {@code [heads, queries, keys]}, any element type and strides
     * @return the statistics
     * @throws IllegalArgumentException if there are not three axes, or a head has more weights than an array holds
     */
    public static HeadStatistics of(Tensor weights) {
        if (Checks.notNull(weights, "weights").rank() != 3) {
            throw Checks.fail("weights", "shape " + weights.shape(), "expected [heads, queries, keys]");
        }
        int queries = Checks.fitsInt(weights.dim(1), "queries");
        int keys = Checks.fitsInt(weights.dim(2), "keys");
        if ((long) queries * keys > Checks.MAX_ARRAY_LENGTH) {
            throw Checks.fail(
                    "weights", "shape " + weights.shape(), "expected at most " + Checks.MAX_ARRAY_LENGTH + " per head");
        }
        double[][] heads = new double[Checks.fitsInt(weights.dim(0), "heads")][queries * keys];
        for (int h = 0; h < heads.length; h++) {
            for (int i = 0; i < queries; i++) {
                for (int j = 0; j < keys; j++) {
                    heads[h][i * keys + j] = weights.get(h, i, j);
                }
            }
        }
        return new HeadStatistics(heads, queries, keys);
    }

    /**
     * Returns the cosine of the angle between two heads' weight matrices, taken as vectors: 1 for heads with proportional
     * weights.
     *
     * @return {@code [heads][heads]}, symmetric, -1 to 1, with 1 on the diagonal; the other elements of a head are 0 if its
     *     weights are all zero, as when its queries see no key, and NaN if a weight is NaN or infinite
     */
    public double[][] cosineSimilarity() {
        double[][] result = new double[heads.length][heads.length];
        for (int a = 0; a < heads.length; a++) {
            for (int b = 0; b < heads.length; b++) {
                result[a][b] = a == b ? 1 : cosine(heads[a], heads[b]);
            }
        }
        return result;
    }

    /**
     * Returns the Shannon entropy of a head's weights, averaged over its queries, in bits: 0 if every query attends to one key,
     * {@code log2(keys)} if it attends to all keys equally.
     *
     * @return one value per head; NaN if a weight is NaN or negative
     */
    public double[] entropy() {
        double[] result = new double[heads.length];
        for (int h = 0; h < heads.length; h++) {
            double sum = 0;
            for (double p : heads[h]) {
                sum -= p == 0 ? 0 : p * StrictMath.log(p) / StrictMath.log(2);
            }
            result[h] = sum / Math.max(1, queries);
        }
        return result;
    }

    /** {@return the population standard deviation of a weight across heads, averaged over keys; one value per query} */
    public double[] deviationAcrossHeads() {
        double[] result = new double[queries];
        for (int at = 0; at < queries * keys; at++) {
            double mean = 0;
            double square = 0;
            for (double[] head : heads) {
                mean += head[at] / heads.length;
            }
            for (double[] head : heads) {
                square += (head[at] - mean) * (head[at] - mean) / heads.length;
            }
            result[at / keys] += Math.sqrt(square) / keys;
        }
        return result;
    }

    private static double cosine(double[] a, double[] b) {
        double lengths = Math.sqrt(dot(a, a)) * Math.sqrt(dot(b, b));
        // the quotient of parallel vectors is rounded, and may exceed 1, the largest cosine
        return lengths == 0 ? 0 : Math.clamp(dot(a, b) / lengths, -1, 1);
    }

    private static double dot(double[] a, double[] b) {
        double sum = 0;
        for (int i = 0; i < a.length; i++) {
            sum += a[i] * b[i];
        }
        return sum;
    }
}
