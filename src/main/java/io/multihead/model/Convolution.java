package io.multihead.model;

import static io.multihead.internal.kernel.Lanes.PANEL;

import io.multihead.internal.base.Checks;
import io.multihead.internal.call.TensorChecks;
import io.multihead.internal.kernel.Lanes;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The factors of a causal convolution over the last tokens, for each channel separately, and its state: the inputs of the previous tokens,
 * the oldest first. Immutable.
 */
final class Convolution {
    final int channels;
    /** The number of tokens on which a result depends. */
    final int taps;
    /** A row for each tap, the oldest first, padded to whole panels. */
    final float[] factors;

    final int stride;

    /** A number for each channel, also padded, that is added to its sums; null for none. */
    final float @Nullable [] bias;

    /**
     * Copies the factors.
     *
     * @param weights {@code [channels, taps]}, with the tap of the token itself last
     */
    Convolution(Tensor weights, int channels) {
        bias = null;
        this.channels = channels;
        if (Checks.notNull(weights, "taps").rank() != 2 || weights.dim(1) < 2) {
            throw Checks.fail("taps", "shape " + weights.shape(), "expected [channels, taps], 2 taps at least");
        }
        if (weights.dim(0) != channels) {
            throw Checks.fail("taps", "shape " + weights.shape(), "expected [" + channels + ", taps]");
        }
        taps = Checks.fitsInt(weights.dim(1), "taps");
        stride = Lanes.roundUp(channels, PANEL);
        factors = new float[Checks.product("taps", taps, stride)];
        float[] rows = weights.toArray();
        for (int i = 0; i < rows.length; i++) {
            factors[i % taps * stride + i / taps] = rows[i];
        }
    }

    private Convolution(Convolution of, float[] bias) {
        channels = of.channels;
        taps = of.taps;
        factors = of.factors;
        stride = of.stride;
        this.bias = bias;
    }

    /** Returns this convolution with numbers {@code [channels]}, copied, that are added to its sums. */
    Convolution withBias(Tensor numbers) {
        TensorChecks.requireShape(numbers, "bias", Shape.of(channels));
        return new Convolution(this, Arrays.copyOf(numbers.toArray(), stride));
    }

    /** Returns the states that a sequence keeps. */
    RecurrentSizes state() {
        return new RecurrentSizes((taps - 1) * channels);
    }
}
