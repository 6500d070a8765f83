package io.multihead.support;

import io.multihead.reference.ReferenceNorm;
import java.util.Arrays;

/**
 * The error bounds of f32 normalization. Every rounding is propagated to first order, with 2% for higher orders. A sum
 * over a row has 32 chains and a tree of 5 levels. A sum over rows has chains of 64 in up to 64 units.
 */
public final class NormBounds {
    private static final double U = 0x1p-24 * 1.02;

    private final double[] weight;
    private final double[] bias;
    private final double[] weightBound;
    private final double[] biasBound;
    private final double roundings;

    public NormBounds(int length, int rows, double start) {
        weight = new double[length];
        bias = new double[length];
        weightBound = new double[length];
        biasBound = new double[length];
        Arrays.fill(weight, start);
        Arrays.fill(bias, start);
        // a chain, the unit's chains, the units, the addition to the earlier value
        roundings = 64 + Math.ceilDiv(rows, 64 * 64) + 64 + 1;
        Arrays.fill(weightBound, U * start);
        Arrays.fill(biasBound, U * start);
    }

    public double[] weight() {
        return weight;
    }

    public double[] bias() {
        return bias;
    }

    public double[] weightBound() {
        return weightBound;
    }

    public double[] biasBound() {
        return biasBound;
    }

    /** Adds a row to the parameters' gradients. */
    public void add(Row row, double[] dy) {
        for (int i = 0; i < dy.length; i++) {
            double product = dy[i] * row.z[i];
            weight[i] += product;
            bias[i] += dy[i];
            weightBound[i] += Math.abs(dy[i]) * row.zError[i] + U * roundings * Math.abs(product);
            biasBound[i] += U * roundings * Math.abs(dy[i]);
        }
    }

    /** The errors of one row. */
    public static final class Row {
        private final double[] z;
        private final double[] zError;
        /** The relative error of the factor of the row. */
        private final double factorError;

        private final double deviation;
        private final boolean centered;
        /** The roundings of a sum over the row and of its division. */
        private final double chain;

        public Row(double[] x, double epsilon, boolean centered) {
            int n = x.length;
            this.centered = centered;
            z = ReferenceNorm.normalized(x, epsilon, centered);
            deviation = ReferenceNorm.deviation(x, epsilon, centered);
            chain = Math.ceilDiv(n, 32) + 5 + 1;
            double[] d = Arrays.stream(z).map(v -> Math.abs(v) * deviation).toArray();
            double[] dError = new double[n];
            if (centered) {
                // x - m1 rounds; its mean, which includes the error of m1, rounds; and the subtraction of the mean
                // rounds
                double off = U * chain * mean(absolute(x));
                double rest = U * (chain + 1) * (mean(d) + off);
                for (int i = 0; i < n; i++) {
                    dError[i] = U * (d[i] + off) + rest + U * d[i];
                }
            }
            double squares = 0;
            double squaresError = 0;
            for (int i = 0; i < n; i++) {
                squares += d[i] * d[i] / n;
                squaresError += (2 * d[i] + dError[i]) * dError[i] / n;
            }
            squaresError += U * (chain + 1) * (squares + squaresError);
            double variance = squares + epsilon;
            // the exact effect on 1 / sqrt, since the error may be as large as the variance; the result rounds to f32
            double least = Math.max(variance - squaresError, epsilon == 0 ? variance / 4 : epsilon);
            factorError = Math.sqrt(variance / least) - 1 + U;
            zError = new double[n];
            for (int i = 0; i < n; i++) {
                zError[i] = dError[i] / deviation * (1 + factorError) + Math.abs(z[i]) * (factorError + U);
            }
        }

        /** Returns the bounds of {@code z weight + bias}, which is rounded once. */
        public double[] output(double[] weight, double[] bias) {
            double[] bound = new double[z.length];
            for (int i = 0; i < z.length; i++) {
                double y = Math.abs(z[i] * weight[i] + bias[i]);
                bound[i] = Math.abs(weight[i]) * zError[i] + U * (y + Math.abs(weight[i]) * zError[i]) + 0x1p-149;
            }
            return bound;
        }

        /** Returns the bounds of {@code (g - mean(g) - z mean(g z)) / deviation} with {@code g = dy weight}. */
        public double[] inputGradient(double[] weight, double[] dy) {
            int n = z.length;
            double mean = 0;
            double size = 0;
            double slope = 0;
            double slopeError = 0;
            for (int i = 0; i < n; i++) {
                double g = Math.abs(dy[i] * weight[i]);
                mean += centered ? dy[i] * weight[i] / n : 0;
                size += centered ? g / n : 0;
                slope += dy[i] * weight[i] * z[i] / n;
                slopeError += (g * zError[i] + U * (chain + 1) * g * Math.abs(z[i])) / n;
            }
            double meanError = U * (chain + 1) * size;
            double[] bound = new double[n];
            for (int i = 0; i < n; i++) {
                double g = Math.abs(dy[i] * weight[i]);
                double difference = g + Math.abs(mean);
                double product = Math.abs(z[i] * slope);
                double error = U * (g + difference)
                        + meanError
                        + Math.abs(slope) * zError[i]
                        + (Math.abs(z[i]) + zError[i]) * slopeError
                        + U * (difference + product);
                bound[i] = (error * (1 + factorError) + (factorError + U) * (difference + product)) / deviation;
            }
            return bound;
        }

        private static double[] absolute(double[] values) {
            return Arrays.stream(values).map(Math::abs).toArray();
        }

        private static double mean(double[] values) {
            return Arrays.stream(values).sum() / values.length;
        }
    }
}
