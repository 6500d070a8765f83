package io.multihead.reference;

import io.multihead.internal.base.Checks;

/**
 * A causal convolution over the tokens of a sequence as plain loops in {@code double}, for each channel separately: {@code
 * y_t = sum_k w_k x_(t - taps + 1 + k)}, where tokens before the first one are 0.
 *
 * @param weights {@code [channels, taps]}, row-major; the last tap belongs to the token itself, as in {@code torch.nn.Conv1d}
 * @param channels elements of a token
 */
@SuppressWarnings("ArrayRecordComponent")
public record ReferenceConvolution(double[] weights, int channels) {
    /** Checks the sizes. */
    public ReferenceConvolution {
        Checks.atLeast(channels, 1, "channels");
        if (Checks.notNull(weights, "weights").length == 0 || weights.length % channels != 0) {
            throw Checks.fail("weights", weights.length + " elements", "expected as many for each of " + channels);
        }
    }

    /**
     * Computes all tokens of a sequence.
     *
     * @param x {@code [tokens, channels]}
     * @return {@code [tokens, channels]}, new
     */
    public double[] of(double[] x) {
        if (Checks.notNull(x, "x").length % channels != 0) {
            throw Checks.fail("x", x.length + " elements", "expected rows of " + channels);
        }
        int taps = weights.length / channels;
        double[] y = new double[x.length];
        for (int i = 0; i < x.length; i++) {
            int token = i / channels;
            for (int k = 0; k < taps; k++) {
                int from = token - taps + 1 + k;
                y[i] += from < 0 ? 0 : weights[i % channels * taps + k] * x[from * channels + i % channels];
            }
        }
        return y;
    }
}
