package io.multihead.model;

import io.multihead.internal.base.Checks;
import io.multihead.tensor.Tensor;
import java.util.Arrays;

/**
 * The decay of the states of {@link GatedLinearAttention} and {@link Mamba2}: {@code exp(slope softplus(a + bias))}, where a is a
 * projection. Immutable.
 */
public final class LinearDecay {
    private final float[] slopes;
    private final float[] biases;

    private LinearDecay(float[] slopes, float[] biases) {
        this.slopes = slopes;
        this.biases = biases;
    }

    /**
     * {@return the decay of each head}
     *
     * @param slopes {@code [heads]}, finite and at most 0: {@code -exp(A_log)} of a Hugging Face file; copied
     * @param biases {@code [heads]}, copied
     * @throws IllegalArgumentException if the numbers of slopes and biases differ, or a slope is positive or
     *     not finite
     */
    public static LinearDecay of(Tensor slopes, Tensor biases) {
        if (Checks.notNull(slopes, "slopes").rank() != 1 || slopes.dim(0) == 0) {
            throw Checks.fail("slopes", "shape " + slopes.shape(), "expected one axis of at least 1 element");
        }
        if (!Checks.notNull(biases, "biases").shape().equals(slopes.shape())) {
            throw Checks.fail("biases", "shape " + biases.shape(), "expected " + slopes.shape() + ", as in slopes");
        }
        float[] copy = slopes.toArray();
        for (float slope : copy) {
            if (!(slope <= 0 && slope > Float.NEGATIVE_INFINITY)) {
                throw Checks.fail("slopes", Arrays.toString(copy), "expected finite numbers of at most 0");
            }
        }
        return new LinearDecay(copy, biases.toArray());
    }

    int heads() {
        return slopes.length;
    }

    /**
     * Returns the softplus of a head's projection and bias. All functions of this class compute in double. The rounding of a double at 1 is far
     * below the rounding of a result.
     */
    double step(int head, float projected) {
        double x = (double) projected + biases[head];
        return Math.max(x, 0) + StrictMath.log(1 + StrictMath.exp(-Math.abs(x)));
    }

    /** Returns the factor of a head's state. */
    float factor(int head, double step) {
        return (float) StrictMath.exp(slopes[head] * step);
    }

    /** Returns the sigmoid, which is computed in double. */
    static float sigmoid(float x) {
        return (float) (1 / (1 + StrictMath.exp(-(double) x)));
    }
}
