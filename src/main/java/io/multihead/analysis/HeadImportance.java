package io.multihead.analysis;

import io.multihead.internal.base.Checks;
import io.multihead.tensor.Tensor;

/**
 * Measures how much a loss depends on each head: {@code I_h = E_x |Att_h(x)^T dL(x)/dAtt_h(x)|} (Michel et al. 2019, equation 2). The input
 * is the gradient of the head mask, which a pass of {@code MultiHeadAttention} writes per example.
 */
public final class HeadImportance {
    private HeadImportance() {}

    /**
     * Returns the mean absolute gradient of every head.
     *
     * @param gradients {@code [examples, heads]}: for each example, the gradient of its loss with respect to its head mask
     * @return one value per head
     * @throws IllegalArgumentException if there are not two axes or no example
     */
    public static double[] of(Tensor gradients) {
        if (Checks.notNull(gradients, "gradients").rank() != 2 || gradients.dim(0) == 0) {
            throw Checks.fail("gradients", "shape " + gradients.shape(), "expected [examples, heads], one or more");
        }
        double[] importance = new double[Checks.fitsInt(gradients.dim(1), "heads")];
        for (int h = 0; h < importance.length; h++) {
            for (long x = 0; x < gradients.dim(0); x++) {
                importance[h] += Math.abs(gradients.get(x, h)) / gradients.dim(0);
            }
        }
        return importance;
    }

    /**
     * Returns the importances of one layer, divided by their Euclidean norm, so that layers can be compared (Molchanov et
     * al. 2017).
     *
     * @param importance the importance of each head of a layer
     * @return a vector of length 1, or zeros if all are 0
     */
    public static double[] normalized(double... importance) {
        double largest = 0;
        for (double value : Checks.notNull(importance, "importance")) {
            largest = Math.max(largest, Math.abs(value));
        }
        // values are scaled by a power of two, which is exact, so that squares neither overflow nor all underflow
        int exponent = largest == 0 ? 0 : -Math.getExponent(largest);
        double squares = 0;
        double[] result = new double[importance.length];
        for (int h = 0; h < result.length; h++) {
            result[h] = Math.scalb(importance[h], exponent);
            squares += result[h] * result[h];
        }
        for (int h = 0; h < result.length; h++) {
            result[h] = squares == 0 ? 0 : result[h] / Math.sqrt(squares);
        }
        return result;
    }
}
