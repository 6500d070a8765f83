package io.multihead.internal.kernel;

import static io.multihead.internal.kernel.Lanes.COUNT;
import static io.multihead.internal.kernel.Lanes.FLOATS;
import static io.multihead.internal.kernel.Lanes.PANEL;

import io.multihead.internal.base.WarmUp;
import jdk.incubator.vector.FloatVector;

/**
 * A convolution over the last tokens, for each channel separately: {@code out = sum_k w_k x_k}. The sum is one chain from the oldest
 * token to the token itself, whose first step is a product and whose other steps are fused multiply-adds. Channels are lanes, so the bits
 * are the same at every width. The chains of the first tokens also have all taps, with zeros for tokens before the first.
 */
public final class CausalConvolution {
    private static final WarmUp WARM_UP = new WarmUp(new WarmUp.Trial() {
        private static final int LENGTH = 8 * PANEL;
        private static final int TAPS = 3;
        private final float[] window = new float[TAPS * LENGTH];
        private final float[] taps = new float[TAPS * LENGTH];
        private final float[] out = new float[LENGTH];

        @Override
        public int operations() {
            return LENGTH / COUNT * 3 * TAPS;
        }

        @Override
        public void run(int lengthFactor, int calls) {
            for (int call = 0; call < calls; call++) {
                vectors(window, LENGTH, 1, TAPS, taps, 0, LENGTH, lengthFactor * LENGTH, out, 0);
            }
        }
    });

    private CausalConvolution() {}

    /**
     * Computes one token.
     *
     * @param window the inputs of {@code count} tokens, row after row, as a ring
     * @param windowStride floats from one row to the next
     * @param oldest the row of the oldest token
     * @param count taps, at least 1
     * @param taps a row of factors for each token, the oldest first
     * @param tapsAt the first factor
     * @param tapsStride floats from one row of factors to the next
     * @param length channels, a multiple of 32
     * @param out the results, written
     * @param at where the first channel is written
     */
    public static void row(
            float[] window,
            int windowStride,
            int oldest,
            int count,
            float[] taps,
            int tapsAt,
            int tapsStride,
            int length,
            float[] out,
            int at) {
        if (WARM_UP.isOver()) {
            vectors(window, windowStride, oldest, count, taps, tapsAt, tapsStride, length, out, at);
        } else {
            scalars(window, windowStride, oldest, count, taps, tapsAt, tapsStride, length, out, at);
        }
    }

    static void vectors(
            float[] window,
            int windowStride,
            int oldest,
            int count,
            float[] taps,
            int tapsAt,
            int tapsStride,
            int length,
            float[] out,
            int at) {
        if (length <= 0) { // see WarmUp.Trial
            for (int i = length; i < 0; i += COUNT) {}
            return;
        }
        for (int i = 0; i < length; i += COUNT) {
            FloatVector sum = FloatVector.fromArray(FLOATS, window, oldest * windowStride + i)
                    .mul(FloatVector.fromArray(FLOATS, taps, tapsAt + i));
            int row = oldest;
            for (int k = 1; k < count; k++) {
                row = row + 1 == count ? 0 : row + 1;
                FloatVector x = FloatVector.fromArray(FLOATS, window, row * windowStride + i);
                sum = FloatVector.fromArray(FLOATS, taps, tapsAt + k * tapsStride + i)
                        .fma(x, sum);
            }
            sum.intoArray(out, at + i);
        }
    }

    static void scalars(
            float[] window,
            int windowStride,
            int oldest,
            int count,
            float[] taps,
            int tapsAt,
            int tapsStride,
            int length,
            float[] out,
            int at) {
        for (int i = 0; i < length; i++) {
            float sum = window[oldest * windowStride + i] * taps[tapsAt + i];
            for (int k = 1; k < count; k++) {
                float x = window[(oldest + k) % count * windowStride + i];
                sum = Math.fma(taps[tapsAt + k * tapsStride + i], x, sum);
            }
            out[at + i] = sum;
        }
    }
}
