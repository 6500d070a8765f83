package io.multihead.decoder;

import io.multihead.internal.base.Checks;

/**
 * How a model is loaded. Immutable and thread-safe, if the listener is.
 *
 * @param listener is told how far it is
 * @param eightBitInputs whether products with weights of 4 bits round their inputs to 8 bits
 */
public record LoadOptions(LoadListener listener, boolean eightBitInputs) {
    /** Tells nobody, and rounds nothing. */
    public static final LoadOptions DEFAULT = new LoadOptions(LoadListener.NONE, false);

    /** Checks the listener. */
    public LoadOptions {
        Checks.notNull(listener, "listener");
    }

    /**
     * {@return these options with another listener}
     *
     * @param newListener is told how far it is
     */
    public LoadOptions withListener(LoadListener newListener) {
        return new LoadOptions(newListener, eightBitInputs);
    }

    /**
     * {@return these options with inputs of 4-bit weights in 8 bits, or not}
     *
     * <p>Products with weights in Q4_0, Q4_1 and Q4_K then sum integers, as in llama.cpp. This is faster in a model of 1B weights, and
     * slower in one of 135M. Other tokens may be chosen, since each product is off by about half a percent of its spread
     * ({@link io.multihead.gemm.PackedWeights#withEightBitInputs}). Products with other weights stay as they are, and the tokens of a session
     * stay the same in any batch, on any threads.
     *
     * @param rounded whether to round
     */
    public LoadOptions withEightBitInputs(boolean rounded) {
        return new LoadOptions(listener, rounded);
    }
}
