package io.multihead.reference;

import io.multihead.internal.base.Checks;

/** The softmax of one row as plain loops in {@code double}. */
public final class ReferenceSoftmax {
    private ReferenceSoftmax() {}

    /**
     * Returns {@code e^s_j / sum_k e^s_k}; a row with only minus infinity, or an empty row, gives
     * 0.
     *
     * @param scores one row
     * @return the softmax as a new array
     */
    public static double[] row(double... scores) {
        double max = max(scores);
        double sum = sum(scores, max);
        double[] result = new double[scores.length];
        for (int j = 0; j < scores.length; j++) {
            result[j] = scores[j] == Double.NEGATIVE_INFINITY ? 0 : Math.exp(scores[j] - max) / sum;
        }
        return result;
    }

    /**
     * Returns {@code ln} of {@link #row}: {@code s_j - ln sum_k e^s_k}, minus infinity where the softmax is 0 by definition.
     *
     * @param scores one row
     * @return the logarithms as a new array
     */
    public static double[] logRow(double... scores) {
        double max = max(scores);
        double log = Math.log(sum(scores, max));
        double[] result = new double[scores.length];
        for (int j = 0; j < scores.length; j++) {
            // not s_j - logSumExp: rounding max + log would lose log if max is large
            result[j] = scores[j] == Double.NEGATIVE_INFINITY ? scores[j] : scores[j] - max - log;
        }
        return result;
    }

    /**
     * Returns {@code ln sum_j e^s_j}; minus infinity for a row with only minus infinity, or an empty
     * row.
     *
     * @param scores one row
     * @return log-sum-exp
     */
    public static double logSumExp(double... scores) {
        double max = max(scores);
        double sum = sum(scores, max);
        return sum == 0 ? max : max + Math.log(sum);
    }

    /**
     * Returns the gradient of the scores, {@code p_j (dp_j - sum_k p_k dp_k)}; an element whose softmax is 0 has gradient 0 and adds
     * to no sum.
     *
     * @param softmax one row of {@link #row}
     * @param gradient the gradient of the softmax, with the same number of elements
     * @return the gradient as a new array
     */
    public static double[] gradient(double[] softmax, double[] gradient) {
        int length = Checks.notNull(softmax, "softmax").length;
        Checks.length(Checks.notNull(gradient, "gradient").length, length, "gradient", "as many as softmax");
        double mean = 0;
        for (int j = 0; j < length; j++) {
            mean += softmax[j] == 0 ? 0 : softmax[j] * gradient[j];
        }
        double[] result = new double[length];
        for (int j = 0; j < length; j++) {
            result[j] = softmax[j] == 0 ? 0 : softmax[j] * (gradient[j] - mean);
        }
        return result;
    }

    private static double max(double[] scores) {
        double max = Double.NEGATIVE_INFINITY;
        for (double score : Checks.notNull(scores, "scores")) {
            max = Math.max(max, score); // the result is NaN if a score is NaN
        }
        return max;
    }

    private static double sum(double[] scores, double max) {
        double sum = 0;
        for (double score : scores) {
            sum += score == Double.NEGATIVE_INFINITY ? 0 : Math.exp(score - max);
        }
        return sum;
    }
}
