package io.multihead.jmh.bench;

import io.multihead.internal.kernel.CausalConvolution;
import io.multihead.jmh.data.Data;
import java.nio.FloatBuffer;
import org.openjdk.jmh.annotations.Param;

/**
 * A causal convolution of three taps over 256 channels, token by token, in one thread, is compared with the same sums
 * in scalar loops.
 */
public class ConvolutionBench extends Comparison {
    private static final int CHANNELS = 256;
    private static final int TAPS = 3;

    @Param({"multihead", "scalar"})
    public String impl;

    @Param({"1", "2048"})
    public int tokens;

    private float[] rows;
    private float[] taps;

    @Override
    public Work work() {
        return Work.operations(2.0 * TAPS * tokens * CHANNELS);
    }

    @Override
    void open() {
        rows = Data.array(Data.gaussian((tokens + TAPS - 1) * CHANNELS, 1));
        taps = Data.array(Data.gaussian(TAPS * CHANNELS, 2));
        float[] expected = new float[tokens * CHANNELS];
        scalar(expected);
        float[] buffer = new float[expected.length];
        load(impl, () -> make(buffer));
        // three terms of at most 30, in the same order, with rounded products
        Data.requireClose(impl, FloatBuffer.wrap(expected), FloatBuffer.wrap(buffer), 1e-5);
    }

    private Runnable make(float[] buffer) {
        return switch (impl) {
            case "multihead" ->
                () -> {
                    float[] window = new float[TAPS * CHANNELS];
                    System.arraycopy(rows, 0, window, 0, (TAPS - 1) * CHANNELS);
                    for (int token = 0; token < tokens; token++) {
                        int newest = (token + TAPS - 1) % TAPS;
                        System.arraycopy(rows, (token + TAPS - 1) * CHANNELS, window, newest * CHANNELS, CHANNELS);
                        CausalConvolution.row(
                                window,
                                CHANNELS,
                                (newest + 1) % TAPS,
                                TAPS,
                                taps,
                                0,
                                CHANNELS,
                                CHANNELS,
                                buffer,
                                token * CHANNELS);
                    }
                };
            case "scalar" -> () -> scalar(buffer);
            default -> throw unknown(impl);
        };
    }

    private void scalar(float[] buffer) {
        for (int i = 0; i < buffer.length; i++) {
            float sum = 0;
            for (int k = 0; k < TAPS; k++) {
                sum += taps[k * CHANNELS + i % CHANNELS] * rows[i + k * CHANNELS];
            }
            buffer[i] = sum;
        }
    }
}
